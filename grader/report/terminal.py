"""A report on the terminal: one table for a class, every check for a single submission.

What a student's code said is printed as it is seen, never read as markup or obeyed.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

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
from grader.feedback.console import console
from grader.feedback.finding import Finding, Status
from grader.feedback.results import (
    CheckResult,
    ExerciseResult,
    PassedOver,
    Report,
    SubmissionResult,
    points,
)
from grader.feedback.text import WORDS

_STYLES: dict[Status, str] = {
    Status.PASSED: "green",
    Status.FAILED: "red",
    Status.ERROR: "red",
    Status.TIMEOUT: "red",
    Status.DIED: "red",
    Status.PROTOCOL: "red",
    Status.GRADER_ERROR: "bold magenta",
}
_NOT_RUN = {
    *(Status.ERROR, Status.TIMEOUT, Status.DIED, Status.PROTOCOL, Status.GRADER_ERROR),
}
_WRONG = "bold red"
_PIPE_WIDTH = 160
_NAME_WIDTH = 40
PROGRESS_SECONDS = 10
MAX_HARMLESS = 20  # lines on what was passed over and does not look like work
MAX_NOT_RUN = 20  # lines on why exercises did not run
COMMONEST = 3  # mistakes that a run of several submissions ends with


class _RateColumn(ProgressColumn):
    """How many are finished a second, over the whole run."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        return Text(f"{task.completed / task.elapsed:.1f}/s" if task.elapsed else "")


