"""`grader doctor`: what this machine can do."""

from __future__ import annotations

from grader.cli.app import INSTRUCTORS, app
from grader.report.terminal import Terminal
from grader.sandbox import jail


@app.command(rich_help_panel=INSTRUCTORS)
def doctor() -> None:
    """Show what this machine can do, one line each."""
    terminal = Terminal()
    for line in jail.capabilities():
        terminal.say(line)
