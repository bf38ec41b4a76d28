"""What a name in a student's code holds of what the exercise gave it.

    def attention(query, key, value):       # `q` below is `query`, as it was given,
        q, k = query.float(), key           # and `d` the size of its axis 1
        n, d = q.shape

Nothing is said of a name unless all of the code's own calls pass it on unchanged.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import lru_cache
from typing import Literal

from grader.recognition.functions import (
    Call,
    Function,
    Functions,
    is_name,
    own_nodes,
    statements,
)

# What leaves a tensor's axes as they are, and its numbers as far as matters.
_SAME = {"to", "type", "type_as", "float", "double", "long", "int", "bool", "half", "bfloat16"}
_SAME |= {"contiguous", "clone", "detach", "cpu", "cuda", "requires_grad_"}
# What leaves only their number as it is.
_AXES = {"exp", "log", "softmax", "transpose", "permute", "masked_fill", "sigmoid", "relu", "tanh"}
# What leaves a tensor's numbers as they are, in another shape.
_RESHAPES = {"view", "reshape", "flatten", "unsqueeze", "squeeze", "transpose", "permute", "t"}
_ADDS_AN_AXIS = ("emb", "one_hot", "unsqueeze", "stack", "split", "heads", "mean", "sum")
# What may be in a condition on what was given.
_PLAIN = {"min", "max", "len", "int", "float", "abs", "isinstance", "bool", "str", "type"}
_ASKS = {"shape", "size", "dim", "ndim", "ndimension", "dtype", "device", "numel"}
_PARTS = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp,
    ast.Subscript, ast.Tuple, ast.List, ast.Slice, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
    ast.expr_context, ast.Attribute, ast.Call,
)  # fmt: skip
_DEEPEST = 4  # calls of one function by another, or names made from one another
_MOST = 100  # names that are followed; answers need a few dozen

Keeps = Literal["all", "axes", "numbers"]


class Given:
    """What the names in a source hold of what the exercise gives its `entries`."""

    def __init__(self, tree: ast.Module, entries: Collection[str]) -> None:
        self.entries = entries
        self.code = Functions(tree)
        self._followed = 0
        self._called: dict[int, list[Call] | None] = {}

    def origin(
        self,
        value: ast.expr,
        function: Function,
        at: ast.stmt,
        keeps: Keeps = "all",
        depth: int = 0,
    ) -> str:
        """Return the parameter of an entry's whose value an expression has; "" for another value.

        With `keeps="axes"`, only the number of axes has to be the same, with `keeps="numbers"` only
        what the tensor holds.
        """
        value = _inside(value, keeps)
        self._followed += 1
        if not isinstance(value, ast.Name) or depth > _DEEPEST or self._followed > _MOST:
            return ""
        before = _stores(value.id, function.node, at)
        if before is None:
            return ""
        if before:
            made = _assigned(value.id, before[-1])
            if made is None or before[-1] not in function.node.body:
                return ""
            return self.origin(made, function, before[-1], keeps, depth + 1)
        if value.id not in function.parameters:
            return ""
        return self._of_parameter(value.id, function, keeps, depth)

    def _of_parameter(self, name: str, function: Function, keeps: Keeps, depth: int) -> str:
        """Return what a parameter is in all calls; "" if that is unknown, or differs."""
        calls = self._calls(function)
        if calls is None:
            return ""
        origins: set[str] = set()
        for call in calls:
            passed = call.passed(name, function)
            if passed is None:
                return ""
            origins.add(self.origin(passed, call.caller, call.statement, keeps, depth + 1))
            if "" in origins or len(origins) > 1:
                return ""
        if origins:
            return origins.pop()
        return name if self._is_entry(function) else ""

    def calls_itself(self, function: Function) -> bool:
        """Return whether the code itself calls a function that the exercise calls as well."""
        return self._is_entry(function) and bool(self._calls(function))

    def _is_entry(self, function: Function) -> bool:
        """Return whether the exercise itself calls the function."""
        owner, name = function.owner, function.node.name
        if owner is None:
            return name in self.entries
        return owner.name in self.entries and (not name.startswith("_") or name == "__init__")

    def _calls(self, function: Function) -> list[Call] | None:
        """Return the code's own calls of a function; None if it may be called in other ways too."""
        key = id(function.node)
        if key not in self._called:
            self._called[key] = self.code.calls(function, self._is_entry(function))
        return self._called[key]

    def made(
        self, value: ast.expr, function: Function, at: ast.stmt
    ) -> tuple[ast.expr, ast.stmt] | None:
        """Return what a name was made from before a statement, and where; None if that may vary."""
        before = _stores(value.id, function.node, at) if isinstance(value, ast.Name) else None
        if not before or before[-1] not in function.node.body:
            return None
        made = _assigned(ast.unparse(value), before[-1])
        return None if made is None else (made, before[-1])

    def dimension(
        self, size: ast.expr, function: Function, at: ast.stmt, depth: int = 0
    ) -> tuple[str, int] | None:
        """Return the parameter and the axis whose size an expression is; None for another value."""
        self._followed += 1
        if depth > _DEEPEST or self._followed > _MOST:
            return None
        if isinstance(size, ast.Name):
            before = _stores(size.id, function.node, at)
            if not before or before[-1] not in function.node.body:
                return None
            statement = before[-1]
            made = _assigned(size.id, statement)
            if made is not None:
                return self.dimension(made, function, statement, depth + 1)
            return self._unpacked(size.id, function, statement)
        asked, axis = _asks_size(size)
        if asked is None or axis is None:
            return None
        origin = self.origin(asked, function, at)
        return (origin, axis) if origin else None

    def _unpacked(
        self, name: str, function: Function, statement: ast.stmt
    ) -> tuple[str, int] | None:
        """Return the same for a name in `B, L, D = x.shape`."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple):
            return None
        names = [ast.unparse(target) for target in statement.targets[0].elts]
        asked = shape_of(statement.value)
        if asked is None or names.count(name) != 1:
            return None
        origin = self.origin(asked, function, statement)
        number = names.index(name)
        if any(other.startswith("*") for other in names[:number]):
            number -= len(names)
        return (origin, number) if origin else None

    def is_given(self, value: ast.expr, function: Function, at: ast.stmt, depth: int = 0) -> bool:
        """Return whether an expression is made of what the exercise gave and of numbers only."""
        if depth > _DEEPEST:
            return False
        skipped: set[int] = set()
        for node in ast.walk(value):
            if id(node) in skipped:
                continue
            if not isinstance(node, _PARTS):
                return False
            if isinstance(node, ast.Call):
                called = node.func
                plain = isinstance(called, ast.Name) and called.id in _PLAIN
                asks = isinstance(called, ast.Attribute) and called.attr in _ASKS
                if not (plain or asks) or node.keywords:
                    return False
                if plain:
                    skipped.add(id(called))
            elif isinstance(node, ast.Attribute) and is_name(node.value, "self"):
                kept = self.kept(node.attr, function)
                if kept is None or not self.is_given(*kept, depth + 1):
                    return False
                skipped.add(id(node.value))
            elif isinstance(node, ast.Attribute) and node.attr not in _ASKS:
                if ast.unparse(node.value) != "torch":
                    return False
                skipped.add(id(node.value))
            elif isinstance(node, ast.Name) and not self._is_given(node, function, at, depth):
                return False
        return True

    def _is_given(self, name: ast.Name, function: Function, at: ast.stmt, depth: int) -> bool:
        if name.id in _PLAIN or name.id in ("Tensor", "list", "tuple", "dict"):
            return True
        if self.origin(name, function, at):
            return True
        if self._followed > _MOST:
            return False
        before = _stores(name.id, function.node, at)
        if not before or before[-1] not in function.node.body:
            return False
        made = _assigned(name.id, before[-1])
        if made is not None:
            return self.is_given(made, function, before[-1], depth + 1)
        return self._unpacked(name.id, function, before[-1]) is not None

    def kept(
        self, attribute: str, function: Function
    ) -> tuple[ast.expr, Function, ast.stmt] | None:
        """Return what `__init__` assigns to an attribute; None if not that alone does, once."""
        if function.owner is None:
            return None
        made = [
            (node, method)
            for method in self.code.all
            if method.owner is function.owner
            for node in statements(method.node)
            if any(
                isinstance(part, ast.Attribute)
                and part.attr == attribute
                and isinstance(part.ctx, ast.Store)
                and is_name(part.value, "self")
                for part in own_nodes(node)
            )
        ]
        if len(made) != 1 or made[0][1].node.name != "__init__":
            return None
        statement, method = made[0]
        value = _assigned(f"self.{attribute}", statement)
        return (value, method, statement) if value is not None else None


def shape_of(value: ast.expr) -> ast.expr | None:
    """Return the tensor whose shape an expression is: `x` of `x.shape` and `x.size()`."""
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        return value.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.value if value.func.attr == "size" and not value.args else None
    return None


def _asks_size(value: ast.expr) -> tuple[ast.expr | None, int | None]:
    """Return the tensor and the axis of `x.shape[1]`, `x.size(1)` and `len(x)`."""
    if isinstance(value, ast.Subscript):
        return shape_of(value.value), whole_number(value.slice)
    if isinstance(value, ast.Call) and len(value.args) == 1:
        if isinstance(value.func, ast.Attribute) and value.func.attr == "size":
            return value.func.value, whole_number(value.args[0])
        if is_name(value.func, "len"):
            return value.args[0], 0
    return None, None


def whole_number(node: ast.AST | None) -> int | None:
    """Return the whole number that an expression spells out, with its sign; None for any other."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return sign * node.value
    return None


