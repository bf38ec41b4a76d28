"""`grader grade`: grades submissions."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from grader import curriculum, submission
from grader.cli.app import (
    INSTRUCTORS,
    NOT_GRADED,
    Isolation,
    UsageError,
    app,
    exercises_named,
    names,
    require_forks,
    require_jail,
    require_targets,
    table,
)
from grader.cli.kept import (
    given_by_hand,
    keep_graded_before,
    kept_report,
    put_aside,
    require_own_overrides,
    with_overrides,
)
from grader.course import CONFIG
from grader.feedback.results import PassedOver, Report
from grader.grading import run, workers
from grader.report import data, tables
from grader.report.terminal import Terminal
from grader.submission import Reading, left_out
from grader.submission.files import shown

FEW = 3  # files side by side that may be all of one student's


@app.command(rich_help_panel=INSTRUCTORS)
def grade(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A folder with files such as attention.py, a notebook, a zip or tar archive, "
            "or a class: a folder or an archive of these.",
        ),
    ],
    exercise: Annotated[list[str] | None, names("Grade only this exercise")] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the whole report here.")
    ] = None,
    csv: Annotated[Path | None, table()] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a page for every submission into this folder."),
    ] = None,
    gradescope: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write Gradescope's results.json of one submission."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="How many workers. Default: one per processor.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draw the cases from this seed. Default: a new one.")
    ] = None,
    isolation: Annotated[
        Isolation,
        typer.Option(
            help="jail: no files, no network. process: for code you trust; it can forge its grade."
        ),
    ] = Isolation.JAIL,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="dask:ADDRESS",
            help="Grade on the workers of a Dask scheduler; dask:local tries it on this machine.",
        ),
    ] = None,
    search: Annotated[
        bool,
        typer.Option(
            help="Where no known mistake fits, look for the wrong line: up to 2 s per exercise."
        ),
    ] = True,
    a_class: Annotated[
        bool,
        typer.Option("--class", help="Each PATH is a class, even if it looks like one submission."),
    ] = False,
    one: Annotated[
        bool, typer.Option("--one", help="Each PATH is one student's submission.")
    ] = False,
    guess_names: Annotated[
        bool,
        typer.Option(
            "--guess-names",
            help="Read Masks.py as masks.py if it alone defines the exercise's names.",
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run that was stopped; needs --json.")
    ] = False,
) -> None:
    """Grade submissions: the core eight exercises, unless --exercise says otherwise."""
    if a_class and one:
        raise UsageError("--class and --one exclude each other. Give one of them.")
    reading = Reading.CLASS if a_class else Reading.ONE if one else Reading.AUTO
    read = [_contents(path, reading, guess_names) for path in paths]
    exercises, chosen = _exercises(exercise, worth := _worth(paths))
    submissions = [
        left_out.with_left_out(work, exercises, chosen)
        for work in _unique([work for part in read for work in part.submissions])
    ]
    if gradescope is not None and len(submissions) != 1:
        raise UsageError(f"--gradescope takes one submission; here are {len(submissions)}.")
    if resume and json is None:
        raise UsageError("--resume needs the --json FILE of the run that was stopped.")
    require_targets({".json": json, ".csv": csv, "-results.json": gradescope}, html)
    if json is not None:
        works = {work.name for work in submissions}
        require_own_overrides(json, [path for path in paths if shown(path.resolve().name) in works])
    if json is not None and not resume:
        put_aside(json, submissions, exercises, Terminal())
    require_forks()
    recruit = None
    if on is not None:
        # Imported where it is used, as Dask is: few grade on a cluster.
        from grader.grading import cluster

        try:
            recruit = cluster.recruit(on)
        except cluster.ClusterError as error:
            raise UsageError(str(error)) from None
    elif isolation is Isolation.JAIL:
        require_jail()
    plan = workers.Plan(
        exercises=exercises,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        isolation=isolation.value,
        jobs=jobs or workers.processors(),
        search=search,
    )
    terminal = Terminal()
    try:
        skipped = [entry for part in read for entry in part.passed_over]
        report = _graded(submissions, plan, json, resume, terminal, recruit, worth, skipped)
    except (workers.WorkforceError, OSError) as error:
        stopped = "Grading stopped: " if isinstance(error, OSError) else ""
        terminal.complain(f"{stopped}{error}")
        if json is not None:
            terminal.complain("What is graded is kept: the same command with --resume goes on.")
        raise typer.Exit(NOT_GRADED) from None
    with _writing(json):
        if csv is not None:
            data.write(csv, tables.as_csv(report))
        if html is not None:
            # Imported where it is used: jinja2 takes a while, and a run without pages needs none.
            from grader.report.html import write_pages

            terminal.say(f"Open {write_pages(report, html)}")
        if gradescope is not None:
            data.write(gradescope, tables.as_gradescope(report.submissions[0], report.passed_over))
    # Gradescope shows the student the skipped files; with another status there is no grade.
    further = _further(paths, reading, guess_names, isolation, submissions, exercises)
    _finish(report, terminal, gradescope is not None, further)


def _graded(
    submissions: list[submission.Submission],
    plan: workers.Plan,
    json: Path | None,
    resume: bool,
    terminal: Terminal,
    recruit: workers.Recruit | None,
    worth: dict[str, float],
    skipped: Sequence[PassedOver],
) -> Report:
    """Return the report. `skipped` are files that were passed over and belong to no submission."""
    if json is None:
        try:
            report = run.run(submissions, plan, terminal.track, None, recruit, worth)
            return replace(report, passed_over=(*skipped, *report.passed_over))
        except KeyboardInterrupt:
            terminal.complain("Stopped. With --json FILE, a run that is stopped can be resumed.")
            raise typer.Exit(130) from None
    given_by_hand(json)  # a damaged file stops the run before the class is graded
    if resume and json.exists() and not run.store_path(json).exists():
        terminal.complain(f"{json} is complete: nothing is left to grade.")
        # What else is to be written may be what the run was stopped at.
        return with_overrides(_complete(json, submissions), json, terminal)
    store, plan = run.open_store(json, plan, resume)
    with store:
        try:
            report = run.run(submissions, plan, terminal.track, store, recruit, worth)
            report = replace(report, passed_over=(*skipped, *report.passed_over))
        except KeyboardInterrupt:
            terminal.complain("Stopped. Continue with the same command and --resume.")
            raise typer.Exit(130) from None
        with _writing(json), data.changing(json):
            report = with_overrides(report, json, terminal)
            data.write_json(report, json)
            if run.complete(report):
                keep_graded_before(json, report, store.results().values(), terminal)
                store.remove()
    return report


@contextmanager
def _writing(json: Path | None) -> Iterator[None]:
    """Raise `UsageError` where a file of the report can't be written."""
    try:
        yield
    except OSError as error:
        kept = " What is graded is kept: the same command with --resume writes it." if json else ""
        raise UsageError(f"The report could not be written: {error}.{kept}") from None


