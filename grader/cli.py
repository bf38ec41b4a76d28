"""The command `grader`, which is also `python -m grader`."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from json import dumps
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer

from grader import curriculum, submission
from grader.curriculum import CurriculumError, stubs
from grader.judging import run, workers
from grader.report import data, tables
from grader.report.results import Report
from grader.report.store import StoreError
from grader.report.terminal import Terminal
from grader.sandbox import jail, lockdown
from grader.sandbox.host import Host

USAGE, NOT_GRADED = 2, 3
DEFAULT_ASSIGNMENT = "transformer"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Grades the exercises of Transformer by Hand.",
)


class UsageError(Exception):
    """What was asked for cannot be done. The message says why and what to do."""


class Isolation(StrEnum):
    """How far a student's code is kept apart from the machine."""

    JAIL = "jail"
    PROCESS = "process"


def main() -> None:
    """Runs the command line: status 0 done, 2 wrong usage, 3 something could not be graded."""
    try:
        app()
    except (UsageError, submission.SubmissionError, StoreError, CurriculumError) as error:
        Terminal().complain(str(error))
        sys.exit(USAGE)


@app.command()
def grade(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A folder with files such as attention.py, a notebook, or a folder of such.",
        ),
    ],
    exercise: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Grade only this exercise; may be given several times."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the whole report here.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a table here: a row a student, a column a check."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a page for every submission into this folder."),
    ] = None,
    gradescope: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write Gradescope's results.json of one submission."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Workers at a time. Default: one a processor.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draw the cases from this seed. Default: a fresh one.")
    ] = None,
    isolation: Annotated[
        Isolation,
        typer.Option(
            help="jail: no files, no network. process: only for your own code, which can forge."
        ),
    ] = Isolation.JAIL,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was stopped; needs --json.")
    ] = False,
) -> None:
    """Grade submissions: the core eight exercises, unless --exercise says otherwise."""
    submissions = _unique([one for path in paths for one in submission.find(path)])
    if gradescope is not None and len(submissions) != 1:
        raise UsageError(f"--gradescope takes one submission; here are {len(submissions)}.")
    if resume and json is None:
        raise UsageError("--resume needs the --json FILE of the run that was stopped.")
    for file in (json, csv, html, gradescope):
        if file is not None and not file.absolute().parent.is_dir():
            raise UsageError(f"{file}: there is no folder {file.parent} to write to.")
    _require_forks()
    if isolation is Isolation.JAIL:
        _require_jail()
    plan = workers.Plan(
        exercises=_exercises(exercise),
        seed=secrets.randbelow(2**31) if seed is None else seed,
        isolation=isolation.value,
        jobs=jobs or workers.processors(),
    )
    terminal = Terminal()
    try:
        report = _graded(submissions, plan, json, resume, terminal)
        if csv is not None:
            data.write(csv, tables.as_csv(report))
        if html is not None:
            # Imported where it is used: jinja2 takes a while, and a run without pages needs none.
            from grader.report.html import write_pages

            terminal.say(f"Open {write_pages(report, html)}")
        if gradescope is not None:
            data.write(gradescope, tables.as_gradescope(report.submissions[0]))
    except OSError as error:
        raise UsageError(f"The report could not be written: {error}.") from None
    _finish(report, terminal)


def _graded(
    submissions: list[submission.Submission],
    plan: workers.Plan,
    json: Path | None,
    resume: bool,
    terminal: Terminal,
) -> Report:
    if json is None:
        try:
            return run.run(submissions, plan, terminal.track)
        except KeyboardInterrupt:
            terminal.complain("Stopped. With --json FILE, a run that is stopped can be resumed.")
            raise typer.Exit(130) from None
    if resume and json.exists() and not run.store_path(json).exists():
        terminal.complain(f"{json} is complete: nothing is left to grade.")
        raise typer.Exit
    store, plan = run.open_store(json, plan, resume)
    with store:
        try:
            report = run.run(submissions, plan, terminal.track, store)
        except KeyboardInterrupt:
            terminal.complain("Stopped. The same command with --resume goes on from here.")
            raise typer.Exit(130) from None
        data.write_json(report, json)
        if run.complete(report):
            store.remove()
    return report


def _finish(report: Report, terminal: Terminal) -> None:
    terminal.report(report)
    if not run.complete(report):
        terminal.complain("Something could not be graded; see above. Grade it again.")
        raise typer.Exit(NOT_GRADED)


def _require_forks() -> None:
    if not hasattr(os, "fork") or not lockdown.resource:
        raise UsageError(
            "The hidden checks run on Linux, and your own code on macOS too. On Windows use WSL: "
            "https://learn.microsoft.com/windows/wsl/install. The public tests run here: "
            "pytest exercises/"
        )


def _require_jail() -> None:
    problems = jail.missing()
    if problems:
        found = "\n".join(f"  {problem.what} {problem.mend}" for problem in problems)
        raise UsageError(
            f"The jail for untrusted code cannot be made here.\n{found}\n"
            "For your own code on your own machine there is --isolation process. It is not for "
            "grades that count: the code can then read the solutions and write the report."
        )


