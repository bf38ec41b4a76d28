"""`grader override`: points for a check by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import INSTRUCTORS, UsageError, app
from grader.cli.kept import kept_report
from grader.feedback.results import CheckResult, Report, points
from grader.report import data, overrides
from grader.report.overrides import Given, OverridesError
from grader.report.terminal import Terminal

LONGEST_NOTE = 500


@app.command(rich_help_panel=INSTRUCTORS)
def override(
    grades: Annotated[
        Path, typer.Argument(metavar="GRADES", help="The file that `grader grade --json` wrote.")
    ],
    submission: Annotated[str, typer.Argument(metavar="SUBMISSION", help="Whose.")],
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE", help="In which exercise.")],
    check: Annotated[
        str, typer.Argument(metavar="CHECK", help="The check's title or name, or a part of it.")
    ],
    given: Annotated[
        float | None, typer.Argument(metavar="POINTS", help="The points it gets.")
    ] = None,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="Why, for the student and for you.")
    ] = "",
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the points by hand: the grader's count again.")
    ] = False,
) -> None:
    """Change the points of a check by hand, with a note; they stay when you grade again."""
    note = " ".join(note.split())
    if remove == (given is not None):
        raise UsageError('Give POINTS and --note "…", or --remove.')
    if len(note) > LONGEST_NOTE:
        raise UsageError(f"The note has {len(note)} characters; at most {LONGEST_NOTE} are shown.")
    file = overrides.path_of(grades)
    try:
        with data.changing(grades):
            report, points_by_hand = kept_report(grades), overrides.read(file)
            report, _ = overrides.applied(report, points_by_hand)
            named = overrides.found(report, submission, exercise, check)
            if not remove and not note:
                raise UsageError('Say why: --note "…". The student reads it.')
            entries = [entry for entry in points_by_hand if entry.key != named.key]
            if given is not None:
                entries.append(replace(named, points=_worth(report, named, given), note=note))
            elif len(entries) == len(points_by_hand):
                raise OverridesError(f"{_words(report, named)[1].title} has no points by hand.")
            overrides.write(file, entries)
            report, _ = overrides.applied(report, entries)
            try:
                data.write_json(report, grades)
            except OSError as error:
                raise UsageError(
                    f"The points are kept in {file} and count whenever these grades are read, but "
                    f"{grades} could not be written: {error.strerror}. Run the command again."
                ) from None
    except OverridesError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"The points could not be written: {error}.") from None
    total, now = _words(report, named)
    terminal = Terminal()
    terminal.say(f"{submission}, {exercise}, {now.title} {now.by_hand or points(now)}")
    terminal.say(f"{submission} has {total} points. To update pages and tables:")
    terminal.say(f"  grader report {grades} --html DIR --csv FILE")


def _words(report: Report, named: Given) -> tuple[str, CheckResult]:
    """Return a submission's points in words, and the check that is named."""
    for result in report.submissions:
        for exercise in result.exercises:
            for check in exercise.checks:
                if (result.submission, exercise.exercise, check.check) == named.key:
                    return points(result), check
    raise AssertionError(named)


def _worth(report: Report, named: Given, given: float) -> float:
    """Return the points if the check can have so many."""
    _, check = _words(report, named)
    if not 0 <= given <= check.max_points:
        raise OverridesError(
            f"{check.title} This check can have 0 to {check.max_points:g} points, not {given:g}."
        )
    return given
