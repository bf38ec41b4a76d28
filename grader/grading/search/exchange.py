"""Right answers in which any value can be exchanged for a student's.

Each expression in their functions is wrapped in a call that notes its value, or puts another one in
its place.
"""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from grader import curriculum
from grader.curriculum import mistakes, reference, stubs
from grader.remote import wire
from grader.remote.server import Server
from grader.remote.values import NotPlainError, copied

_NAME = "_value_"
_WRAPPED = (
    ast.Call, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Compare, ast.IfExp, ast.BoolOp,
    ast.ListComp, ast.DictComp, ast.Tuple, ast.List, ast.Dict,
)  # fmt: skip
_ENTRIES = {entry for name in curriculum.NAMES for entry in curriculum.find(name).entries}
SAME, SMALLEST = 4e-6, 1e-8  # of a number and of the largest ones
SMALL_INT = 2  # a whole number that tells nothing
_NAN, _INF = 1.7e38, 3.1e38


@dataclass
class Run:
    """What a right answer does with some requests: its last reply, and the values on the way to it.

    `values` are those of each expression, in order, `given` what the code starts from. `draws` is
    whether it draws random numbers.
    """

    reply: Any = None
    values: dict[int, list[Any]] = field(default_factory=lambda: defaultdict(list))
    given: list[Any] = field(default_factory=list)
    draws: bool = False


class RightAnswer:
    """A right answer to an exercise.

    `complete` are the expressions whose values have a name, or come of a function of the exercises:
    others may be half of a step.
    """

    def __init__(self, exercise: str, source: str) -> None:
        tree = ast.parse(source)
        wrapping = _Wrapping()
        wrapping.visit(tree)
        self.complete = frozenset(wrapping.complete)
        module = reference.variant(exercise, ast.unparse(ast.fix_missing_locations(tree)))
        assert isinstance(module, ModuleType)
        vars(module)[_NAME] = self._value
        self.module = module
        self.exchanged: Mapping[int, Sequence[Any]] = {}
        self.current: Run | None = None

    def run(self, requests: Sequence[Any], exchanged: Mapping[int, Sequence[Any]]) -> Run:
        """Return what becomes of requests if the last of them meets these values on its way."""
        server, run = Server(self.module), Run()
        self.exchanged = exchanged
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            *before, last = wire.crossed(list(requests))
            for request in before:
                server.answer(request)
            run.given = [*_given(server, last)]
            state = torch.get_rng_state()
            self.current = run
            try:
                run.reply = server.answer(last)
            finally:
                self.current = None
        run.draws = not torch.equal(state, torch.get_rng_state())
        return run

    def _value(self, number: int, value: Any) -> Any:
        run = self.current
        if run is None:
            return value
        made = run.values[number]
        if number in self.exchanged and len(made) < len(self.exchanged[number]):
            value = copied(self.exchanged[number][len(made)])
        try:
            made.append(copied(value))
        except NotPlainError:
            made.append(NotPlainError)
        return value


@cache
def right_answers(exercise: str) -> list[RightAnswer]:
    """Return the right answers to an exercise that the kit has."""
    others = (*mistakes.forms(exercise).values(), *mistakes.ways(exercise).values())
    return [RightAnswer(exercise, text) for text in (stubs.reference_source(exercise), *others)]


