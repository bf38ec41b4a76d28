"""Small edits of whole statements: what they return, when they run, what they compute in vain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from grader.edits.call_edits import atom
from grader.edits.source import Edit, Scope, Source, code

# Parts of sources that produce booleans.
BOOLEAN = r"mask|logical_|[=!<>]=|[<>]|tril|triu|ones|bool|\.eq\(|\.ne\("


def value_edits(source: Source, scope: Scope, value: ast.expr) -> Iterator[Edit]:
    """Yield what a statement gives, put through one call more."""
    text = source.segment(value)
    if isinstance(value, (ast.Tuple, ast.Constant)) or _in_place(value):
        return
    for own in scope.own:
        if scope.function.name != "__init__":
            rank = 1 if own in scope.idle_own else 4
            yield source.replaced(value, "missing call", f"self.{own}({text})", rank)
    for idle in scope.idle:
        yield source.replaced(value, "missing call", f"{idle}({text})", 2)
    whole = atom(source, value)
    if scope.function.name == "__init__":
        return
    for own in scope.idle_own:
        yield source.replaced(value, "missing term", f"{whole} + self.{own}", 1)
        yield source.replaced(value, "missing term", f"{whole} * self.{own}", 2)
    if re.search(BOOLEAN, text):
        yield source.replaced(value, "not", f"~{whole}", 2)
        yield source.replaced(value, "dtype", f"{whole}.bool()", 2)
    listed = [argument.arg for argument in scope.function.args.args if argument.arg != "self"]
    for name in listed:
        if not re.search(r"mask|dropout", name):
            yield source.replaced(value, "missing term", f"{name} + {whole}", 3)
    for name in listed[:1]:
        yield source.replaced(value, "missing term", f"{name} * {whole}", 4)
    for more, kind, rank in (
        (f"{whole}.transpose(-2, -1)", "transpose", 2),
        (f"{whole}.transpose(1, 2)", "transpose", 2),
        (f"{whole}.float()", "dtype", 4),
        (f"{whole}.unsqueeze(1)", "missing axis", 3),
        (f"{whole}.unsqueeze(0)", "missing axis", 3),
        (f"{whole}.unsqueeze(-1)", "missing axis", 4),
        (f"{whole} ** 0.5", "root", 3),
        (f"-{whole}", "sign", 4),
    ):
        yield source.replaced(value, kind, more, rank)


def _in_place(value: ast.expr) -> bool:
    """Return whether a value is the result of a method that modifies its tensor in place.

    A call around it may pass merely because it makes a new tensor, whatever it computes.
    """
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(called, ast.Attribute) and bool(re.fullmatch(r"[a-z]\w*_", called.attr))


def guarded(source: Source, scope: Scope, statement: ast.stmt) -> Iterator[Edit]:
    """Yield a statement that runs only where an argument was given that may be left out."""
    listed = scope.function.args
    defaults = [*listed.defaults, *listed.kw_defaults]
    named = [*listed.args[len(listed.args) - len(listed.defaults) :], *listed.kwonlyargs]
    if isinstance(statement, ast.Return):
        return
    names = {node.id for node in code(statement) if isinstance(node, ast.Name)}
    for argument, default in zip(named, defaults, strict=True):
        absent = isinstance(default, ast.Constant) and default.value is None
        if absent and argument.arg in names:
            text = f"if {argument.arg} is not None: {source.segment(statement)}"
            yield source.restated(statement, statement, "unguarded", text, text, 1)


def indented(source: Source, block: ast.For | ast.While | ast.If | ast.With) -> Iterator[Edit]:
    """Yield the last statement of a block after it, and the first of a loop before it."""
    first, last = block.body[0], block.body[-1]
    margin = " " * block.col_offset
    if first.lineno == block.lineno:
        return
    if not getattr(block, "orelse", None):
        text = f"pass\n{margin}{_moved(source, last, block)}"
        becomes = f"{source.segment(last)}  # after the block"
        rank = 1 if isinstance(last, ast.Return) else 2
        yield source.restated(last, last, "indentation", text, becomes, rank)
    if isinstance(block, (ast.For, ast.While)) and len(block.body) > 1:
        (start, _), (begin, end) = source.span(block), source.span(first)
        header = source.bytes[start:begin].decode()
        text = f"{_moved(source, first, block)}\n{margin}{header}pass"
        becomes = f"{source.segment(first)}  # before the loop"
        restated = source.restated(first, first, "indentation", text, becomes, 2)
        yield replace(restated, start=start, end=end)


def taken_in(source: Source, body: Sequence[ast.AST]) -> Iterator[Edit]:
    """Yield a statement after a loop, taken into it as its last."""
    statements = [statement for statement in body if isinstance(statement, ast.stmt)]
    for block, after in pairwise(statements):
        simple = isinstance(after, (ast.Assign, ast.AugAssign, ast.Expr))
        if not isinstance(block, (ast.For, ast.While)) or block.orelse or not simple:
            continue
        if block.body[0].lineno == block.lineno:
            continue
        (_, end), (_, stop) = source.span(block), source.span(after)
        text = f"\n{' ' * block.body[0].col_offset}{source.segment(after)}"
        becomes = f"{source.segment(after)}  # in the loop"
        restated = source.restated(after, after, "indentation", text, becomes, 2)
        yield replace(restated, start=end, end=stop)


def _moved(source: Source, statement: ast.stmt, block: ast.stmt) -> str:
    """Return the text of a statement, indented as the block that it is in."""
    deeper, less = "\n" + " " * statement.col_offset, "\n" + " " * block.col_offset
    return source.segment(statement).replace(deeper, less)


def returned(source: Source, scope: Scope, value: ast.expr) -> Iterator[Edit]:
    """Less or more than what a function returns."""
    if isinstance(value, ast.Tuple):
        for elt in value.elts:
            yield source.replaced(value, "returned", source.segment(elt), 2)
    elif scope.function.name != "__init__":
        for name in scope.names:
            yield source.replaced(value, "returned", f"{source.segment(value)}, {name}", 3)


def made_module(source: Source, scope: Scope, function: ast.FunctionDef) -> Iterator[Edit]:
    """Yield what is missing in `__init__`, and a nested function that is called as a method."""
    text = source.segment(function)
    first = function.body[0]
    if function.name == "__init__" and "__init__" not in text.partition(":")[2]:
        own, call = source.segment(first), "super().__init__()"
        called = f"{call}\n{' ' * first.col_offset}{own}"
        yield source.restated(first, first, "missing super", called, f"{call}; {own}", 1)
    local = {
        statement.name: statement
        for statement in function.body
        if isinstance(statement, ast.FunctionDef)
    }
    for node in scope.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if ast.unparse(node.func) == f"self.{name}" and name in local:
                given = ", ".join(
                    ast.unparse(argument) for argument in (*node.args, *node.keywords)
                )
                whole = f"self, {given}" if local[name].args.args[:1] else given
                yield source.replaced(node, "name", f"{name}({whole})", 1)


def left_out(source: Source) -> Iterator[Edit]:
    """Yield a module that a class makes and calls, left out altogether."""
    for made in (node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)):
        nodes = [*ast.walk(made)]
        for node in nodes:
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            target = ast.unparse(node.targets[0])
            uses = [
                node
                for node in nodes
                if isinstance(node, ast.Call) and ast.unparse(node.func) == target and node.args
            ]
            if not target.startswith("self.") or not uses:
                continue
            first, *others = (
                (*source.span(use), f"({source.segment(use.args[0])})") for use in uses
            )
            apart = all(one[1] <= two[0] for one, two in pairwise([first, *others]))
            if apart:
                rest = (*others, (*source.span(node), "pass"))
                line = uses[0].lineno
                yield Edit(line, "extra call", target, "", *first, 2, rest)
