"""`grader grade`: grades submissions."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from grader import submission
from grader.cli.app import (
    INSTRUCTORS,
    NOT_GRADED,
    Isolation,
    UsageError,
    app,
    exercises_named,
    require_forks,
    require_jail,
)
from grader.course import CONFIG
from grader.judging import run, workers
from grader.report import data, tables
from grader.report.results import Report
from grader.report.terminal import Terminal


@app.command(rich_help_panel=INSTRUCTORS)
def grade(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A folder with files such as attention.py, a notebook, or a folder of either.",
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
            help="Where no known mistake fits, look for the wrong line: up to 2 s an exercise."
        ),
    ] = True,
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
    require_forks()
    recruit = None
    if on is not None:
        # Imported where it is used, as Dask is: few grade on a cluster.
        from grader.judging import cluster

        try:
            recruit = cluster.recruit(on)
        except cluster.ClusterError as error:
            raise UsageError(str(error)) from None
    elif isolation is Isolation.JAIL:
        require_jail()
    worth = _worth(paths)
    plan = workers.Plan(
        exercises=exercises_named(exercise or list(worth)),
        seed=secrets.randbelow(2**31) if seed is None else seed,
        isolation=isolation.value,
        jobs=jobs or workers.processors(),
        search=search,
    )
    terminal = Terminal()
    for one in submissions:
        if one.passed_over:
            terminal.complain(
                f"{one.name}: not graded, because other files there are: "
                f"{', '.join(one.passed_over)}. To grade a notebook, give it by itself."
            )
    try:
        report = _graded(submissions, plan, json, resume, terminal, recruit, worth)
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
    except workers.WorkforceError as error:
        terminal.complain(str(error))
        if json is not None:
            terminal.complain("What is graded is kept: the same command with --resume goes on.")
        raise typer.Exit(NOT_GRADED) from None
    _finish(report, terminal)


def _graded(
    submissions: list[submission.Submission],
    plan: workers.Plan,
    json: Path | None,
    resume: bool,
    terminal: Terminal,
    recruit: workers.Recruit | None,
    worth: dict[str, float],
) -> Report:
    if json is None:
        try:
            return run.run(submissions, plan, terminal.track, None, recruit, worth)
        except KeyboardInterrupt:
            terminal.complain("Stopped. With --json FILE, a run that is stopped can be resumed.")
            raise typer.Exit(130) from None
    if resume and json.exists() and not run.store_path(json).exists():
        terminal.complain(f"{json} is complete: nothing is left to grade.")
        raise typer.Exit
    store, plan = run.open_store(json, plan, resume)
    with store:
        try:
            report = run.run(submissions, plan, terminal.track, store, recruit, worth)
        except KeyboardInterrupt:
            terminal.complain("Stopped. The same command with --resume goes on from here.")
            raise typer.Exit(130) from None
        data.write_json(report, json)
        if run.complete(report):
            store.remove()
    return report


def _worth(paths: list[Path]) -> dict[str, float]:
    """What the exercises are worth where all paths lie in one assignment of an nbgrader course."""
    if not any((one / CONFIG).is_file() for path in paths for one in path.resolve().parents):
        return {}
    # Imported where it is used: nbformat takes a while, and a folder of files needs none.
    from grader.course import points

    found = [points.of_submissions(path) for path in paths]
    first = found[0]
    return first.exercises if first is not None and found == [first] * len(found) else {}


def _finish(report: Report, terminal: Terminal) -> None:
    terminal.report(report)
    if not run.complete(report):
        terminal.complain("Something could not be graded; see above. Grade it again.")
        raise typer.Exit(NOT_GRADED)


def _unique(submissions: list[submission.Submission]) -> list[submission.Submission]:
    seen: set[str] = set()
    for one in submissions:
        if one.name in seen:
            raise UsageError(f"Two submissions are called {one.name!r}. Rename one of them.")
        seen.add(one.name)
    return submissions
