"""`grader operators`: what is ordinary in an answer, made from the right ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import AUTHORS, UsageError, app, require_clone, require_forks
from grader.curriculum import ordinary
from grader.report.terminal import Terminal


@app.command("operators", rich_help_panel=AUTHORS)
def make_operators(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if the list is out of date.")
    ] = False,
    tests: Annotated[
        Path, typer.Option(metavar="DIR", help="Where unusual right answers are.")
    ] = Path("tests") / "data",
) -> None:
    """List the calls to torch that right answers make: any other call gets a remark.

    It is collected from the solutions and all right answers that are kept. Takes two minutes.
    """
    require_clone()
    require_forks()
    if not (tests / "variants").is_dir():
        raise UsageError(f"There are no right answers in {tests}/variants. Say --tests DIR.")
    # Imported where it is used: it imports torch.
    from grader.quality import ordinary as quality

    terminal = Terminal()
    record = quality.make(tests)
    if check:
        if quality.as_text(record) != ordinary.FILE.read_text(encoding="utf-8"):
            terminal.complain(f"{ordinary.FILE.name} is out of date. Run: grader operators")
            raise typer.Exit(1)
        terminal.say("Every call that right answers make is in the list.")
        return
    terminal.say(f"{'written' if quality.write(record) else 'unchanged'}  {ordinary.FILE}")
