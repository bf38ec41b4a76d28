"""Remarks on a notebook's cells that accompany the verdict on an exercise."""

from __future__ import annotations

import re

from grader.feedback.finding import Finding, Place
from grader.feedback.results import ExerciseResult
from grader.grading.own_line import quoted
from grader.remote.session import CellNote, CellNotes
from grader.submission.notebook import Layout

MAX_TOLD = 3
# What an operating system says of what the sandbox does not let through, sockets and processes.
_NOT_THERE = re.compile(
    r"PermissionError: \[Errno 1\] Operation not permitted|"
    r"FileNotFoundError: \[Errno 2\] No such file or directory$"
)
_APART = (
    "The network, other processes and the rest of the machine are out of reach during grading: "
    "keep lines that need them in separate cells, away from the answers."
)
_BELOW = "The rest of the cell, below that line, did not run."


def report(exercise: str, told: CellNotes, layout: Layout, passed: bool) -> Finding | None:
    """Return remarks on the cells above an exercise's tests that were cut short or failed.

    For an exercise with full marks, only on those that were cut short.
    """
    cut = [note for note in told.notes if note.kind == "time"]
    absent = [] if passed else [note for note in told.notes if note.kind == "absent"]
    stopped = (
        [] if passed else [note for note in told.notes if _matters(note, exercise, told, layout)]
    )
    notes = list(dict.fromkeys([*stopped, *absent, *cut]))[:MAX_TOLD]
    said = [_sentence(note, layout) for note in notes]
    if not passed and not stopped:
        said += _advice(exercise, told, layout)
    if not said:
        return None
    places = tuple(_place(note, layout) for note in notes)
    return Finding(said[0], help="\n".join(said[1:]), places=places)


def stopped(exercise: str, told: CellNotes, layout: Layout) -> bool:
    """Return whether a cell of the exercise, or one that it builds on, broke off at an error."""
    return any(
        note.kind == "error" and _matters(note, exercise, told, layout) for note in told.notes
    )


def without(result: ExerciseResult, beyond: ExerciseResult) -> Finding | None:
    """Return what the answer would have earned if cells went on below a line that failed."""
    if (beyond.points or 0) <= (result.points or 0):
        return None
    return Finding(
        f"Without that line the answer would have earned {beyond.points:g} of "
        f"{beyond.max_points:g} points."
    )


def _matters(note: CellNote, exercise: str, told: CellNotes, layout: Layout) -> bool:
    """Return whether what became of a cell may be why an exercise is not right."""
    if note.kind == "absent":
        return False
    return note.cell in layout.own[exercise] or bool(told.undefined)


def _advice(exercise: str, told: CellNotes, layout: Layout) -> list[str]:
    """Return what to do where names are missing though no cell broke off."""
    if not told.undefined:
        return []
    labels = layout.labels()
    below = [index for index in layout.own[exercise] if index >= layout.tests[exercise]]
    if below:
        return [f"The {labels[f'cell_{below[0]}']} is below the tests: move it above them."]
    return ["Was the cell deleted, or a name changed?"]


def _place(note: CellNote, layout: Layout) -> Place:
    source = layout.cells[note.cell].source if note.cell < len(layout.cells) else ""
    line = note.line or 0
    return Place(f"cell_{note.cell}.py", line, quoted(source, line))


def _sentence(note: CellNote, layout: Layout) -> str:
    label = layout.labels().get(f"cell_{note.cell}", "cell")
    line = f", line {note.line}," if note.line else ""
    if note.kind == "time":
        return (
            f"The {label}{line} was stopped after {note.text}. {_BELOW} "
            "Cells below the last tests are not run: slow code belongs there."
        )
    if note.kind == "absent":
        return f"In the {label}, line {note.line or 0}: {note.text}."
    if note.kind == "forbidden":
        return f"The {label}{line} was skipped: {note.text}"
    return (
        f"The {label} stopped{f' at line {note.line}' if note.line else ''}: "
        f"{note.text.rstrip('.')}. {_BELOW}" + (f" {_APART}" if _NOT_THERE.match(note.text) else "")
    )
