"""Exercises that are not assigned but needed: imported solved where the folder has only a stub.

A transformer that is asked for must not wait for a decoder that is not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from grader.board.workspace import HANDED_OUT, Workspace
from grader.curriculum import CurriculumError, closure, handed_out, stubs

_MADE: dict[str, ModuleType] = {}


@contextmanager
def standing_in(workspace: Workspace, exercise: str) -> Iterator[None]:
    """In this block, what `exercise` needs and the kit provides is imported from the kit.

    What was imported in the meantime keeps it; the stub's own tests still meet the stub.
    """
    before = {}
    try:
        for name in closure(exercise):
            if workspace.is_handed_out(name) and workspace.is_untouched(name):
                full = f"{workspace.folder.name}.{name}"
                form = _module(full, name)
                if form is not None:
                    before[full] = sys.modules.get(full)
                    sys.modules[full] = form
        yield
    finally:
        for full, module in before.items():
            if module is None:
                del sys.modules[full]
            else:
                sys.modules[full] = module


def _module(full: str, name: str) -> ModuleType | None:
    """Return the kit's form of the module; None in an edition that has no solution for it."""
    if full not in _MADE:
        try:
            source = handed_out.source(name) or stubs.reference_source(name)
        except CurriculumError:
            return None
        made = ModuleType(full)
        exec(compile(source, f"<{name} {HANDED_OUT}", "exec", dont_inherit=True), vars(made))
        _MADE[full] = made
    return _MADE[full]
