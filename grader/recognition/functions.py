"""The functions of a student's file, and how they call each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from grader.recognition.likeness import walk

_CONTEXT = ast.Constant(None)  # what autograd passes to the `forward` of a function of its own


@dataclass(frozen=True)
class Function:
    """A function of the student's, and the class that it is a method of."""

    node: ast.FunctionDef
    owner: ast.ClassDef | None = None

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters, without `self`."""
        names = [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]
        return names[self.owner is not None and not is_static(self.node) :] + self.keywords

    @property
    def keywords(self) -> list[str]:
        """The names of parameters that are only given by name."""
        return [argument.arg for argument in self.node.args.kwonlyargs]


@dataclass(frozen=True)
class Call:
    """A call of one function by another: in which statement, and with which arguments."""

    caller: Function
    statement: ast.stmt
    arguments: Sequence[ast.expr]
    keywords: Mapping[str, ast.expr]

    def passed(self, name: str, called: Function) -> ast.expr | None:
        """Return what is passed for a parameter; None if it keeps its default."""
        position = called.parameters.index(name)
        if position < len(self.arguments) and name not in called.keywords:
            return self.arguments[position]
        return self.keywords.get(name)


class Functions:
    """All functions and methods of a file, in order."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.all = list(_functions(tree))

    def at(self, line: int) -> tuple[Function, ast.stmt] | None:
        """Return the innermost function that holds a line, and the smallest statement there."""
        around = [
            function
            for function in self.all
            if function.node.lineno <= line <= (function.node.end_lineno or 0)
        ]
        if not around:
            return None
        function = max(around, key=lambda function: function.node.lineno)
        holding = [
            node
            for node in (function.node, *statements(function.node))
            if node.lineno <= line <= (node.end_lineno or 0)
        ]
        inside = min(reversed(holding), key=lambda node: (node.end_lineno or 0) - node.lineno)
        return (function, inside) if inside is not function.node else None

    def calls(self, called: Function, is_entry: bool) -> list[Call] | None:
        """Return the file's own calls of a function; None if it may be called in other ways too.

        It may if it is passed on like a value, if a call unpacks its arguments, or if it is a
        method of a class that the file makes objects of. `is_entry` says whether the exercise calls
        it: a `forward` that the exercise does not call may be autograd's, called by `apply`.
        """
        name, owner = called.node.name, called.owner
        if owner is not None and self._may_call(owner.name, name):
            return None
        own = f"{owner.name}." if owner is not None else ""
        of_autograd = owner is not None and name == "forward" and not is_entry
        by_apply = f"{own}apply" if of_autograd else None
        calls = []
        for caller, statement, node in self._calls:
            way = ast.unparse(node.func)
            if way not in (name, f"self.{name}", f"{own}{name}", by_apply):
                continue
            starred = any(isinstance(argument, ast.Starred) for argument in node.args)
            keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            if starred or len(keywords) < len(node.keywords):
                return None
            arguments = [_CONTEXT, *node.args] if way == by_apply else node.args
            if of_autograd and called.parameters[:1] != ["ctx"]:
                arguments = arguments[1:]
            calls.append(Call(caller, statement, arguments, keywords))
        return calls if of_autograd or len(calls) == self._mentions(name) else None

    @cached_property
    def _calls(self) -> list[tuple[Function, ast.stmt, ast.Call]]:
        return [
            (caller, statement, node)
            for caller in self.all
            for statement in statements(caller.node)
            for node in own_nodes(statement)
            if isinstance(node, ast.Call)
        ]

    def _mentions(self, name: str) -> int:
        """Return how often the file reads a name or an attribute, but for those of `super()`."""
        return sum(
            isinstance(node.ctx, ast.Load)
            and (node.id if isinstance(node, ast.Name) else node.attr) == name
            and not ast.unparse(node).startswith("super(")
            for node in walk(self.tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )

    def _may_call(self, owner: str, method: str) -> bool:
        """Return whether the file makes objects of a class, whose method it may then call.

        The name of the class stands for that, other than in `super(…)`, and, for any method but
        `__init__`, in `isinstance(…)` and in front of a dot.
        """
        nodes = walk(self.tree)
        named = [node for node in nodes if is_name(node, owner)]
        if method == "__init__":
            return len(named) > sum(
                isinstance(node, ast.Call) and is_name(node.func, "super") and bool(node.args)
                for node in nodes
            )
        harmless = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)} | {
            id(argument)
            for node in nodes
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("super", "isinstance")
            for argument in node.args
        }
        return any(id(node) not in harmless for node in named)


def _functions(tree: ast.Module) -> Iterator[Function]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield Function(node)
        elif isinstance(node, ast.ClassDef):
            yield from (
                Function(part, node) for part in node.body if isinstance(part, ast.FunctionDef)
            )


def statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield all statements inside a function."""
    yield from (
        node for node in walk(function) if isinstance(node, ast.stmt) and node is not function
    )


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, the outer ones first, but for the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting += [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]


def is_name(node: ast.AST, name: str) -> bool:
    """Return whether a node is this name."""
    return isinstance(node, ast.Name) and node.id == name


def is_static(method: ast.FunctionDef) -> bool:
    """Return whether a method takes no `self`."""
    return any(ast.unparse(decorator) == "staticmethod" for decorator in method.decorator_list)


def defaults(function: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr]]:
    """Return the arguments that have a default, each with it."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    return [
        *zip(positional[first:], arguments.defaults, strict=True),
        *(
            (argument, default)
            for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        ),
    ]
