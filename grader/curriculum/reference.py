"""The reference answers, as modules to compare with and as code to hand out."""

from __future__ import annotations

import importlib
import importlib.util
import marshal
import sys
from collections.abc import Iterable
from functools import cache
from types import ModuleType

from grader.curriculum import stubs
from grader.curriculum.project import SOLUTIONS


@cache
def module(name: str) -> ModuleType:
    """Return the reference's own module of an exercise."""
    _package()
    return importlib.import_module(f"solutions.{name}")


@cache
def _package() -> None:
    # By its path: the folder where the command is run may have a `solutions` of its own.
    spec = importlib.util.spec_from_file_location("solutions", SOLUTIONS / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["solutions"] = package
    spec.loader.exec_module(package)


def variant(name: str, source: str) -> ModuleType | Exception:
    """Return the module of an exercise with this source, or what running it raises."""
    _package()
    edited = ModuleType(f"edited.{name}")
    edited.__package__ = "solutions"  # so that it finds what it needs
    try:
        exec(source.replace("from exercises.", "from solutions."), vars(edited))
    except Exception as error:
        return error
    return edited


def compiled(names: Iterable[str]) -> dict[str, bytes]:
    """Return the code of these exercises, without source and docstrings, for a process."""
    return {name: _code(name) for name in names}


@cache
def _code(name: str) -> bytes:
    source = stubs.reference_source(name)
    code = compile(source, "<reference>", "exec", optimize=2, dont_inherit=True)
    return marshal.dumps(code)
