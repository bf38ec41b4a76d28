"""Turning what happened in a test into what a student is told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from grader.board.time_limit import TookTooLong
from grader.board.workspace import Place, PublicTest, Workspace
from grader.curriculum import NAMES, find
from grader.feedback.finding import Mismatch, Piece
from grader.feedback.hints import hint_for
from grader.feedback.tensors import type_name

RIGHT, WRONG, TODO = "right", "wrong", "to do"
_PRINTED_LINES = 20


@dataclass
class Told:
    """The result of one public test. Plain data: it travels between the processes of xdist.

    `waits_for` is the exercise whose code is not written yet or cannot be imported, if that was
    the reason; `unwritten` is the function in it.
    """

    exercise: str
    test: str
    title: str
    where: str = ""
    status: str = RIGHT
    headline: str = ""
    lines: list[list[Piece]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    waits_for: str = ""
    unwritten: str = ""
    in_import: bool = False
    printed: str = ""

    def to_wire(self) -> dict[str, Any]:
        """As dicts, lists and strings."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: dict[str, Any]) -> Told:
        """The inverse of `to_wire`."""
        return cls(**{**data, "places": [Place(**place) for place in data["places"]]})

    def text(self) -> str:
        """The message as plain text, for editors and reports."""
        lines = ["".join(text for text, _ in line).rstrip() for line in self.lines]
        for place in self.places:
            lines += ["", *place_lines(place)]
        return "\n".join(lines)


def place_lines(place: Place) -> list[str]:
    """A place in two lines: where, and the line of code itself."""
    where = f"{place.file}:{place.line}" if place.line else place.file
    lines = [f"{where}, in {place.inside}" if place.inside else where]
    if place.source:
        lines.append(f"    {place.source}")
    return lines


def tell(error: BaseException, exercise: str, test: PublicTest, workspace: Workspace) -> Told:
    """What to tell about a test of `exercise` that ended with `error`."""
    told = Told(
        exercise,
        test.name,
        test.title,
        f"{workspace.shown(workspace.test_path(exercise))}:{test.line}",
    )
    told.status = WRONG
    example = _smallest_case(error)
    error = _unwrapped(error)
    frames = list(workspace.places(error.__traceback__))
    if isinstance(error, NotImplementedError) and _is_own_raise(error, workspace):
        path, place = frames[-1]
        told.waits_for, told.unwritten = path.stem, place.inside
        told.status = TODO if path.stem == exercise else WRONG
        told.headline = f"{place.inside or path.stem} is not written yet."
        told.places = [place]
    elif isinstance(error, Mismatch):
        _tell_mismatch(told, error, test, workspace)
    elif isinstance(error, ImportError) and not frames:
        _tell_import(told, error, workspace)
    elif isinstance(error, AssertionError) and not frames:
        told.headline = _text(error).split("\nassert ")[0] or "This does not hold."
        told.places = _answers(told.headline, test, workspace, exercise, "return")
    else:
        _tell_error(told, error, frames, test, workspace)
    if not told.lines:
        told.lines = [[(line, False)] for line in told.headline.splitlines()]
    if example:
        told.lines += [[], [(f"Smallest case found: {example}", False)]]
    return told


def _tell_mismatch(told: Told, error: Mismatch, test: PublicTest, workspace: Workspace) -> None:
    told.headline = error.headline
    told.lines = error.lines()
    cause = error.__cause__
    frames = [place for _, place in workspace.places(cause.__traceback__)] if cause else []
    told.places = frames[-1:] or _answers(
        error.headline, test, workspace, told.exercise, error.points_at
    )


def _tell_import(told: Told, error: ImportError, workspace: Workspace) -> None:
    """The test file could not import a name: the file or the name is missing."""
    module = error.name or ""
    stem = module.rpartition(".")[2]
    told.in_import = True
    told.waits_for = stem if stem in NAMES and stem != told.exercise else ""
    file = workspace.shown(workspace.code_path(stem))
    if isinstance(error, ModuleNotFoundError) and module.startswith(f"{workspace.folder.name}."):
        told.headline = f"The file {file} is missing. `grader stubs` makes it anew."
    elif stem in NAMES:
        missing = [n for n in find(stem).entries if f"'{n}'" in _text(error)]
        name = missing[0] if missing else "a name that is needed"
        told.headline = f"{file} does not define `{name}`. Was it renamed or deleted?"
    else:
        told.headline = _one_line(error)


def _tell_error(
    told: Told,
    error: BaseException,
    frames: list[tuple[Any, Place]],
    test: PublicTest,
    workspace: Workspace,
) -> None:
    """An error raised in the student's code, or by torch at the student's line."""
    syntax = workspace.syntax_place(error) if isinstance(error, SyntaxError) else None
    if syntax is not None:
        frames = [*frames, syntax]
    if frames:
        deepest, place = frames[-1]
        own = [p for path, p in frames if path.stem == told.exercise]
        told.places = [place] if deepest.stem == told.exercise else [*own[-1:], place]
        told.in_import = syntax is not None or all(not p.inside for _, p in frames)
        missing = (error.name or "").rpartition(".")[2] if isinstance(error, ImportError) else ""
        reason = missing if missing in NAMES else deepest.stem
        if told.in_import and reason in NAMES and reason != told.exercise:
            told.waits_for = reason
    if isinstance(error, TookTooLong):
        told.headline = "Your code did not come back and was stopped. Is there an endless loop?"
        return
    if type_name(error).startswith("Flaky"):
        told.headline = "Your code gives different results for the same input."
        told.lines = [
            [(told.headline, False)],
            [("Is something random left on, or kept from one call to the next?", False)],
        ]
        return
    line = _one_line(error)
    hint = hint_for(line)
    told.headline = hint or line
    told.lines = [[(hint, False)], [(line, False)]] if hint else [[(line, False)]]
    if not frames:
        points_at = "__init__" if "__init__" in hint else "def"
        told.places = _answers(line, test, workspace, told.exercise, points_at)


def _answers(
    words: str, test: PublicTest, workspace: Workspace, exercise: str, points_at: str
) -> list[Place]:
    """Where the answer is made: the entry that the message names, or that the test uses."""
    entries = find(exercise).entries
    named = [entry for entry in entries if entry in words]
    used = [entry for entry in test.uses if entry in entries]
    for entry in (*named, *used, *entries):
        place = workspace.answer(exercise, entry, points_at)
        if place is not None:
            return [place]
    return []


def _is_own_raise(error: NotImplementedError, workspace: Workspace) -> bool:
    """Whether the student's own line raised it, as a stub does, and not torch."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return (
        traceback is not None
        and workspace.holds_code(traceback.tb_frame.f_code.co_filename) is not None
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
