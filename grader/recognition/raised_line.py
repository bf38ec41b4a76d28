"""A line that raised, as the facts about it see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

from grader.recognition.functions import Function, own_nodes
from grader.recognition.given import Given, Keeps, whole_number

ALLOWED = "The exercise allows that."
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
_LONGEST = 70


@dataclass(frozen=True)
class Fact:
    """What is wrong at a line, in a sentence, and the question that leads on."""

    tells: str
    asks: str
    line: int = 0


@dataclass(frozen=True)
class Raised:
    """An error, the statement that raised it, and what the names there hold."""

    error: str
    statement: ast.stmt
    function: Function
    given: Given
    values: Mapping[str, object]

    def nodes(self) -> Iterator[ast.AST]:
        """Yield the parts of the statement; of an `if` or a loop, only those of its first line."""
        return own_nodes(self.statement)

    def origin(self, value: ast.expr, keeps: Keeps = "all") -> str:
        """Return the parameter whose value an expression holds; "" if that is unknown."""
        return self.given.origin(value, self.function, self.statement, keeps)

    def shape(self, origin: str) -> tuple[int, ...] | None:
        """Return the shape of a tensor that was given; None if that is unknown."""
        value = self.values.get(origin)
        return tuple(value.shape) if isinstance(value, Tensor) else None


def calls(raised: Raised, method: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Yield the calls of a tensor's method in the statement, and the tensor."""
    for node in raised.nodes():
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(called, ast.Attribute):
            if called.attr != method:
                continue
            is_torchs = ast.unparse(called.value) == "torch" and node.args
            yield node, node.args[0] if is_torchs else called.value


def indices(raised: Raised) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what `gather` and `scatter` pick from or write into, and their index."""
    for node in raised.nodes():
        called = node.func if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(called, ast.Attribute):
            continue
        if called.attr.startswith(("gather", "scatter")):
            is_torchs = ast.unparse(called.value) == "torch" and node.args
            tensor, *others = node.args if is_torchs else (called.value, *node.args)
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            axis = [named["dim"]] if "dim" in named else []
            index = [named["index"]] if "index" in named else [*axis, *others][1:2]
            if index:
                yield tensor, index[0]


def written(node: ast.AST) -> str:
    """Return a piece of code on one line, cut if it is long."""
    code = " ".join(ast.unparse(node).split())
    return code if len(code) <= _LONGEST else f"{code[: _LONGEST - 2]} …"


def in_words(digits: str) -> str:
    """Return a small number as a word."""
    return _NUMBERS[int(digits)] if 0 <= int(digits) < len(_NUMBERS) else digits


def axes(digits: str) -> str:
    """Return how many axes there are, in words."""
    return f"{in_words(digits)} {'axis' if digits == '1' else 'axes'}"


def is_index(node: ast.expr) -> bool:
    """Return whether an index picks a single entry of an axis, which disappears."""
    return isinstance(node, ast.Name) or whole_number(node) is not None
