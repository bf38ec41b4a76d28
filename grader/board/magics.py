"""`%load_ext grader`: the public tests inside a notebook.

%check attention        tests what the notebook defines, now
%%check attention       the same with the tests that stand below it in the cell
%check attention --all     and what is wrong with every test that fails, not just the first
%check attention --hint    and a hint on what is wrong; once more for the next hint
%show attention         draws what it computes beside what is expected
%hints question 2026-12-01    limits hints until then; the first cell has it if the instructor chose
"""

from __future__ import annotations

import difflib
import os
import tempfile
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from grader import curriculum
from grader.board.notebook_rendering import as_html, as_text, so_far
from grader.board.notebook_run import Outcome, hinted, not_defined, run
from grader.board.notebook_workspace import NotebookWorkspace
from grader.curriculum.assignment import limit_of_hints
from grader.curriculum.hint_limit import HintLimit, hint_limit
from grader.curriculum.project import EXERCISES
from grader.feedback.finding import Status
from grader.feedback.text import printable

__all__ = ["ChecksFailedError", "check", "register", "show"]

_ALL, _HINT = "--all", "--hint"
# Of a picture in a notebook, in pixels; it is drawn with twice as many.
_WIDTH = 780
# What `%%check` was given last, so that `%check` can repeat it where the kit's files are not.
_given: dict[str, str] = {}
# The hints of this session: how many were shown of each exercise, and on which code.
_hinted: dict[str, Any] = {}
# The exercises whose tests passed when they were last run in this session.
_done: set[str] = set()
# How far hints go in this session, as `%hints` says.
_limits: list[HintLimit] = []


class ChecksFailedError(Exception):
    """Public tests failed. It marks the cell as failed, for nbgrader's Validate."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.headline)
        self.outcome = outcome

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows in place of a traceback, and Validate in its dialog."""
        return as_text(self.outcome).splitlines()


def check(exercise: str, namespace: dict[str, Any] | None = None, hint: bool = False) -> None:
    """Run the public tests of an exercise on what the notebook defines, and show the result.

    With `hint`, a hint on what is wrong, too; called again, the next one.
    """
    outcome = _outcome(exercise.strip(), "", namespace)
    _show(_hinting(outcome, namespace) if hint else outcome)


def register(shell: Any) -> None:
    """Register the magics `check`, for a line and for a cell, `hints` and `show`."""

    def magic(line: str, cell: str | None = None) -> None:
        words = line.split()
        if _misunderstood("check", words, (_ALL, _HINT)):
            return
        hint = _HINT in words
        exercise = " ".join(word for word in words if word not in (_ALL, _HINT))
        outcome = _outcome(exercise, cell or "", shell.user_ns)
        if hint:
            outcome = _hinting(outcome, shell.user_ns)
        # An exception would stop "Run all" at the first exercise that is not right yet.
        if "NBGRADER_EXECUTION" not in os.environ:
            _show(outcome, _ALL in words)
        elif not outcome.right:
            raise ChecksFailedError(outcome)

    def picture(line: str) -> None:
        if not _misunderstood("show", line.split()):
            show(line, shell.user_ns)

    def limit(line: str) -> None:
        _limits[:] = [hint_limit(*line.split()[:2])]

    shell.register_magic_function(magic, magic_kind="line_cell", magic_name="check")
    shell.register_magic_function(limit, magic_kind="line", magic_name="hints")
    shell.register_magic_function(picture, magic_kind="line", magic_name="show")


def _hinting(outcome: Outcome, namespace: dict[str, Any] | None) -> Outcome:
    """Return the outcome with one hint more than last time, if something is wrong."""
    if outcome.status is not Status.FAILED:
        return outcome
    # Without the magic, an assignment.toml beside the notebook counts.
    limit = _limits[-1] if _limits else limit_of_hints(Path.cwd())
    return hinted(outcome, _names(namespace), _hinted, limit)


