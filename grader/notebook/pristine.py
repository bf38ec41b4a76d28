"""Python and its libraries as they were before a student's code ran."""

from __future__ import annotations

import builtins
import contextlib
import sys
import warnings
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

_MAX_TOLD = 8
_ABSENT = object()


class Pristine:
    """A record of the functions and classes of all loaded modules, to restore them later.

    Only what can be called is kept: a module's settings and counters change in honest code, too.
    """

    def __init__(self) -> None:
        self.builtins = dict(vars(builtins))
        self._owners: list[tuple[str, Any, dict[str, Any]]] = []
        self._codes: dict[FunctionType, tuple[Any, Any, Any]] = {}
        classes: dict[type, None] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some libraries warn when a name is accessed
            for name, module in list(sys.modules.items()):
                if isinstance(module, ModuleType):
                    kept = _code_in(vars(module))
                    self._owners.append((name, module, kept))
                    classes.update(
                        (value, None) for value in kept.values() if isinstance(value, type)
                    )
        for kind in classes:
            name = f"{kind.__module__}.{kind.__qualname__}"
            self._owners.append((name, kind, _code_in(vars(kind))))
        for _, _, kept in self._owners:
            for value in kept.values():
                if isinstance(value, FunctionType):
                    with contextlib.suppress(OSError):  # the jail shows its code to nobody
                        self._codes[value] = _parts(value)

    def restore(self) -> list[str]:
        """Put everything back and return the names of what had been replaced, not all if many."""
        replaced: dict[str, None] = {}
        for name, module, _ in self._owners:
            if isinstance(module, ModuleType) and sys.modules.get(name) is not module:
                sys.modules[name] = module
                replaced[f"the module {name}"] = None
        for name, value in self.builtins.items():
            if vars(builtins).get(name) is not value:
                replaced[f"builtins.{name}"] = None
        vars(builtins).update(self.builtins)
        for name, owner, kept in self._owners:
            for attribute, value in _changes(owner, kept):
                try:
                    delattr(owner, attribute) if value is _ABSENT else setattr(
                        owner, attribute, value
                    )
                except (AttributeError, TypeError):
                    continue
                replaced[f"{name}.{attribute}"] = None
        for function, parts in self._codes.items():
            if any(now is not kept for now, kept in zip(_parts(function), parts, strict=True)):
                function.__code__, function.__defaults__, function.__kwdefaults__ = parts
                replaced[f"{function.__module__}.{function.__qualname__}"] = None
        return list(replaced)[:_MAX_TOLD]


def _changes(owner: Any, kept: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the values to restore an owner's attributes to, `_ABSENT` for those to delete.

    A new attribute of a class goes if it hides an inherited one, as `Tensor.__eq__` would.
    """
    now = vars(owner)
    changed = [(name, value) for name, value in kept.items() if now.get(name) is not value]
    if isinstance(owner, type):
        changed += [
            (name, _ABSENT)
            for name, value in now.items()
            if name not in kept
            and callable(value)
            and any(name in vars(base) for base in owner.__mro__[1:])
        ]
    return iter(changed)


def _code_in(names: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in names.items()
        if callable(value) or isinstance(value, staticmethod | classmethod | property)
    }


def _parts(function: FunctionType) -> tuple[Any, Any, Any]:
    return function.__code__, function.__defaults__, function.__kwdefaults__
