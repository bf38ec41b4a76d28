"""What `grader watch` shows, as lines of styled text: verdicts, hints, keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from grader.board.progress import CHANGED, DONE, PART, TODO, Progress, has_hidden_checks
from grader.board.rendering import (
    Line,
    behind_others,
    fitted,
    message,
    messages,
    restoring,
    wrapped,
)
from grader.board.result import Result
from grader.board.workspace import Workspace
from grader.curriculum import find
from grader.feedback.finding import Finding, Status
from grader.feedback.results import ExerciseResult

# Of the words that `rendering` styles lines by, in the terms of rich.
STYLES = {
    "title": "bold",
    "quiet": "dim",
    "code": "cyan",
    "done": "bold green",
    "passed so far": "green",
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
    def of(cls, result: ExerciseResult) -> Hidden | None:
        """Of a result; None where nothing could be graded."""
        if result.points is None:
            return None
        done = (Status.PASSED, Status.NOT_RUN)
        wrong = [check for check in result.checks if check.status not in done]
        title = wrong[0].title if wrong else ""
        finding = (wrong[0].finding or Finding(title)) if wrong else result.finding
        failed = Result(result.exercise, "", title, status=Status.FAILED, finding=finding)
        return cls(
            result.points,
            result.max_points,
            result.status is Status.PASSED,
            failed if finding else None,
            tuple(diagnosis.message for diagnosis in result.diagnoses),
            tuple(hint for diagnosis in result.diagnoses for hint in diagnosis.hints),
        )


class Screen:
    """The terminal: cleared for every verdict where it is one, written on where it is not."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @property
    def width(self) -> int:
        """Columns."""
        return self.console.width

    def fresh(self, *parts: Iterable[Line], above: Iterable[Line] = ()) -> None:
        """Show these lines and nothing else, `above` first, which were shown before."""
        if self.console.is_terminal:
            self.console.clear()
            self.add(above)
        else:
            self.console.print()
        for lines in parts:
            self.add(lines)

    def add(self, lines: Iterable[Line]) -> None:
        """Show these lines below what there is."""
        for line in fitted(lines):
            shown = Text.assemble(*((text, STYLES.get(style, "")) for text, style in line))
            self.console.print(shown, soft_wrap=True)

    def note(self, text: str) -> None:
        """A quiet line below what there is."""
        self.add([[(text, "quiet")]])


def finished(progress: Progress, hidden: Hidden | None, after: str) -> Line:
    """Return an exercise that is done, in a line."""
    passed = f"{progress.rights()} of {len(progress.tests)} tests passed"
    also = f", hidden checks {_points(hidden)}" if hidden else ""
    if not has_hidden_checks():
        return [(f"✓ {progress.exercise}: all public tests pass", DONE), (f".{after}", "")]
    return [(f"✓ {progress.exercise} is done", DONE), (f": {passed}{also}.{after}", "")]


def verdict(progress: Progress, workspace: Workspace, width: int, after: str) -> Iterator[Line]:
    """Yield one exercise as the public tests see it: what is wrong, or what is still to write."""
    name = progress.exercise
    if progress.status == TODO:
        file = workspace.shown(workspace.code_path(name))
        worth = f", {find(name).points} points" if has_hidden_checks() else ""
        yield [(name, "title"), (f" is to do{worth}.", "")]
        missing = workspace.unwritten(name) or progress.unwritten()
        yield from wrapped(f"Not written yet: {', '.join(missing)}.", width, "  ")
        yield [("  Edit ", ""), (file, "code"), (". It is judged whenever you save it.", "")]
        return
    yield from messages({name: progress}, width, in_full=False, rest=[])
    if progress.blocked_by:
        yield from behind_others(progress, width)
    status = progress.status if progress.status != DONE else PART
    passed = f"{progress.rights()} of {len(progress.tests)} tests passed"
    yield [(f"{name}: ", "title"), (status, status), (f", {passed}.{after}", "")]
    if progress.status == CHANGED:
        yield from restoring(name, workspace)


def hidden_verdict(progress: Progress, hidden: Hidden, width: int, after: str) -> Iterator[Line]:
    """Yield what the hidden checks add: points, the mistake if it is known, what is wrong."""
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


def next_save(exercise: str, workspace: Workspace) -> Line:
    """Return what to do next, where every save is tested."""
    if not exercise:
        return [("All exercises are done.", "title")]
    file = workspace.shown(workspace.code_path(exercise))
    then = " to test it, press h for a hint."
    return [(f"Next: {exercise}. ", "title"), ("Save ", ""), (file, "code"), (then, "")]


def bar(by_exercise: Mapping[str, Progress], assigned: Sequence[str]) -> Line:
    """Return the progress bar, as a line."""
    done = [name for name in assigned if by_exercise[name].status == DONE]
    filled = round(_BAR * len(done) / len(assigned))
    points = sum(find(name).points for name in done)
    whole = sum(find(name).points for name in assigned)
    goal = f", up to {points} of {whole} points" if has_hidden_checks() else " pass their tests"
    return [
        ("█" * filled, DONE),
        ("░" * (_BAR - filled), "quiet"),
        (f" {len(done)} of {len(assigned)} exercises{goal}", ""),
    ]


def keys_line(names: Mapping[str, str]) -> Line:
    """Return the keys and their meanings, as a line."""
    line: Line = []
    for key, meaning in names.items():
        line += [("  " if line else "", ""), (key, "title"), (f" {meaning}", "quiet")]
    return line