def _names(namespace: dict[str, Any] | None) -> dict[str, Any]:
    if namespace is not None:
        return namespace
    from IPython import get_ipython

    names: dict[str, Any] = get_ipython().user_ns
    return names


def show(exercise: str, namespace: dict[str, Any] | None = None) -> None:
    """Draw what the notebook's code of an exercise computes beside what is expected."""
    from IPython.display import display

    # Imported here: `%check` needs no charts.
    from grader.board import showing

    exercise, names = exercise.strip(), _names(namespace)
    _check_name(exercise)
    missing = [name for name in curriculum.find(exercise).entries if name not in names]
    if missing:
        words = f"{exercise}: {not_defined(missing)}"
        display({"text/plain": words}, raw=True)
        return
    workspace = NotebookWorkspace(names)
    picture, sentences = showing.drawn(exercise, showing.of_names(names), workspace)
    words = printable("\n".join(showing.sentences(exercise, sentences)))
    display({"text/plain": words}, raw=True)
    data = {"image/png": b64encode(picture).decode(), "text/plain": f"A picture of {exercise}"}
    display(data, metadata={"image/png": {"width": _WIDTH}}, raw=True)


@cache
def _keep_folder_tidy() -> tempfile.TemporaryDirectory[str] | None:
    """Let hypothesis write its files elsewhere: those beside the notebook would be submitted too.

    The folder is removed with the returned object, at the end of the session.
    """
    asked = "HYPOTHESIS_STORAGE_DIRECTORY"
    if asked in os.environ:
        return None
    folder = tempfile.TemporaryDirectory(prefix="hypothesis-")
    os.environ[asked] = folder.name
    return folder


def _misunderstood(magic: str, words: list[str], options: Sequence[str] = ()) -> bool:
    """Return whether the words after a magic name no exercise; a sentence says what they should be.

    nbgrader, which runs cells unseen, gets an error instead.
    """
    names = [word for word in words if not word.startswith("-")]
    wrong = [word for word in words if word.startswith("-") and word not in options]
    if wrong and wrong[0] not in ("-h", "--help"):
        near = difflib.get_close_matches(wrong[0], options, 1)
        has = f" Did you mean {near[0]}?" if near else ""
        message = f"%{magic} has no option {wrong[0]}.{has}"
    elif wrong or not names:
        message = (__doc__ or "").partition("\n\n")[2].strip()
        which = f"Which exercise? For example: %{magic} attention"
        message = message if wrong else f"{which}\n\n{message}"
    elif len(names) > 1:
        message = f"%{magic} takes one exercise. For example: %{magic} {names[0]}"
    elif names[0] not in curriculum.NAMES:
        message = curriculum.unknown(names[0])
    else:
        return False
    if "NBGRADER_EXECUTION" in os.environ:
        raise ValueError(message)
    from IPython.display import display

    display({"text/plain": message}, raw=True)
    return True


def _check_name(exercise: str) -> None:
    if exercise not in curriculum.NAMES:
        raise ValueError(curriculum.unknown(exercise))


def _outcome(exercise: str, tests: str, namespace: dict[str, Any] | None) -> Outcome:
    _check_name(exercise)
    _keep_folder_tidy()
    if tests:
        _given[exercise] = tests
    path = EXERCISES / f"test_{exercise}.py"
    if not tests and path.exists():
        tests = path.read_text(encoding="utf-8")
    tests = tests or _given.get(exercise, "")
    if not tests:
        raise ValueError(f"There are no tests of {exercise} here. Run their cell first.")
    return run(exercise, tests, _names(namespace), _limits[-1] if _limits else None)


def _show(outcome: Outcome, in_full: bool = False) -> None:
    from IPython.display import display

    if outcome.right:
        _done.add(outcome.exercise)
    else:
        _done.discard(outcome.exercise)
    picture = so_far(_done) if outcome.right else ""
    page, text = as_html(outcome, in_full), as_text(outcome, in_full)
    data = {"text/html": page + picture, "text/plain": text}
    display(data, raw=True)
