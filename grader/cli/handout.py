"""`grader stubs`: what is handed out, made from the solutions: stubs and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader import curriculum
from grader.cli.app import AUTHORS, app
from grader.curriculum import reference, stubs
from grader.curriculum.stubs import PICTURES
from grader.report.terminal import Terminal

if TYPE_CHECKING:
    from grader.pictures.svg import Drawing


@app.command("stubs", rich_help_panel=AUTHORS)
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
    """Make exercises/*.py from solutions/*.py, the pictures of their texts, and what `show` knows.

    A file that somebody has worked on is kept.
    """
    # Imported where it is used: the other commands draw nothing.
    from grader.pictures import diagrams, gallery

    def drawings() -> dict[str, Drawing]:
        return diagrams.drawings(reference.module, curriculum.EXERCISES)

    terminal = Terminal()
    untested = [name for name in curriculum.NAMES if not (folder / f"test_{name}.py").exists()]
    if check:
        drifted = stubs.drift(folder, stubs.SOLUTIONS)
        drifted += diagrams.drift(folder / PICTURES, drawings())
        drifted += [gallery.FILE.name] if gallery.outdated(reference.module) else []
        if drifted:
            terminal.complain(f"Out of date: {', '.join(drifted)}. Run: grader stubs")
        for name in untested:
            terminal.complain(stubs.no_public_tests(name))
        if drifted or untested:
            raise typer.Exit(1)
        terminal.say("Every stub and picture is what the solutions make it.")
        return
    for outcome in stubs.write(folder, stubs.SOLUTIONS, curriculum.NAMES, force):
        note = "  (somebody's work; --force overwrites it)" if outcome.status == "kept" else ""
        terminal.say(f"{outcome.status:<10} {outcome.path}{note}")
    for name in diagrams.write(folder / PICTURES, drawings()):
        terminal.say(f"{'written':<10} {folder / PICTURES / name}")
    if gallery.write(reference.module):
        terminal.say(f"{'written':<10} {gallery.FILE}")
    for name in untested:
        terminal.complain(stubs.no_public_tests(name))