def _stores(name: str, function: ast.FunctionDef, at: ast.stmt) -> list[ast.stmt] | None:
    """Return the statements before another that give a name its value, in order.

    None if it is in a loop that gives it one, or in a function inside that has the name.
    """
    if any(isinstance(node, ast.arg) and node.arg == name for node in own_nodes(at)):
        return None
    stored, loops = _storing(function)
    storing = stored.get(name, [])
    for loop in loops:
        if loop.lineno <= at.lineno <= (loop.end_lineno or 0):
            inside = set(map(id, ast.walk(loop)))
            if id(at) in inside and any(id(statement) in inside for statement in storing):
                return None
    before = [statement for statement in storing if statement.lineno < at.lineno]
    return sorted(before, key=lambda statement: statement.lineno)


@lru_cache(maxsize=16)
def _storing(function: ast.FunctionDef) -> tuple[dict[str, list[ast.stmt]], list[ast.stmt]]:
    """Return the statements that give each name its value; and the loops and functions inside."""
    stored: dict[str, list[ast.stmt]] = {}
    loops: list[ast.stmt] = []
    for statement in statements(function):
        if isinstance(statement, ast.For | ast.While | ast.FunctionDef):
            loops.append(statement)
        names = {
            node.arg if isinstance(node, ast.arg) else node.id
            for node in own_nodes(statement)
            if isinstance(node, ast.arg)
            or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        }
        for name in names:
            stored.setdefault(name, []).append(statement)
    return stored, loops


def _assigned(name: str, statement: ast.stmt) -> ast.expr | None:
    """Return what a statement assigns to a name, alone or in `a, b = c, d`."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value if ast.unparse(statement.target) == name else None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if ast.unparse(target) == name:
        return value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return next((part for goal, part in pairs if ast.unparse(goal) == name), None)
    return None


def _inside(value: ast.expr, keeps: Keeps) -> ast.expr:
    """Return the tensor whose axes or numbers a value has, out of the calls around it."""
    methods = _SAME | {"all": set(), "axes": _AXES, "numbers": _RESHAPES}[keeps]
    while isinstance(value, ast.Call):
        called = value.func
        if isinstance(called, ast.Attribute) and is_name(called.value, "self"):
            adds = any(word in called.attr.lower() for word in _ADDS_AN_AXIS)
            if keeps != "axes" or adds or len(value.args) != 1 or value.keywords:
                return value
            value = value.args[0]
        elif isinstance(called, ast.Attribute) and called.attr in methods:
            if is_name(called.value, "torch") or is_name(called.value, "F"):
                return value
            value = called.value
        else:
            return value
    return value
