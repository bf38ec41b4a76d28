"""Draws the board as the README shows it: `python -m tests.tools.picture_of_the_board`.

The board of somebody who has divided the scores by d_k writes grader/pictures/readme/board.svg.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from grader.board import pointers, probe
from grader.board.progress import Progress, find_blocked
from grader.board.rendering import board, messages
from grader.board.workspace import Workspace
from grader.watch.screen import STYLES
from tests import ROOT
from tests.tools.watched import make_workspace

FILE = ROOT / "grader" / "pictures" / "readme" / "board.svg"
SOLVED = ("masks", "attention", "multi_head")
RIGHT, WRONG = "math.sqrt(query.size(-1))", "query.size(-1)"
COLUMNS = 92


def main() -> None:
    """Runs the public tests of such a folder, and draws the board."""
    with tempfile.TemporaryDirectory() as name:
        folder = make_workspace(Path(name), SOLVED)
        attention = folder / "attention.py"
        attention.write_text(attention.read_text("utf-8").replace(RIGHT, WRONG), "utf-8")
        sys.path.insert(0, name)
        workspace = Workspace(folder, Path(name))
        progress = {}
        for exercise in workspace.assigned:
            tests = tuple(workspace.tests(exercise))
            progress[exercise] = Progress(exercise, tests, selected=len(tests))
            for result in probe.run(workspace, exercise):
                progress[exercise].add(result)
            module = partial(probe.module, workspace, exercise)
            pointers.point(exercise, progress[exercise].failures(), workspace, module)
        find_blocked(progress, lambda _: False, workspace.is_handed_out)
        lines = [*messages(progress, COLUMNS, in_full=False), *board(progress, workspace)]
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    for line in lines:
        console.print(Text.assemble(*((text, STYLES.get(style, "")) for text, style in line)))
    drawn = console.export_svg(title="pytest exercises/", unique_id="board")
    # Its fonts would be fetched from elsewhere; the reader's own will do.
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    FILE.write_text(re.sub(r"[ \t]+\n", "\n", drawn), "utf-8")


if __name__ == "__main__":
    main()