def _unique(submissions: list[submission.Submission]) -> list[submission.Submission]:
    seen: set[str] = set()
    for one in submissions:
        if one.name in seen:
            raise UsageError(f"Two submissions are called {one.name!r}. Rename one of them.")
        seen.add(one.name)
    return submissions


def _exercises(names: list[str] | None) -> tuple[str, ...]:
    if not names:
        return tuple(exercise.name for exercise in curriculum.EXERCISES if exercise.core)
    unknown = [name for name in names if name not in curriculum.NAMES]
    if unknown:
        there_are = ", ".join(curriculum.NAMES)
        raise UsageError(f"There is no exercise {unknown[0]!r}. There are: {there_are}.")
    return tuple(name for name in curriculum.NAMES if name in names)


@app.command(name="mistakes")
def check_mistakes(
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE", help="Whose mistakes.")],
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Only these. Default: every one of the exercise."),
    ] = None,
) -> None:
    """Say of known mistakes whether they apply, are caught, and are told apart from the others."""
    from grader.judging import fingerprints

    _exercises([exercise])
    library = fingerprints.load(exercise)
    terminal = Terminal()
    unknown = sorted(set(name or ()) - set(library.mistakes))
    if unknown:
        raise UsageError(f"{exercise} has no mistake {unknown[0]!r}.")
    problems = [(one, library.faults(one)) for one in name or library.mistakes]
    for one, faults in problems:
        terminal.say(f"{one}: {'; '.join(faults) or 'caught, and told apart'}")
    if any(faults for _, faults in problems):
        raise typer.Exit(NOT_GRADED)


@app.command(name="scorecard")
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

    names = _exercises(exercise) if exercise else curriculum.NAMES
    terminal = Terminal()
    with Host(Isolation.PROCESS.value) as host:
        scores = [scorecard.measure(name, tests, seed, sample, host) for name in names]
    terminal.say(scorecard.as_markdown(scores))
    if json is not None:
        data.write(json, dumps(scorecard.as_data(scores, seed, sample), indent=1) + "\n")


@app.command()
def course(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the course.")],
    assignment: Annotated[
        str, typer.Option(metavar="NAME", help="The assignment to make or to bring up to date.")
    ] = DEFAULT_ASSIGNMENT,
    exercise: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An exercise of it; may be given several times."),
    ] = None,
) -> None:
    """Make an nbgrader course, or bring one up to date; what the instructor changed stays."""
    with _nbgrader():
        from grader.course import making
    try:
        done = making.make(folder, assignment, exercise or ())
    except making.CourseError as error:
        raise UsageError(str(error)) from None
    for sentence in done:
        Terminal().say(sentence)


@app.command()
def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="A new folder for it. Default: a temporary one."),
    ] = None,
) -> None:
    """Do the whole main job on a made-up class: a course, its notebooks, grades, feedback pages."""
    with _nbgrader():
        from grader.course import demo as example
        from grader.course import making
    terminal = Terminal()
    place = Path(mkdtemp(prefix="transformer-by-hand-")) / "course" if folder is None else folder
    try:
        for shown in example.run(place, "process" if jail.missing() else "jail"):
            terminal.say(shown) if isinstance(shown, str) else terminal.exercise(shown)
    except (example.DemoError, making.CourseError) as error:
        raise UsageError(str(error)) from None


@contextmanager
def _nbgrader() -> Iterator[None]:
    # Imported where it is used: nbgrader takes a second, and no other command needs it.
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed. In the kit's folder: pip install -e '.[grader]'"
        ) from None


@app.command()
def doctor() -> None:
    """Tell what this machine can do, one line each."""
    terminal = Terminal()
    for line in jail.capabilities():
        terminal.say(line)


@app.command("stubs")
def make_stubs(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail where a stub is out of date.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that somebody has worked on, too.")
    ] = False,
    folder: Annotated[
        Path, typer.Option("--exercises", metavar="DIR", help="The folder of the stubs.")
    ] = Path("exercises"),
) -> None:
    """Make exercises/*.py from solutions/*.py. A file that somebody has worked on is kept."""
    terminal = Terminal()
    untested = [name for name in curriculum.NAMES if not (folder / f"test_{name}.py").exists()]
    if check:
        drifted = stubs.drift(folder, stubs.SOLUTIONS)
        if drifted:
            terminal.complain(f"Out of date: {', '.join(drifted)}. Run: grader stubs")
        for name in untested:
            terminal.complain(stubs.no_public_tests(name))
        if drifted or untested:
            raise typer.Exit(1)
        terminal.say("Every stub is what its solution makes it.")
        return
    for outcome in stubs.write(folder, stubs.SOLUTIONS, curriculum.NAMES, force):
        note = "  (somebody's work; --force overwrites it)" if outcome.status == "kept" else ""
        terminal.say(f"{outcome.status:<10} {outcome.path}{note}")
    for name in untested:
        terminal.complain(stubs.no_public_tests(name))
