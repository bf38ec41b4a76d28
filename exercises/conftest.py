"""Makes pytest end with the board: what is done, what is wrong and why, what to do next."""

from pathlib import Path

import pytest

from grader.board.plugin import Board


def pytest_addoption(parser: pytest.Parser) -> None:
    """Gives pytest the option --hint."""
    Board.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Lets the board watch the tests of this folder."""
    config.pluginmanager.register(Board(Path(__file__).parent, config), "board")
