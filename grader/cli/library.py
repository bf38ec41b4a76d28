"""The commands for the library of known mistakes: `grader mistakes …` and `grader scorecard`."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from grader import curriculum
from grader.cli.app import AUTHORS, NOT_GRADED, Isolation, UsageError, app, exercises_named
from grader.curriculum import mistakes
from grader.curriculum.mistakes import variants
from grader.report import data
from grader.report.terminal import Terminal
from grader.sandbox.host import Host

library = typer.Typer(no_args_is_help=True, help="Look after the library of known mistakes.")
app.add_typer(library, name="mistakes", rich_help_panel=AUTHORS)


@library.command("check")
def check_mistakes(
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE", help="Whose mistakes.")],
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Only these. Default: every one of the exercise."),
    ] = None,
) -> None:
    """Say of known mistakes whether they apply, are caught, and are told apart from the others.

    Ends with status 3 if one does not fit the answer that it edits, if no hidden check catches it,
    or if it does the same as another wherever it is asked.
    """
    from grader.judging import fingerprints

    exercises_named([exercise])
    terminal = Terminal()
    known = [one.name for one in mistakes.load(exercise)]
    unknown = sorted(set(name or ()) - set(known))
    if unknown:
        raise UsageError(f"{exercise} has no mistake {unknown[0]!r}.")
    misfits = variants.misfits(exercise)
    if misfits:
        terminal.say("\n".join(misfits))
        raise typer.Exit(NOT_GRADED)
    prints = fingerprints.load(exercise)
    problems = [(one, prints.faults(one)) for one in name or known]
    for one, faults in problems:
        terminal.say(f"{one}: {'; '.join(faults) or 'applies, is caught, and is told apart'}")
    if any(faults for _, faults in problems):
        raise typer.Exit(NOT_GRADED)


@app.command("scorecard", rich_help_panel=AUTHORS)
def measure(
    exercise: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this exercise; may be given several times."),
    ] = None,
    tests: Annotated[
        Path, typer.Option(metavar="DIR", help="The kit's tests, with right and lazy answers.")
    ] = Path("tests"),
    sample: Annotated[
        int, typer.Option(min=0, help="How many pairs and small edits to try of each exercise.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Draw cases and samples from this seed.")] = 2017,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write figures here.")] = None,
) -> None:
    """Measure the kit: wrong answers caught, right ones accepted, mistakes named."""
    from grader.judging import scorecard

    names = exercises_named(exercise) if exercise else curriculum.NAMES
    terminal = Terminal()
    with Host(Isolation.PROCESS.value) as host:
        scores = [scorecard.measure(name, tests, seed, sample, host) for name in names]
    terminal.say(scorecard.as_markdown(scores))
    if json is not None:
        data.write(json, dumps(scorecard.as_data(scores, seed, sample), indent=1) + "\n")
