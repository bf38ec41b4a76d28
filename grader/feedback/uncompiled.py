"""Running code that asks for `torch.compile` as it is written.

The compiler takes seconds to import and longer for the first call, needs a C compiler, and changes
no result that is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


def uncompiled(model: Any = None, **_options: Any) -> Any:
    """Stand in for `torch.compile`: return the function or module as it is, or a decorator."""
    return uncompiled if model is None else model


@contextmanager
def without_compiler() -> Iterator[None]:
    """In this block, `torch.compile` and `nn.Module.compile` leave code as it is."""
    compiler = torch.compile
    torch.compile = uncompiled
    try:
        yield
    finally:
        torch.compile = compiler
