"""What a name or an attribute that Python doesn't know should probably be.

Python makes such suggestions below a traceback, which students are not shown. Here they come from
the student's source and from what torch and `math` make public, from nothing that runs.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import math
import re
from collections.abc import Iterable, Iterator

import torch
from torch import nn

from grader.curriculum import EXERCISES
from grader.recognition.functions import Functions, is_name, own_nodes
from grader.recognition.likeness import parsed

_NAME = re.compile(r"NameError: name '(\w{1,60})' is not defined")
_ATTRIBUTE = re.compile(
    r"AttributeError: (?:module )?'([\w.]{1,60})'(?: object)? has no attribute '(\w{1,60})'"
)
_IMPORTS = {
    "Any": "from typing import Any",
    **{name: f"from jaxtyping import {name}" for name in ("Bool", "Float", "Int")},
    **{
        name: f"from collections.abc import {name}"
        for name in ("Callable", "Iterable", "Iterator", "Mapping", "Sequence")
    },
    "F": "import torch.nn.functional as F",
    "Tensor": "from torch import Tensor",
    "math": "import math",
    "nn": "from torch import nn",
    "torch": "import torch",
}
_OWNERS = {owner.__name__: owner for owner in (math, nn, nn.functional, torch, torch.Tensor)}
_CLOSE = 0.75  # the share of letters that two names have in common, as difflib counts it
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def suggestion(error: str, source: str, line: int) -> str:
    """Return what "Type: text", raised at that line of a source, asks for; "" if unknown."""
    if found := _NAME.match(error):
        name, tree = found[1], parsed(source)
        if wanted := _IMPORTS.get(name) or _of_exercises(name):
            return f"`{name}` is not defined here. Is `{wanted}` missing?"
        near = _of_self(name, tree, line)
        if not near and _is_of_init(name, tree, line):
            return (
                f"`{name}` is an argument of `__init__`, and no other method sees it. Does "
                "`__init__` keep it?"
            )
        near = near or _near(name, _visible(tree, line))
        return f"`{name}` is not defined here. Did you mean `{near}`?" if near else ""
    if found := _ATTRIBUTE.match(error):
        owner, name = found.groups()
        near = _near(name, _public(owner, source))
        whose = "A tensor" if owner == "Tensor" else f"`{owner}`"
        return f"{whose} has no `{name}`. Did you mean `{near}`?" if near else ""
    return ""


def _of_exercises(name: str) -> str:
    """Return the import of what an exercise defines; "" if none defines it."""
    owners = (each.name for each in EXERCISES if name in each.entries)
    return next((f"from exercises.{owner} import {name}" for owner in owners), "")


def _public(owner: str, source: str) -> Iterable[str]:
    """Return what torch's own, `math` or an object of a student's class has."""
    if owner in _OWNERS:
        return dir(_OWNERS[owner])
    classes = [node for node in parsed(source).body if isinstance(node, ast.ClassDef)]
    return (name for node in classes if node.name == owner for name in _attributes(node))


def _near(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like this one, but for large letters; "" if none is."""
    names = {
        other.casefold(): other
        for other in sorted(known)
        if not other.startswith("_") and len(other) <= 2 * len(name) + 2
    }
    close = difflib.get_close_matches(name.casefold(), names, 1, _CLOSE)
    # One that is there was taken away on purpose: the exercise rules it out.
    return names[close[0]] if close and names[close[0]] != name else ""


def _of_self(name: str, tree: ast.Module, line: int) -> str:
    """Return `self.` and the name, where the class around a line has it."""
    place = Functions(tree).at(line)
    owner = place[0].owner if place else None
    return f"self.{name}" if owner is not None and name in {*_attributes(owner)} else ""


def _is_of_init(name: str, tree: ast.Module, line: int) -> bool:
    """Return whether the `__init__` of the class around a line has an argument of that name."""
    functions = Functions(tree)
    place = functions.at(line)
    owner = place[0].owner if place else None
    return owner is not None and any(
        function.owner is owner and function.node.name == "__init__" and name in function.parameters
        for function in functions.all
    )


def _attributes(owner: ast.ClassDef) -> Iterator[str]:
    """Yield what a class has: its methods, and what they assign."""
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and _is_stored(node) and is_name(node.value, "self"):
            yield node.attr
    yield from (node.name for node in owner.body if isinstance(node, ast.FunctionDef))


def _visible(tree: ast.Module, line: int) -> set[str]:
    """Return the names that have a meaning at a line: Python's, the module's, a function's."""
    names = {*dir(builtins), *_bound(tree, line)}
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0):
            names |= {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
            names |= {*_bound(node, line)}
    return names


def _bound(scope: ast.Module | _FUNCTIONS, line: int) -> Iterator[str]:
    """Yield the names to which a module or a function has given a meaning by a line."""
    waiting: list[ast.stmt] = [*scope.body]
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, _FUNCTIONS | ast.ClassDef):
            yield statement.name
            continue
        nodes = [*own_nodes(statement)]
        waiting += [
            part
            for node in nodes
            for part in ast.iter_child_nodes(node)
            if isinstance(part, ast.stmt)
        ]
        yield from (
            (node.asname or node.name).partition(".")[0]
            for node in nodes
            if isinstance(node, ast.alias)
        )
        stored = {node for node in nodes if isinstance(node, ast.Name) and _is_stored(node)}
        looped = [node.target for node in nodes if isinstance(node, ast.comprehension)]
        inside = stored & {name for target in looped for name in ast.walk(target)}
        end = max((getattr(node, "end_lineno", 0) for node in nodes[1:]), default=0)
        if end < line:
            yield from (node.id for node in stored - inside)
        elif statement.lineno <= line:
            yield from (node.id for node in inside)
            yield from (node.arg for node in nodes if isinstance(node, ast.arg))


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)