class _Wrapping(ast.NodeTransformer):
    """Wraps the parameters of functions and the expressions in their bodies."""

    def __init__(self) -> None:
        self.number = 0
        self.inside = False
        self.complete: set[int] = set()

    def _wrapped(self, node: ast.expr) -> ast.Call:
        self.number += 1
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Name) or called.startswith("self.") or called in _ENTRIES:
            self.complete.add(self.number)
        name = ast.Name(_NAME, ast.Load())
        return ast.copy_location(ast.Call(name, [ast.Constant(self.number), node], []), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outside, self.inside = self.inside, True
        body = [self.visit(statement) for statement in node.body]
        self.inside = outside
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:] or [ast.Pass()]
        for argument in (*node.args.args, *node.args.kwonlyargs):
            if argument.arg != "self":
                value = self._wrapped(ast.Name(argument.arg, ast.Load()))
                body.insert(0, ast.Assign([ast.Name(argument.arg, ast.Store())], value))
        node.body = body
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = self.visit(node.value)
        self._complete(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        node.value = node.value and self.visit(node.value)
        self._complete(node.value)
        return node

    def _complete(self, value: ast.expr | None) -> None:
        """Note that a value is complete, and so are those in a tuple of values."""
        if isinstance(value, ast.Call) and ast.unparse(value.func) == _NAME:
            number, inner = value.args
            assert isinstance(number, ast.Constant)
            self.complete.add(int(str(number.value)))
            for part in inner.elts if isinstance(inner, ast.Tuple) else ():
                self._complete(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        return self._wrapped(node) if self.inside and isinstance(node.ctx, ast.Load) else node

    def visit_With(self, node: ast.With) -> ast.With:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        loads = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if not self.inside or not isinstance(node, _WRAPPED) or not loads or _is_super(node):
            return node
        return self._wrapped(node)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super"


def _given(server: Server, request: Mapping[str, Any]) -> Iterable[Any]:
    """Yield what code starts from: its arguments, and what the modules hold."""
    every = [*request.get("args", ()), *request.get("kwargs", {}).values()]
    for made in server.objects.values():
        parts = made.modules() if isinstance(made, nn.Module) else [made]
        for part in parts:
            held = getattr(part, "__dict__", {})
            every += [value for name, value in held.items() if not name.startswith("_")]
            if isinstance(part, nn.Module):
                every += [*part.parameters(recurse=False), *part.buffers(recurse=False)]
    for value in every:
        try:
            yield copied(value)
        except NotPlainError:
            continue


class Pool:
    """Values of right answers, to find a student's among them."""

    def __init__(self, values: Iterable[Any], in_shape: bool = False) -> None:
        """With `in_shape`, tensors also have to have the shape, but for axes of length one."""
        self.in_shape = in_shape
        self.numbers: set[float] = set()
        self.whole: set[int] = {*range(-SMALL_INT, SMALL_INT + 1)}
        self.others: list[Any] = []
        tensors: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
        for value in values:
            if isinstance(value, Tensor):
                tensors[self._key(value)].append(_flat(value))
                self.whole.update(value.shape)
            elif type(value) is int:
                self.whole.add(value)
            elif type(value) is float:
                self.numbers.add(value)
            else:
                self.others.append(value)
        self.tensors = {key: torch.stack(some) for key, some in tensors.items()}

    def holds(self, value: Any) -> bool:
        """Return whether a value is among them; True, False and None always are."""
        if isinstance(value, Tensor):
            return self._holds_tensor(value)
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, int):
            return value in self.whole
        if isinstance(value, float):
            return any(equal(value, number) for number in self.numbers)
        if isinstance(value, list) and value and all(type(item) is int for item in value):
            return {*value} <= self.whole or any(equal(value, other) for other in self.others)
        return any(equal(value, other) for other in self.others)

    def _holds_tensor(self, value: Tensor) -> bool:
        known = self.tensors.get(self._key(value))
        if known is None:
            return False
        flat = _flat(value)
        return bool(((known - flat).abs() <= _room(flat)).all(dim=1).any())

    def _key(self, value: Tensor) -> tuple[int, ...]:
        if self.in_shape:
            return tuple(size for size in value.shape if size != 1)
        return (value.numel(),)


def _flat(value: Tensor) -> Tensor:
    """Return the numbers of a tensor in order, without any that no comparison holds for."""
    return value.reshape(-1).double().nan_to_num(_NAN, _INF, -_INF)


def _room(flat: Tensor) -> Tensor:
    """Return by how much rounding may change each of these numbers."""
    usual = flat[flat.abs() < _NAN]
    size = usual.square().mean().sqrt() if usual.numel() else 0.0
    return SMALLEST + SAME * (flat.abs() + size)


def equal(value: Any, other: Any) -> bool:
    """Return whether two copies are equal but for rounding and dtypes; shapes have to be."""
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        if value.shape != other.shape:
            return False
        left, right = _flat(value), _flat(other)
        return bool(((left - right).abs() <= _room(right)).all())
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(equal, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        same = value.keys() == other.keys()
        return same and all(equal(value[key], other[key]) for key in value)
    if isinstance(value, float) and isinstance(other, float | int):
        return value == other or abs(value - other) <= SAME * abs(other)
    return type(value) is type(other) and bool(value == other)
