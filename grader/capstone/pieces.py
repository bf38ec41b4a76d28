"""The modules of `exercises`: the student's own pieces, and the kit's for those not yet written.

This runs in the training process. Files arrive as text, so that it needs no folder.
"""

from __future__ import annotations

import importlib
import linecache
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

from grader.capstone.events import Failure
from grader.remote import modules
from grader.remote.modules import PACKAGE, Package, file_name

MAX_TEXT = 300


@dataclass(frozen=True)
class Sources:
    """The files that the model is made of.

    `own` are the student's files by exercise, `kit` the kit's. `lent` are the names that the kit's
    file supplies to a student's, since they are not written there.
    """

    own: dict[str, str]
    kit: dict[str, str]
    lent: dict[str, list[str]]


class Pieces(Package):
    """The importer of `exercises.attention` and the like, in this process from now on.

    What the exercises define is found by its name: `pieces["Transformer"]`.
    """

    def __init__(
        self, sources: Sources, change: Callable[[str, ModuleType], None] | None = None
    ) -> None:
        """Make `exercises` a package whose modules come from here; run none of them.

        `change` gets the name of each exercise and its module, before others import from it.
        """
        self.sources = sources
        self.change = change
        for name, text in sources.own.items():
            modules.remember(name, text)
        # In a notebook, the real package may have been imported already.
        self.before = _imported()
        modules.begin_anew(self.before)
        sys.meta_path.insert(0, self)

    def close(self) -> None:
        """Forget the modules and the package; what was there before is there again."""
        sys.meta_path.remove(self)
        modules.forget(_imported())
        sys.modules.update(self.before)

    def module(self, exercise: str) -> Any:
        """Return the module of an exercise. Raises what the student's code raises."""
        return importlib.import_module(f"{PACKAGE}.{exercise}")

    def put(self, exercise: str, values: Mapping[str, Any]) -> ModuleType:
        """Make the module of an exercise of what is there already, such as a notebook's names."""
        module = ModuleType(f"{PACKAGE}.{exercise}")
        vars(module).update(values)
        sys.modules[module.__name__] = module
        return module

    def holds(self, exercise: str) -> bool:
        """Return whether there is a file of the student's or of the kit's."""
        return exercise in self.sources.own or exercise in self.sources.kit

    def exec_module(self, module: ModuleType) -> None:
        """Run the student's file; what is not written there is then the kit's."""
        name = module.__name__.partition(".")[2]
        self._run(name, module)
        if self.change is not None:
            self.change(name, module)

    def _run(self, name: str, module: ModuleType) -> None:
        kit = self.sources.kit.get(name)
        own = self.sources.own.get(name)
        if own is None:
            assert kit is not None
            exec(compile(kit, f"<the kit's {name}>", "exec", dont_inherit=True), vars(module))
            return
        exec(compile(own, file_name(name), "exec", dont_inherit=True), vars(module))
        lent = self.sources.lent.get(name)
        if lent and kit is not None:
            whole: dict[str, Any] = {"__name__": module.__name__}
            exec(compile(kit, f"<the kit's {name}>", "exec", dont_inherit=True), whole)
            for entry in lent:
                setattr(module, entry, whole[entry])
            # The kit's piece may build on one of the same file that the student has written.
            whole.update({key: value for key, value in vars(module).items() if _is_piece(value)})


def _is_piece(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith(f"{PACKAGE}.")


def failure(error: BaseException, doing: str) -> Failure:
    """Return what went wrong in the student's code, with their line and no stack trace."""
    kind = type(error).__name__
    try:
        text = " ".join(str(error).split())[:MAX_TEXT]
    except Exception:
        text = ""
    message = f"{kind}: {text}" if text else kind
    if isinstance(error, SyntaxError) and error.filename:
        place = (error.filename, error.lineno or 0, (error.text or "").strip(), "")
    else:
        place = _deepest(error.__traceback__)
    return Failure(doing, message, *place)


def standing(frame: Any) -> tuple[str, int, str, str]:
    """Return a running frame's place in the student's files: file, line, its text, function."""
    place = ("", 0, "", "")
    for running, line in traceback.walk_stack(frame):
        if running.f_code.co_filename.startswith(f"{PACKAGE}/"):
            place = _place(running, line)
            break
    return place


def _deepest(trace: TracebackType | None) -> tuple[str, int, str, str]:
    place = ("", 0, "", "")
    for frame, line in traceback.walk_tb(trace):
        if frame.f_code.co_filename.startswith(f"{PACKAGE}/"):
            place = _place(frame, line)
    return place


def _place(frame: Any, line: int) -> tuple[str, int, str, str]:
    code = frame.f_code
    inside = "" if code.co_qualname == "<module>" else code.co_qualname
    text = linecache.getline(code.co_filename, line).strip()[:MAX_TEXT]
    return code.co_filename, line, text, inside


def entries_of(pieces: Pieces, exercises: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the entries of these exercises by name.

    Raises what the student's code raises, and `AttributeError` for a name that it does not define.
    """
    values = {}
    for exercise, entries in exercises.items():
        module = pieces.module(exercise)
        for entry in entries:
            if not hasattr(module, entry):
                raise AttributeError(f"{file_name(exercise)} defines no {entry}.")
            values[entry] = getattr(module, entry)
    return values


def _imported() -> dict[str, ModuleType]:
    """Return the package `exercises` and its modules as they are now."""
    return {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] == PACKAGE
    }
