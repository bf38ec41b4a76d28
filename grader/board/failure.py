"""Turning what happened in a public test into a result with a finding."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from grader.board.forbidden import RuledOutError
from grader.board.time_limit import TookTooLong
from grader.board.workspace import PublicTest, Workspace
from grader.curriculum import NAMES, find
from grader.curriculum.rules import AT_IMPORT
from grader.feedback import text
from grader.feedback.finding import Finding, Place, Status, finding_fields, finding_from
from grader.feedback.hints import hint_for
from grader.feedback.mismatch import Mismatch
from grader.feedback.tensors import type_name
from grader.feedback.text import Line

_ENDLESS = "Your code did not come back and was stopped. Is there an endless loop?"
_FLAKY = Finding(
    "Your code gives different results for the same input.",
    help="Is something random left on, or kept from one call to the next?",
)
_PRINTED_LINES = 20


@dataclass
class Result:
    """What came of one public test. Plain data: it travels between the processes of xdist.

    `finding` says why it did not pass. `waits_for` is the exercise whose code is not written yet or
    cannot be imported, if that was the reason; `unwritten` is the function in it. `example` is the
    smallest case that hypothesis found.
    """

    exercise: str
    test: str
    title: str
    where: str = ""
    status: Status = Status.PASSED
    finding: Finding | None = None
    example: str = ""
    waits_for: str = ""
    unwritten: str = ""
    in_import: bool = False
    printed: str = ""

    def to_wire(self) -> dict[str, Any]:
        """As dicts, lists and strings."""
        return {**vars(self), "status": self.status.value, "finding": finding_fields(self.finding)}

    @classmethod
    def from_wire(cls, data: dict[str, Any]) -> Result:
        """The inverse of `to_wire`."""
        status, finding = Status(data["status"]), finding_from(data["finding"])
        return cls(**{**data, "status": status, "finding": finding})

    @property
    def headline(self) -> str:
        """What is wrong, in a sentence; "" for nothing."""
        return self.finding.headline if self.finding is not None else ""

    @property
    def places(self) -> tuple[Place, ...]:
        """The lines of code to look at."""
        return self.finding.places if self.finding is not None else ()

    def lines(self) -> list[Line]:
        """What is wrong, line by line, without the places in the code."""
        lines = text.lines(self.finding) if self.finding is not None else []
        if self.example:
            lines += [[], [(f"Smallest case found: {self.example}", False)]]
        return lines

    def text(self) -> str:
        """All of it as plain text, for editors and reports."""
        lines = list(map(text.flattened, self.lines()))
        for place in self.places:
            lines += ["", *place_lines(place)]
        return "\n".join(lines)


def place_lines(place: Place) -> list[str]:
    """A place in two lines, as terminals and editors follow it: where, and the line of code."""
    where = f"{place.file}:{place.line}" if place.line else place.file
    lines = [f"{where}, in {place.inside}" if place.inside else where]
    if place.source:
        lines.append(f"    {place.source}")
    return lines


def failure(error: BaseException, exercise: str, test: PublicTest, workspace: Workspace) -> Result:
    """The result of a test of `exercise` that ended with `error`."""
    result = Result(
        exercise,
        test.name,
        test.title,
        f"{workspace.shown(workspace.test_path(exercise))}:{test.line}",
        Status.FAILED,
        example=_smallest_case(error),
    )
    error = _unwrapped(error)
    frames = list(workspace.places(error.__traceback__))
    if isinstance(error, NotImplementedError) and _is_own_raise(error, frames, workspace):
        path, place = frames[-1]
        result.waits_for, result.unwritten = path.stem, place.inside
        result.status = Status.TODO if path.stem == exercise else Status.FAILED
        headline = f"{place.inside or path.stem} is not written yet."
        result.finding = Finding(headline, places=(place,))
    elif isinstance(error, Mismatch):
        places = _mismatch_places(error, exercise, test, workspace)
        result.finding = replace(error.finding, places=places)
    elif isinstance(error, ImportError) and not frames:
        result.finding = Finding(_explain_import(result, error, workspace))
    elif isinstance(error, AssertionError) and not frames:
        headline = _text(error).split("\nassert ")[0] or "This does not hold."
        places = _answers(headline, test, workspace, exercise, "return")
        result.finding = Finding(headline, places=places)
    else:
        result.finding = _explain_error(result, error, frames, test, workspace)
    return result


def _mismatch_places(
    error: Mismatch, exercise: str, test: PublicTest, workspace: Workspace
) -> tuple[Place, ...]:
    cause = error.__cause__
    frames = [place for _, place in workspace.places(cause.__traceback__)] if cause else []
    return tuple(frames[-1:]) or _answers(
        error.finding.headline, test, workspace, exercise, error.points_at
    )


def _explain_import(result: Result, error: ImportError, workspace: Workspace) -> str:
    """Why the test file could not import a name: the file or the name is missing."""
    module = error.name or ""
    stem = module.rpartition(".")[2]
    result.in_import = True
    result.waits_for = stem if stem in NAMES and stem != result.exercise else ""
    file = workspace.shown(workspace.code_path(stem))
    if isinstance(error, ModuleNotFoundError) and module.startswith(f"{workspace.folder.name}."):
        return f"The file {file} is missing. `grader stubs` makes it anew."
    if stem in NAMES:
        missing = [n for n in find(stem).entries if f"'{n}'" in _text(error)]
        name = missing[0] if missing else "a name that is needed"
        return f"{file} does not define `{name}`. Was it renamed or deleted?"
    return _one_line(error)


def _explain_error(
    result: Result,
    error: BaseException,
    frames: list[tuple[Any, Place]],
    test: PublicTest,
    workspace: Workspace,
) -> Finding:
    """An error raised in the student's code, or by torch at the student's line."""
    syntax = workspace.syntax_place(error) if isinstance(error, SyntaxError) else None
    if syntax is not None:
        frames = [*frames, syntax]
    places: tuple[Place, ...] = ()
    if frames:
        deepest, place = frames[-1]
        own = [p for path, p in frames if path.stem == result.exercise]
        places = (place,) if deepest.stem == result.exercise else (*own[-1:], place)
        result.in_import = syntax is not None or all(not p.inside for _, p in frames)
        missing = (error.name or "").rpartition(".")[2] if isinstance(error, ImportError) else ""
        reason = missing if missing in NAMES else deepest.stem
        if result.in_import and reason in NAMES and reason != result.exercise:
            result.waits_for = reason
    if isinstance(error, TookTooLong):
        return Finding(_ENDLESS, places=places)
    if isinstance(error, RuledOutError):
        return Finding(str(error), help=AT_IMPORT if result.in_import else "", places=places)
    if type_name(error).startswith("Flaky"):
        return replace(_FLAKY, places=places)
    line = _one_line(error)
    hint = hint_for(line, frames[-1][1].source if frames else "")
    if not frames:
        points_at = "__init__" if "__init__" in hint else "def"
        places = _answers(line, test, workspace, result.exercise, points_at)
    return Finding(hint, help=line, places=places) if hint else Finding(line, places=places)


def _answers(
    words: str, test: PublicTest, workspace: Workspace, exercise: str, points_at: str
) -> tuple[Place, ...]:
    """Where the answer is made: the entry that the message names, or that the test uses."""
    entries = find(exercise).entries
    named = [entry for entry in entries if entry in words]
    used = [entry for entry in test.uses if entry in entries]
    for entry in (*named, *used, *entries):
        place = workspace.answer(exercise, entry, points_at)
        if place is not None:
            return (place,)
    return ()


def _is_own_raise(
    error: NotImplementedError, frames: list[tuple[Any, Place]], workspace: Workspace
) -> bool:
    """Whether a `raise` in the student's own line raised it, as a stub does, and not torch."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return (
        traceback is not None
        and workspace.holds_code(traceback.tb_frame.f_code.co_filename) is not None
        and re.search(r"\braise\b", frames[-1][1].source) is not None
    )


