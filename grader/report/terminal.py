"""A report on the terminal: one table for a class, every check for a single submission.

What a student's code said is printed as it is, never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from grader.report.results import CheckResult, ExerciseResult, Report, Status, SubmissionResult

_WORDS: dict[Status, str] = {
    "passed": "right",
    "failed": "wrong",
    "todo": "to do",
    "missing": "missing",
    "error": "error",
    "timeout": "hung",
    "died": "died",
    "protocol": "died",
    "not_run": "not run",
    "grader_error": "not graded",
}
_STYLES: dict[Status, str] = {
    "passed": "green",
    "failed": "red",
    "error": "red",
    "timeout": "red",
    "died": "red",
    "protocol": "red",
    "grader_error": "bold magenta",
}
_PIPE_WIDTH = 160


class Terminal:
    """Prints results to standard output and progress to standard error."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, emoji=False)
        if not self.console.is_terminal:
            self.console.width = _PIPE_WIDTH
        self.errors = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)

    def say(self, text: str = "", style: str = "") -> None:
        """One line, or several, as they are."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def complain(self, text: str) -> None:
        """One line for standard error."""
        self.errors.print(Text(text, style="red"), soft_wrap=True)

    def track(self, results: Iterable[SubmissionResult], total: int) -> Iterator[SubmissionResult]:
        """Passes the results on, with a bar that moves: count, rate, time left. Quiet in a pipe."""
        with self._progress() as progress:
            task = progress.add_task("grading", total=total)
            for done, result in enumerate(results, 1):
                elapsed = progress.tasks[task].elapsed or 0.0
                progress.update(task, advance=1, rate=f"{done / elapsed:.1f}/s" if elapsed else "")
                yield result

    @contextmanager
    def _progress(self) -> Iterator[Progress]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        quiet = not self.errors.is_terminal
        with Progress(*columns, console=self.errors, transient=True, disable=quiet) as progress:
            add = progress.add_task
            progress.add_task = lambda *args, **kwargs: add(*args, rate="", **kwargs)  # type: ignore[method-assign]
            yield progress

    def report(self, report: Report) -> None:
        """The whole report."""
        if len(report.submissions) == 1:
            self.submission(report.submissions[0])
        else:
            self.table(report.submissions)
        self.say(
            f"seed {report.seed} · isolation: {report.isolation} · "
            f"the same cases again: --seed {report.seed}",
            "dim",
        )

    def table(self, submissions: Sequence[SubmissionResult]) -> None:
        """One row a submission, one column an exercise."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("submission", overflow="fold")
        for exercise in submissions[0].exercises if submissions else ():
            table.add_column(exercise.exercise, justify="right")
        table.add_column("points", justify="right")
        for submission in submissions:
            cells = [_cell(exercise) for exercise in submission.exercises]
            total = Text(_points(submission.points, submission.max_points), style="bold")
            table.add_row(escape(submission.submission), *cells, total)
        self.console.print(table)

    def submission(self, submission: SubmissionResult) -> None:
        """Everything about one submission."""
        self.say(submission.submission, "bold")
        for exercise in submission.exercises:
            self.exercise(exercise)
        if submission.together is not None:
            self.say(f"\ntogether (no points): {submission.together.message}")
        self.say(f"\n{_points(submission.points, submission.max_points)} points", "bold")

    def exercise(self, exercise: ExerciseResult) -> None:
        """One exercise: its points, and what each check that failed says, each thing once."""
        points = _points(exercise.points, exercise.max_points)
        line = Text(f"\n{exercise.exercise:<14}{points:>9}   ", style="bold")
        self.console.print(line + Text(_WORDS[exercise.status], _STYLES.get(exercise.status, "")))
        if exercise.message:
            self.say(_indented(exercise.message))
        for diagnosis in exercise.diagnoses:
            self.say(_indented(diagnosis.message), "yellow")
        told: set[str] = set()
        for check in exercise.checks if exercise.status != "passed" else _remarks(exercise):
            self.check(check, told, silent=bool(exercise.message))

    def check(self, check: CheckResult, told: set[str], silent: bool) -> None:
        """One line for a check, and its message unless that was told before."""
        if check.status == "not_run" and silent:
            return
        mark = "✓" if check.status == "passed" else "✗"
        style = "green" if check.status == "passed" else "red"
        worth = f"{check.points:g}/{check.max_points:g}" if check.max_points else "remark"
        self.say(f"  {mark} {check.title} ({worth})", style)
        if check.message and not silent:
            self.say(_indented("As above." if check.message in told else check.message, 6))
            told.add(check.message)


def _remarks(exercise: ExerciseResult) -> list[CheckResult]:
    return [check for check in exercise.checks if check.status != "passed"]


def _points(points: float | None, max_points: float) -> str:
    return f"{'?' if points is None else format(points, 'g')} of {max_points:g}"


def _cell(exercise: ExerciseResult) -> Text:
    if exercise.status in ("passed", "failed"):
        return Text(f"{exercise.points:g}", style=_STYLES[exercise.status])
    return Text(_WORDS[exercise.status], style=_STYLES.get(exercise.status, "dim"))


def _indented(text: str, spaces: int = 4) -> str:
    return "\n".join(" " * spaces + line for line in text.splitlines())
