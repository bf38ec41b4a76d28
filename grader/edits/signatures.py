"""The arguments that functions and modules called by a student's code can take."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from functools import cache

from grader.curriculum import NAMES, CurriculumError, stubs

# By the called expression, such as `attention` or `self.self_attn`.
Signatures = Mapping[str, tuple[str, ...]]


def signatures(tree: ast.Module) -> Signatures:
    """Return the arguments of what a source defines, of the curriculum's names and of its parts."""
    known = {**_taught(), **dict(_defined(tree))}
    parts = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = f"{ast.unparse(node.value.func)}.forward"
            target = ast.unparse(node.targets[0])
            if made in known and target.startswith("self."):
                parts[target] = known[made]
    return {**known, **parts}


@cache
def _taught() -> dict[str, tuple[str, ...]]:
    """Return the names of the exercises that are here, with their arguments."""
    taught: dict[str, tuple[str, ...]] = {}
    for exercise in NAMES:
        with contextlib.suppress(CurriculumError):  # an edition has only some of them
            taught.update(_defined(ast.parse(stubs.as_handed_out(exercise))))
    return taught


def _defined(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Functions, classes, and the `forward` of these, each with its arguments."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, _arguments(node)
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    yield node.name, _arguments(part)[1:]
                elif isinstance(part, ast.FunctionDef):
                    yield f"{node.name}.{part.name}", _arguments(part)[1:]
                    yield f"self.{part.name}", _arguments(part)[1:]


def _arguments(function: ast.FunctionDef) -> tuple[str, ...]:
    listed = function.args
    return tuple(
        argument.arg for argument in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)
    )