def _unwrapped(error: BaseException) -> BaseException:
    """The error itself, out of what pytest and hypothesis wrap around it."""
    if type_name(error) == "CollectError" and error.__cause__ is not None:
        return error.__cause__
    if isinstance(error, BaseExceptionGroup) and not type_name(error).startswith("Flaky"):
        return error.exceptions[0]
    return error


def _smallest_case(error: BaseException) -> str:
    """The arguments with which hypothesis found the failure, such as "length=1, pad_id=3"."""
    for note in getattr(error, "__notes__", ()):
        head, _, rest = note.partition("(\n")
        if head.startswith("Falsifying example"):
            return " ".join(line.strip() for line in rest.partition("\n)")[0].splitlines()).rstrip(
                ","
            )
    return ""


def _one_line(error: BaseException) -> str:
    """ "Type: text", on one line and not too long."""
    text = " ".join(_text(error).split())
    text = text if len(text) <= 300 else f"{text[:300]} ..."
    return type_name(error) if text in ("", "None") else f"{type_name(error)}: {text}"


def _text(error: BaseException) -> str:
    try:
        return error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        return ""


def cut_printed(text: str) -> str:
    """The end of what the code printed, at most 20 lines."""
    lines = text.rstrip().splitlines()
    if len(lines) > _PRINTED_LINES:
        lines = [f"... {len(lines) - _PRINTED_LINES} lines before", *lines[-_PRINTED_LINES:]]
    return "\n".join(lines)
