"""The program of a process with a student's notebook: prepare, fork, serve.

It is the program of a class in which there are notebooks: IPython is imported, and its shell made,
once for all of them.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from grader.notebook.notebook import Notebook
from grader.notebook.shell import Shell
from grader.remote import child
from grader.remote.child import hidden_files, warm_further
from grader.remote.modules import Modules
from grader.remote.work import Code

__all__ = ["hidden_files", "serve", "warm", "warm_further"]


def warm(expected: Sequence[str]) -> None:
    """Prepare what files need, and run something in a shell so that IPython loads lazy parts."""
    child.warm(expected)
    Shell.instance().run_cell("None")


def serve(sock: socket.socket) -> None:
    """A child's whole work, on a notebook or on files."""
    child.serve_code(sock, code)


def code(sources: dict[str, str], notebook: dict[str, Any] | None = None) -> Code:
    """Return the code of a submission. Files know nothing of a shell."""
    if notebook:
        return Notebook(Shell.instance(), **notebook)
    Shell.clear_instance()
    return Modules(sources)
