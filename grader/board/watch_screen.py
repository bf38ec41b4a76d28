"""What `grader watch` shows, as lines of styled text: verdicts, hints, what there is to press."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from grader.board.progress import BLOCKED, DONE, TODO, Progress
from grader.board.rendering import Line, message, messages, wrapped
from grader.board.result import Result
from grader.board.workspace import Workspace
from grader.curriculum import find
from grader.feedback.finding import Finding, Status, finding_from

# Of the words that `rendering` styles lines by, in the terms of rich.
STYLES = {
    "title": "bold",
    "quiet": "dim",
    "code": "cyan",
    "done": "bold green",
    "right so far": "green",
    "wrong": "bold red",
    "cell": "red",
    "blocked": "yellow",
    "not run": "dim",
}
_BAR = 24


@dataclass(frozen=True)
class Hidden:
    """What the hidden checks said of an exercise. `failed` is the first that was not passed."""

    points: float
    max_points: float
    passed: bool
    failed: Result | None = None
    named: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Hidden | None:
        """Of a result as the JSON of `grader grade` has it; None where nothing could be graded."""
        points, checks, diagnoses = fields["points"], fields["checks"], fields["diagnoses"]
        if not isinstance(points, float | int):
            return None
        assert isinstance(checks, list)
        assert isinstance(diagnoses, list)
        wrong = [one for one in checks if one["status"] not in ("passed", "not_run")]
        failed = _as_result(str(fields["exercise"]), wrong[0]) if wrong else None
        whole = finding_from(fields["finding"])  # type: ignore[arg-type]
        if failed is None and whole is not None:
            failed = Result(str(fields["exercise"]), "", "", status=Status.FAILED, finding=whole)
        return cls(
            float(points),
            float(str(fields["max_points"])),
            fields["status"] == Status.PASSED,
            failed,
            tuple(one["message"] for one in diagnoses),
            tuple(hint for one in diagnoses for hint in one["hints"]),
        )


def _as_result(exercise: str, check: Mapping[str, object]) -> Result:
    finding = finding_from(check["finding"])  # type: ignore[arg-type]
    title = str(check["title"])
    return Result(exercise, "", title, status=Status.FAILED, finding=finding or Finding(title))


class Screen:
    """The terminal: cleared for every verdict where it is one, written on where it is not."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @property
    def width(self) -> int:
        """Columns."""
        return self.console.width

    def fresh(self, *parts: Iterable[Line], said: Iterable[Line] = ()) -> None:
        """Shows these lines and nothing else, `said` first, which were shown before."""
        if self.console.is_terminal:
            self.console.clear()
            self.add(said)
        else:
            self.console.print()
        for lines in parts:
            self.add(lines)

    def add(self, lines: Iterable[Line]) -> None:
        """Shows these lines below what there is."""
        for line in lines:
            shown = Text.assemble(*((text, STYLES.get(style, "")) for text, style in line))
            self.console.print(shown, soft_wrap=True)

    def note(self, text: str) -> None:
        """A quiet line below what there is."""
        self.add([[(text, "quiet")]])


def finished(progress: Progress, hidden: Hidden | None, after: str) -> Line:
    """An exercise that is done, in a line."""
    right = f"{progress.rights()} of {len(progress.tests)} tests right"
    also = f", hidden checks {_points(hidden)}" if hidden else ""
    return [(f"✓ {progress.exercise} is done", DONE), (f": {right}{also}.{after}", "")]


def verdict(progress: Progress, workspace: Workspace, width: int, after: str) -> Iterator[Line]:
    """One exercise as the public tests see it: what is wrong, or what is still to write."""
    name = progress.exercise
    if progress.status == TODO:
        file = workspace.shown(workspace.code_path(name))
        yield [(name, "title"), (f" is to do, {find(name).points} points.", "")]
        yield from wrapped(f"Not written yet: {', '.join(progress.unwritten())}.", width, "  ")
        yield [("  Edit ", ""), (file, "code"), (". It is judged here whenever you save it.", "")]
        return
    yield from messages({name: progress}, width, in_full=False)
    if progress.blocked_by:
        needs = " and ".join(progress.blocked_by)
        yield from message(name, progress.failures()[:1], width)
        yield [(f"{name} builds on {needs}, which is not right yet: begin there.", BLOCKED)]
    status = progress.status if progress.status != DONE else "right so far"
    right = f"{progress.rights()} of {len(progress.tests)} tests right"
    yield [(f"{name}: ", "title"), (status, status), (f", {right}.{after}", "")]


def hidden_verdict(progress: Progress, hidden: Hidden, width: int, after: str) -> Iterator[Line]:
    """What the hidden checks add: points, the mistake if it is known, what is wrong."""
    yield [(f"Hidden checks: {_points(hidden)}.", "title"), (after, "")]
    for text in hidden.named:
        yield []
        for line in text.splitlines():
            yield from wrapped(line, width, "  ")
    if hidden.failed is not None and progress.status == DONE:
        yield []
        yield from message(progress.exercise, [hidden.failed], width)


def _points(hidden: Hidden) -> str:
    return f"{hidden.points:g} of {hidden.max_points:g} points"


def bar(by_exercise: Mapping[str, Progress], assigned: Sequence[str]) -> Line:
    """How far it is, in a line."""
    done = [name for name in assigned if by_exercise[name].status == DONE]
    filled = round(_BAR * len(done) / len(assigned))
    points = sum(find(name).points for name in done)
    whole = sum(find(name).points for name in assigned)
    return [
        ("█" * filled, DONE),
        ("░" * (_BAR - filled), "quiet"),
        (f" {len(done)} of {len(assigned)} exercises, up to {points} of {whole} points", ""),
    ]


def keys_line(names: Mapping[str, str]) -> Line:
    """What there is to press."""
    line: Line = []
    for key, meaning in names.items():
        line += [("  " if line else "", ""), (key, "title"), (f" {meaning}", "quiet")]
    return line
