"""The small edits of whole statements: what they give, when they run, what is made in vain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from grader.remote.call_edits import atom
from grader.remote.source import Edit, Scope, Source, code

# What a piece of source holds that makes Trues and Falses.
_BOOLEAN = r"mask|[=!<>]=|[<>]|tril|triu|ones|bool|\.eq\(|\.ne\("


def value_edits(source: Source, scope: Scope, value: ast.expr) -> Iterator[Edit]:
    """What a statement gives, put through one call more."""
    text = source.segment(value)
    if isinstance(value, (ast.Tuple, ast.Constant)):
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
    if re.search(_BOOLEAN, text):
        yield source.replaced(value, "not", f"~{whole}", 2)
        yield source.replaced(value, "dtype", f"{whole}.bool()", 2)
    listed = [one.arg for one in scope.function.args.args if one.arg != "self"]
    for name in listed:
        if not re.search(r"mask|dropout", name):
            yield source.replaced(value, "missing term", f"{name} + {whole}", 3)
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


def guarded(source: Source, scope: Scope, statement: ast.stmt) -> Iterator[Edit]:
    """A statement that runs only where an argument was given that may be left out."""
    listed = scope.function.args
    defaults = [*listed.defaults, *listed.kw_defaults]
    named = [*listed.args[len(listed.args) - len(listed.defaults) :], *listed.kwonlyargs]
    for one, default in zip(named, defaults, strict=True):
        absent = isinstance(default, ast.Constant) and default.value is None
        used = any(isinstance(node, ast.Name) and node.id == one.arg for node in code(statement))
        if absent and used and not isinstance(statement, ast.Return):
            text = f"if {one.arg} is not None: {source.segment(statement)}"
            yield source.restated(statement, statement, "condition", text, text, 1)


def returned(source: Source, scope: Scope, value: ast.expr) -> Iterator[Edit]:
    """Less or more than what a function returns."""
    if isinstance(value, ast.Tuple):
        for one in value.elts:
            yield source.replaced(value, "returned", source.segment(one), 2)
    elif scope.function.name != "__init__":
        for name in scope.names:
            yield source.replaced(value, "returned", f"{source.segment(value)}, {name}", 3)


def made_module(source: Source, scope: Scope, function: ast.FunctionDef) -> Iterator[Edit]:
    """What is missing in `__init__`, and a function in a method that is called as a method."""
    text = source.segment(function)
    first = function.body[0]
    if function.name == "__init__" and "__init__" not in text.partition(":")[2]:
        called = f"super().__init__()\n{' ' * first.col_offset}{source.segment(first)}"
        yield source.restated(first, first, "missing call", called, "super().__init__()", 1)
    local = {one.name: one for one in function.body if isinstance(one, ast.FunctionDef)}
    for node in scope.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if ast.unparse(node.func) == f"self.{name}" and name in local:
                given = ", ".join(ast.unparse(one) for one in (*node.args, *node.keywords))
                whole = f"self, {given}" if local[name].args.args[:1] else given
                yield source.replaced(node, "name", f"{name}({whole})", 1)


def left_out(source: Source) -> Iterator[Edit]:
    """A module that a class makes and calls, left out altogether."""
    for made in (node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)):
        nodes = [*ast.walk(made)]
        for node in nodes:
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            target = ast.unparse(node.targets[0])
            uses = [
                one
                for one in nodes
                if isinstance(one, ast.Call) and ast.unparse(one.func) == target and one.args
            ]
            if not target.startswith("self.") or not uses:
                continue
            first, *others = (
                (*source.span(one), f"({source.segment(one.args[0])})") for one in uses
            )
            apart = all(one[1] <= two[0] for one, two in pairwise([first, *others]))
            if apart:
                rest = (*others, (*source.span(node), "pass"))
                line = uses[0].lineno
                yield Edit(line, "extra call", target, "", *first, 2, rest)
