"""A report on the terminal: one table for a class, every check for a single submission.

What a student's code said is printed as it is, never read as markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from grader.feedback import text as words
from grader.feedback.finding import Finding, Status
from grader.feedback.text import WORDS
from grader.report.results import (
    CheckResult,
    ExerciseResult,
    Report,
    SubmissionResult,
    points,
)

_STYLES: dict[Status, str] = {
    Status.PASSED: "green",
    Status.FAILED: "red",
    Status.ERROR: "red",
    Status.TIMEOUT: "red",
    Status.DIED: "red",
    Status.PROTOCOL: "red",
    Status.GRADER_ERROR: "bold magenta",
}
_WRONG = "bold red"
_PIPE_WIDTH = 160
COMMONEST = 3  # mistakes that a run of several submissions ends with


class _RateColumn(ProgressColumn):
    """How many are finished a second, over the whole run."""

    def render(self, task: Task) -> Text:
        """The rate, once there is one."""
        return Text(f"{task.completed / task.elapsed:.1f}/s" if task.elapsed else "")


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
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _RateColumn(),
            TimeRemainingColumn(),
        )
        quiet = not self.errors.is_terminal
        with Progress(*columns, console=self.errors, transient=True, disable=quiet) as progress:
            yield from progress.track(results, total, description="grading")

    def report(self, report: Report) -> None:
        """The whole report."""
        if len(report.submissions) == 1:
            self.submission(report.submissions[0])
        else:
            self.table(report.submissions)
            self.commonest(report.submissions)
        self.say(
            f"seed {report.seed} · isolation: {report.isolation} · "
            f"the same cases again: --seed {report.seed}",
            "dim",
        )

    def table(self, submissions: Sequence[SubmissionResult]) -> None:
        """One row a submission, one column an exercise."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("submission", overflow="fold", max_width=40)
        for exercise in submissions[0].exercises if submissions else ():
            table.add_column(exercise.exercise, justify="right")
        table.add_column("points", justify="right")
        for submission in submissions:
            cells = [_cell(exercise) for exercise in submission.exercises]
            total = Text(points(submission), style="bold")
            table.add_row(Text(submission.submission), *cells, total)
        self.console.print(table)

    def commonest(self, submissions: Sequence[SubmissionResult]) -> None:
        """The mistakes that most submissions have, each in a line."""
        counts = Counter(
            (exercise.exercise, diagnosis.mistakes[0], diagnosis.message.partition("\n")[0])
            for submission in submissions
            for exercise in submission.exercises
            for diagnosis in exercise.diagnoses
        )
        for (exercise, _, tells), count in counts.most_common(COMMONEST):
            self.say(f"{count} of {len(submissions)}, {exercise}: {tells}", "yellow")

    def submission(self, submission: SubmissionResult) -> None:
        """Everything about one submission."""
        self.say(submission.submission, "bold")
        for exercise in submission.exercises:
            self.exercise(exercise)
        if submission.integration is not None:
            self.say("\nall of it together (no points)", "bold")
            self.finding(submission.integration.finding, 4)
        self.say(f"\n{points(submission)} points", "bold")

    def exercise(self, exercise: ExerciseResult) -> None:
        """One exercise: its points, and what each check that failed says, each thing once."""
        line = Text(f"\n{exercise.exercise:<14}{points(exercise):>9}   ", style="bold")
        self.console.print(line + Text(WORDS[exercise.status], _STYLES.get(exercise.status, "")))
        if exercise.finding is not None:
            self.finding(exercise.finding, 4)
        for diagnosis in exercise.diagnoses:
            self.say(_indented(diagnosis.in_full), "yellow")
        for suspect in exercise.lines:
            self.say(_indented(suspect.message), "yellow")
        for remark in exercise.remarks:
            self.say(_indented(f"for the instructor: {remark}"), "magenta")
        said: set[str] = set()
        for check in exercise.checks:
            if exercise.status is not Status.PASSED or check.status is not Status.PASSED:
                self.check(check, said, silent=exercise.finding is not None)

    def check(self, check: CheckResult, said: set[str], silent: bool) -> None:
        """One line for a check, and its message unless that was said before."""
        if check.status is Status.NOT_RUN and silent:
            return
        mark = "✓" if check.status is Status.PASSED else "✗"
        style = "green" if check.status is Status.PASSED else "red"
        worth = f"{check.points:g}/{check.max_points:g}" if check.max_points else "remark"
        self.say(f"  {mark} {check.title} ({worth})", style)
        if check.finding is None or silent:
            return
        if check.message in said:
            self.say("      As above.")
        else:
            said.add(check.message)
            self.finding(check.finding, 6)

    def finding(self, finding: Finding, indent: int) -> None:
        """Headline, grid and help, the wrong numbers in red besides their stars, and places."""
        for line in words.lines(finding):
            pieces = [(piece, _WRONG if wrong else "") for piece, wrong in line]
            shown = Text.assemble(" " * indent, *pieces)
            shown.rstrip()
            self.console.print(shown, soft_wrap=True)
        for place in finding.places:
            self.say(_indented(words.place(place), indent + 2))


def _cell(exercise: ExerciseResult) -> Text:
    if exercise.status in (Status.PASSED, Status.FAILED):
        return Text(f"{exercise.points:g}", style=_STYLES[exercise.status])
    return Text(WORDS[exercise.status], style=_STYLES.get(exercise.status, "dim"))


def _indented(text: str, spaces: int = 4) -> str:
    return "\n".join(" " * spaces + line for line in text.splitlines())