class Terminal:
    """Prints results to standard output and progress to standard error."""

    def __init__(self) -> None:
        self.console = console()
        if not self.console.is_terminal:
            self.console.width = _PIPE_WIDTH
        self.errors = console(stderr=True, soft_wrap=True)

    def say(self, text: str = "", style: str = "") -> None:
        """One line, or several, as they are."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def complain(self, text: str) -> None:
        """One line for standard error."""
        self.errors.print(Text(text, style="red"), soft_wrap=True)

    def track(self, results: Iterable[SubmissionResult], total: int) -> Iterator[SubmissionResult]:
        """Pass the results on, with a bar that moves: count, rate, time left.

        In a pipe there is a line instead, with the first result after every ten seconds.
        """
        if not self.errors.is_terminal:
            yield from self._track_in_lines(results, total)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _RateColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.errors, transient=True) as progress:
            yield from progress.track(results, total, description="grading")

    def _track_in_lines(
        self, results: Iterable[SubmissionResult], total: int
    ) -> Iterator[SubmissionResult]:
        # Without a thread that would wake up for it: this process forks its workers.
        start = last = time.monotonic()
        for count, result in enumerate(results, 1):
            yield result
            now = time.monotonic()
            if now - last >= PROGRESS_SECONDS:
                last = now
                rate = count / (now - start)
                self.errors.print(
                    f"graded {count} of {total}, {rate:.1f}/s, "
                    f"about {(total - count) / rate:.0f} s left",
                    soft_wrap=True,
                )

    def report(self, report: Report) -> None:
        """The whole report."""
        if len(report.submissions) == 1:
            self.submission(report.submissions[0])
        else:
            self.table(report.submissions)
            self.class_notes(report)
        self.passed_over(report.passed_over)
        self.say(
            f"seed {report.seed} · isolation: {report.isolation} · "
            f"the same cases again: --seed {report.seed}",
            "dim",
        )

    def table(self, submissions: Sequence[SubmissionResult]) -> None:
        """One row a submission, one column an exercise.

        Exercises for which the terminal is too narrow follow in tables of their own.
        """
        cells = [[_cell(exercise) for exercise in work.exercises] for work in submissions]
        headings = [exercise.exercise for exercise in submissions[0].exercises] if cells else []
        columns = [*zip(*cells, strict=True)]
        headings.append("points")
        columns.append(tuple(Text(points(work), style="bold") for work in submissions))
        widths = [
            max([len(heading), *map(len, column)]) + 1
            for heading, column in zip(headings, columns, strict=True)
        ]
        names = max([len("submission"), *(len(work.submission) for work in submissions)])
        first = 0
        while first < len(columns):
            last, left = first, self.console.width - min(names, _NAME_WIDTH)
            while last < len(columns) and (last == first or widths[last] <= left):
                left -= widths[last]
                last += 1
            if first:
                self.say()
            self._columns(submissions, headings[first:last], columns[first:last])
            first = last

    def _columns(
        self,
        submissions: Sequence[SubmissionResult],
        headings: Sequence[str],
        columns: Sequence[Sequence[Text]],
    ) -> None:
        """A table of some columns, with the names of the submissions before them."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("submission", overflow="fold", max_width=_NAME_WIDTH)
        for heading in headings:
            table.add_column(heading, justify="right")
        for number, work in enumerate(submissions):
            table.add_row(Text(work.submission), *(column[number] for column in columns))
        self.console.print(table)

    def class_notes(self, report: Report) -> None:
        """What the table of a class leaves open: mistakes, what did not run, points by hand."""
        self.commonest(report.submissions)
        self.not_run(report)
        self.by_hand(report.submissions)

    def not_run(self, report: Report) -> None:
        """Why exercises could not be read or run; those that say the same in one line."""
        told = {(entry.path, entry.reason) for entry in report.passed_over}
        who = defaultdict[tuple[str, str], list[str]](list)
        for submission in report.submissions:
            where = defaultdict[str, list[str]](list)
            for exercise in submission.exercises:
                if exercise.status in _NOT_RUN and exercise.finding is not None:
                    where[exercise.finding.headline.partition("\n")[0]].append(exercise.exercise)
            for reason, exercises in where.items():
                if (submission.submission, reason) not in told:
                    who[", ".join(exercises), reason].append(submission.submission)
        lines = [
            f"{_few(names)}, {exercises}: {reason}"
            for (exercises, reason), names in sorted(who.items(), key=lambda row: -len(row[1]))
        ]
        if lines:
            self.say("\n  ".join(("\nCould not be read or run:", *lines[:MAX_NOT_RUN])), "red")
        if len(lines) > MAX_NOT_RUN:
            self.say(f"  and {len(lines) - MAX_NOT_RUN} more; the students' pages (--html) say why")

    def commonest(self, submissions: Sequence[SubmissionResult]) -> None:
        """The mistakes that most submissions have, each in a line."""
        counts = Counter(
            (exercise.exercise, diagnosis.mistakes[0], _first_sentence(diagnosis.message))
            for submission in submissions
            for exercise in submission.exercises
            for diagnosis in exercise.diagnoses
        )
        for (exercise, _, tells), count in counts.most_common(COMMONEST):
            self.say(f"{count} of {len(submissions)}, {exercise}: {tells}", "yellow")

    def by_hand(self, submissions: Sequence[SubmissionResult]) -> None:
        """The points that an instructor gave, each with the note."""
        for submission in submissions:
            for exercise in submission.exercises:
                for check in exercise.checks:
                    if check.override:
                        subject = f"* {submission.submission}, {exercise.exercise}, {check.title}"
                        self.say(f"{subject} {check.by_hand}", "cyan")

    def passed_over(self, passed_over: Sequence[PassedOver]) -> None:
        """What was not graded, each with the reason; first what looks like work."""
        work = _together([entry for entry in passed_over if entry.work])
        harmless = _together([entry for entry in passed_over if not entry.work])
        for title, lines, style in (
            ("\nNot graded, and looks like work:", work, "red"),
            ("\nNot graded:", harmless, "dim"),
        ):
            shown = lines if lines is work else lines[:MAX_HARMLESS]
            if shown:
                self.say("\n  ".join((title, *shown)), style)
        if len(harmless) > MAX_HARMLESS:
            self.say(f"  and {len(harmless) - MAX_HARMLESS} more; --json FILE has them all", "dim")

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
        shown: set[str] = set()
        for check in exercise.checks:
            wrong = exercise.status is not Status.PASSED or check.status is not Status.PASSED
            if wrong or check.override:
                self.check(check, shown, silent=exercise.finding is not None)

    def check(self, check: CheckResult, shown: set[str], silent: bool) -> None:
        """One line for a check, and its message unless that was said before."""
        if check.status is Status.NOT_RUN and silent and not check.override:
            return
        mark = "✓" if check.status is Status.PASSED else "✗"
        style = "green" if check.status is Status.PASSED else "red"
        worth = f"{check.points:g}/{check.max_points:g}" if check.max_points else "remark"
        self.say(f"  {mark} {check.title} ({worth})", style)
        if check.override:
            self.say(_indented(check.by_hand, 6), "cyan")
        if check.finding is None or silent:
            return
        if check.message in shown:
            self.say("      As above.")
        else:
            shown.add(check.message)
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


def _together(entries: Sequence[PassedOver]) -> list[str]:
    """Return a line for each reason: the files of one submission, or submissions with the same."""
    files = defaultdict[tuple[str, str], list[str]](list)
    for entry in entries:
        files[entry.submission, entry.reason].append(entry.path)
    owners = defaultdict[tuple[str, str], list[str]](list)
    for (owner, reason), paths in files.items():
        owners[_few(paths, 8), reason].append(owner)
    return [
        f"{f'{_few(names)}: ' if any(names) else ''}{paths}: {reason}"
        for (paths, reason), names in owners.items()
    ]


def _few(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _cell(exercise: ExerciseResult) -> Text:
    if exercise.status in (Status.PASSED, Status.FAILED) or exercise.by_hand:
        star = "*" if exercise.by_hand else ""
        return Text(f"{exercise.points:g}{star}", style=_STYLES.get(exercise.status, ""))
    return Text(WORDS[exercise.status], style=_STYLES.get(exercise.status, "dim"))


def _first_sentence(text: str) -> str:
    first, stop, _ = text.partition("\n")[0].partition(". ")
    return f"{first}." if stop else first


def _indented(text: str, spaces: int = 4) -> str:
    return "\n".join(" " * spaces + line for line in text.splitlines())
