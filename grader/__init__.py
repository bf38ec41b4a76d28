"""The grader of Transformer by Hand: it runs a student's work and says what is wrong."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext grader` calls in a notebook: it brings `%check`, `%show` and `%capstone`."""
    # Imported here, since the magic needs torch and most of what uses this package does not.
    from grader.board.magics import register
    from grader.capstone import notebook

    register(shell)
    notebook.register(shell)
