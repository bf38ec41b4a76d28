"""What is printed is seen, and obeyed by no terminal; colours of the kit's own stay."""

from __future__ import annotations

import io
from typing import cast

import pytest
from rich.table import Table
from rich.text import Text

from grader.board.plugin import Board
from grader.feedback.console import console
from grader.watch.screen import Screen

TEXT = "\x1b[2J\x1b]0;owned\x07 \x9b2J \u202eabc [red]x[/red] [/b] ✓ é"
SEEN = "\ufffd[2J\ufffd]0;owned"


@pytest.mark.parametrize("terminal", [True, False])
def test_texts_are_printed_as_they_are_seen(terminal: bool) -> None:
    out, colours = io.StringIO(), "standard" if terminal else None
    made = console(file=out, force_terminal=terminal, width=200, color_system=colours)
    table = Table()
    table.add_column(TEXT)
    table.add_row(Text(TEXT, style="bold red"))
    for printed in (TEXT, Text(TEXT, style="bold red"), table):
        made.print(printed, soft_wrap=True)
    Screen(made).add([[(TEXT, "wrong")]])
    Screen(made).note(TEXT)
    shown = out.getvalue()
    assert shown.count(SEEN) == 6
    assert shown.count("[red]x[/red] [/b] ✓ é") == 6
    own = ("\x1b[1;31m", "\x1b[1m", "\x1b[2m", "\x1b[0m", "\n") if terminal else ("\n",)
    assert ("\x1b[1;31m" in shown) == terminal
    for code in own:
        shown = shown.replace(code, "")
    assert shown.isprintable()


def test_the_board_prints_them_so_too() -> None:
    """`pytest exercises/`, which shows what the code prints and raises."""

    class Reporter:
        text = ""

        def write(self, text: str, **_style: bool) -> None:
            self.text += text

    reporter = Reporter()
    Board._write(cast(Board, None), reporter, [[(TEXT, "")]])
    assert reporter.text.startswith(SEEN)
    assert reporter.text.strip().isprintable()
