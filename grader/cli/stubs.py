"""`grader stubs`: the students' files, made from the solutions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader import curriculum
from grader.cli.app import AUTHORS, app, require_clone
from grader.curriculum import reference, stubs
from grader.curriculum.project import SOLUTIONS
from grader.report.terminal import Terminal


@app.command("stubs", rich_help_panel=AUTHORS)
def make_stubs(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a stub is out of date.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite edited files too.")] = False,
    folder: Annotated[
        Path, typer.Option("--exercises", metavar="DIR", help="The folder of the stubs.")
    ] = Path("exercises"),
) -> None:
    """Make exercises/*.py from solutions/*.py, and the expected values of `grader show`.

    A file that somebody has worked on is kept.
    """
    require_clone()
    # Imported where it is used: the other commands draw nothing.
    from grader.pictures import gallery

    terminal = Terminal()
    untested = [name for name in curriculum.NAMES if not (folder / f"test_{name}.py").exists()]
    if check:
        drifted = stubs.drift(folder, SOLUTIONS)
        drifted += [gallery.FILE.name] if gallery.outdated(reference.module) else []
        if drifted:
            terminal.complain(f"Out of date: {', '.join(drifted)}. Run: grader stubs")
        for name in untested:
            terminal.complain(stubs.no_public_tests(name))
        if drifted or untested:
            raise typer.Exit(1)
        terminal.say("Every stub, and what `show` knows, is up to date.")
        return
    for outcome in stubs.write(folder, SOLUTIONS, curriculum.NAMES, force):
        note = "  (somebody's work; --force overwrites it)" if outcome.status == "kept" else ""
        terminal.say(f"{outcome.status:<10} {outcome.path}{note}")
    if gallery.write(reference.module):
        terminal.say(f"{'written':<10} {gallery.FILE}")
    for name in untested:
        terminal.complain(stubs.no_public_tests(name))
