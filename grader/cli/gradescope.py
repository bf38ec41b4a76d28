"""`grader gradescope`: the autograder that Gradescope asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import INSTRUCTORS, Isolation, UsageError, app, exercises_named, names
from grader.report.terminal import Terminal


@app.command(rich_help_panel=INSTRUCTORS)
def gradescope(
    zip: Annotated[Path, typer.Option("--zip", metavar="FILE", help="The file to make.")],
    exercise: Annotated[list[str] | None, names("Grade only this exercise")] = None,
    isolation: Annotated[
        Isolation,
        typer.Option(
            help="jail: needs a container that may create namespaces. process: no protection."
        ),
    ] = Isolation.JAIL,
) -> None:
    """Make the zip file to upload to Gradescope: set-up script, run script and the kit."""
    from grader.release import gradescope

    try:
        gradescope.write(zip, exercises_named(exercise), isolation.value)
    except OSError as error:
        raise UsageError(f"{zip} cannot be written: {error.strerror}.") from None
    terminal = Terminal()
    terminal.say(f"Made {zip}. In Gradescope: Configure Autograder, Zip file upload.")
    if isolation is Isolation.JAIL:
        terminal.say(
            "Students' code runs in the jail there. If a test run ends with 'The jail for "
            "untrusted code cannot be made here', Gradescope's container allows none. Then "
            "download the submissions and grade them here, or make the file with --isolation "
            "process; grader/README.md says what code can do then."
        )
    else:
        terminal.say(
            "Students' code runs without the jail there: malicious code can read the checks and "
            "write its own grade. Check suspicious submissions, or grade again here: "
            "grader grade submissions/"
        )
