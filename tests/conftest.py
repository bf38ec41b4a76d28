"""Options of the benchmark's slow side."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The submission that `fresh_pytest.py` grades."""
    parser.addoption("--submission", help="a folder with the exercises' files, for fresh_pytest.py")