def _complete(json: Path, submissions: list[submission.Submission]) -> Report:
    """Return the report of a run that is complete. Raises `UsageError` where it lacks somebody."""
    report = kept_report(json)
    graded = {result.submission for result in report.submissions}
    new = [work.name for work in submissions if work.name not in graded]
    if new:
        more = f" and {len(new) - 5} more" if len(new) > 5 else ""
        raise UsageError(
            f"{json} holds no grades of {', '.join(new[:5])}{more}. Run the same command without "
            "--resume: then all are graded."
        )
    return report


def _worth(paths: list[Path]) -> dict[str, float]:
    """Return the exercises' points if all paths are in one assignment of an nbgrader course."""
    if not any((parent / CONFIG).is_file() for path in paths for parent in path.resolve().parents):
        return {}
    # Imported where it is used: nbformat takes a while, and a folder of files needs none.
    from grader.course import points

    worths = [points.of_submissions(path) for path in paths]
    first = worths[0]
    return first.exercises if first is not None and worths == [first] * len(worths) else {}


def _contents(path: Path, reading: Reading, guess_names: bool) -> submission.Contents:
    try:
        contents = submission.contents(path, reading, guess_names)
        names = [work.name for work in contents.submissions]
        if reading is Reading.AUTO and 1 < len(names) <= FEW and not _has_folders(path):
            Terminal().complain(
                f"{path} is read as a class of {len(names)}: {', '.join(names)}. If it is one "
                f"student's: grader grade {path} --one"
            )
        return contents
    except submission.AmbiguousError as error:
        raise UsageError(
            f"{error} Say which: grader grade {path} --class, or grader grade {path} --one."
        ) from None


def _has_folders(path: Path) -> bool:
    return path.is_dir() and any(entry.is_dir() for entry in path.iterdir())


def _exercises(named: list[str] | None, worth: dict[str, float]) -> tuple[tuple[str, ...], bool]:
    """Return the exercises to grade, and whether somebody chose them."""
    return exercises_named(named or list(worth)), bool(named or worth)


def _further(
    paths: list[Path],
    reading: Reading,
    guess_names: bool,
    isolation: Isolation,
    submissions: list[submission.Submission],
    exercises: Sequence[str],
) -> str:
    """Return the command that grades what was submitted beyond these exercises; "" if nothing."""
    found = {name for work in submissions for name in left_out.exercises(work, exercises)}
    if not found:
        return ""
    options = [word for name in curriculum.NAMES if name in found for word in ("--exercise", name)]
    if reading is not Reading.AUTO:
        options.append("--class" if reading is Reading.CLASS else "--one")
    if guess_names:
        options.append("--guess-names")
    if isolation is not Isolation.JAIL:
        options += ["--isolation", isolation.value]
    return shlex.join(["grader", "grade", *map(str, paths), *options])


def _finish(report: Report, terminal: Terminal, lenient: bool, further: str) -> None:
    terminal.report(report)
    if further:
        terminal.say(f"The exercises that this run did not grade are graded by:\n  {further}")
    if not run.complete(report):
        terminal.complain("Something could not be graded; see above. Grade it again.")
        raise typer.Exit(NOT_GRADED)
    if not lenient and any(entry.work for entry in report.passed_over):
        terminal.complain("Something that looks like work was not graded; see above.")
        raise typer.Exit(NOT_GRADED)


def _unique(submissions: list[submission.Submission]) -> list[submission.Submission]:
    seen: set[str] = set()
    for work in submissions:
        if work.name in seen:
            raise UsageError(f"Two submissions are called {work.name!r}. Rename one of them.")
        seen.add(work.name)
    return submissions
