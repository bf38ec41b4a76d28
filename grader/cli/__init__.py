"""The command `grader`, which is also `python -m grader`: one module for each group of commands.

The commands are those of the modules that are here: an edition that leaves a module out leaves out
its commands, and a new module is all that a new command needs.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules

from grader.cli.app import USAGE, UsageError, app
from grader.curriculum import CurriculumError
from grader.feedback.plain_letters import print_plainly
from grader.report.store import StoreError
from grader.report.terminal import Terminal
from grader.submission import SubmissionError


def main() -> None:
    """Run the command line: status 0 done, 2 wrong usage, 3 something could not be graded."""
    print_plainly()
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
    try:
        app()
    except (UsageError, SubmissionError, StoreError, CurriculumError) as error:
        Terminal().complain(str(error))
        sys.exit(USAGE)
