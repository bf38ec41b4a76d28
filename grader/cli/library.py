"""The commands for the library of known mistakes: `grader mistakes …` and `grader scorecard`."""

from __future__ import annotations

from json import dumps, loads
from pathlib import Path
from typing import Annotated

import typer

from grader import curriculum, submission
from grader.cli.app import (
    AUTHORS,
    NOT_GRADED,
    UsageError,
    app,
    exercises_named,
    names,
    require_clone,
    require_forks,
)
from grader.feedback.html import printable
from grader.report import data
from grader.report.terminal import Terminal

library = typer.Typer(no_args_is_help=True, help="Check and extend the library of known mistakes.")
app.add_typer(library, name="mistakes", rich_help_panel=AUTHORS)


@library.command("check")
def check_mistakes(
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE", help="Whose mistakes.")],
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="Only these. Default: all mistakes of the exercise."
        ),
    ] = None,
) -> None:
    """Check that known mistakes apply, are caught, and can be distinguished from the others.

    Their statements run in the jail. An entry that you keep runs in the grader's own process from
    then on: read it first.

    Ends with status 3 if one does not fit the answer that it edits, if no hidden check catches it,
    or if it does the same as another wherever it is asked.
    """
    from grader.quality import library

    exercises_named([exercise])
    terminal = Terminal()
    misfits, problems = library.check_in_jail(exercise, name or ())
    for sentence in misfits:
        terminal.say(sentence)
    for mistake, faults in problems.items():
        terminal.say(
            f"{mistake}: {'; '.join(faults) or 'applies, is caught, and is distinguished'}"
        )
    if misfits or any(problems.values()):
        raise typer.Exit(NOT_GRADED)


@library.command("new")
def begin_mistake(
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE", help="Whose mistake it is.")],
    wrong: Annotated[
        Path,
        typer.Argument(
            metavar="SUBMISSION", help="Where it was made: a file, a folder, a notebook."
        ),
    ],
) -> None:
    """Start an entry from a wrong answer: print the edit that makes the same mistake.

    The entry goes into grader/curriculum/mistakes/EXERCISE.toml, with texts that only a person can
    write; `grader mistakes check` then says whether it is caught and distinguished.
    """
    require_clone()
    from grader.quality import library

    exercises_named([exercise])
    (work, *others) = submission.find(wrong)
    if others or exercise not in work.sources:
        content = f"{len(others) + 1} submissions" if others else f"no {exercise}"
        raise UsageError(f"{wrong} holds {content}. Name the file or folder of one who wrote it.")
    text, helpers = library.begin(exercise, work.sources[exercise])
    terminal = Terminal()
    typer.echo(printable(text), nl=False)
    if helpers:
        terminal.complain(
            f"Their file also defines {printable(', '.join(helpers))}: the edit does not bring "
            "that along."
        )
    terminal.complain(
        f"Append it to grader/curriculum/mistakes/{exercise}.toml, say what it tells and asks. "
        f"Then run: grader mistakes check {exercise} NAME"
    )


@app.command("scorecard", rich_help_panel=AUTHORS)
def measure(
    exercise: Annotated[list[str] | None, names("Only this exercise")] = None,
    tests: Annotated[
        Path, typer.Option(metavar="DIR", help="Answers known to be right, and lazy ones.")
    ] = Path("tests") / "data",
    sample: Annotated[
        int, typer.Option(min=0, help="How many pairs and small edits to try per exercise.")
    ] = 5,
    everything: Annotated[
        bool, typer.Option("--all", help="Try every pair and every small edit. Takes hours.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Draw cases and samples from this seed.")] = 2017,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes measure.")] = 2,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures to this file.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Put the table into this text (README.md).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="End with status 3 if a figure is worse than in this file.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Measure the kit: wrong answers caught, right ones accepted, mistakes named."""
    require_clone()
    from grader.quality import scorecard, table

    require_forks()
    if not (tests / "variants").is_dir():
        raise UsageError(f"There are no right answers in {tests}/variants. Say --tests DIR.")
    names = exercises_named(exercise) if exercise else curriculum.NAMES
    terminal = Terminal()
    number = None if everything else sample

    def done(score: table.Score) -> None:
        missed = "".join(f"\n  {text}" for text in score.missed)
        terminal.say(f"{score.exercise}: {score.seconds:.0f} s{missed}")

    scores = scorecard.measure_all(names, tests, seed, number, jobs, done)
    kept = table.as_data(scores, seed, number)
    scores = table.read(kept)
    terminal.say("\n" + table.as_markdown(scores))
    if json is not None:
        data.write(json, dumps(kept, indent=1) + "\n")
    if markdown is not None:
        text = table.in_text(markdown.read_text(encoding="utf-8"), scores)
        markdown.write_text(text, encoding="utf-8")
    if check is not None:
        worse = table.faults(scores, table.read(loads(check.read_text(encoding="utf-8"))))
        if worse:
            terminal.complain("\n".join(worse))
            raise typer.Exit(NOT_GRADED)
