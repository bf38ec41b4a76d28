"""Lines that Python reads otherwise than they look.

    rows = [[0] * 3] * 2                   # one row, twice
    if kind == "relu" or "gelu":           # always true
    if not self.train:                     # a method, which is always true
    state = self.state.get(p, {})          # a new dictionary, which nothing keeps

Right code has none of these, as a rule.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.recognition.likeness import parsed

_REPEATED = (
    "`{}` holds one {} several times, not several: a change of one is a change of all. A "
    "comprehension makes a new one for each."
)
_ALWAYS_TRUE = "`{}` is always true: {} by itself counts as true, whatever stands before `or`."
_METHOD = "`{}` is a method, and nothing calls it here: as a condition it is always true."
_NOT_KEPT = (
    "If the key is missing, `{}` returns a new {}, which nothing keeps: what is stored in `{}` is "
    "lost."
)
_KINDS = {ast.List: "list", ast.ListComp: "list", ast.Dict: "dictionary", ast.Set: "set"}
# Methods without arguments whose results are conditions, or look like one.
_METHODS = {"all", "any", "eval", "train"}


def python_traps(source: str) -> list[tuple[str, int]]:
    """Return a sentence on each such line, and its number, in order."""
    tree = parsed(source)
    found = [*_conditions(tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found += [*_repeated(node), *_not_kept(node)]
    return sorted(set(found), key=lambda pair: (pair[1], pair[0]))


def _repeated(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the lists of one module several times, or of one list if one is changed in place."""
    changes = bool(_stored_in(function))
    for node in ast.walk(function):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
            continue
        for item in node.left.elts if isinstance(node.left, ast.List) else ():
            inner = item.left if isinstance(item, ast.BinOp) else item
            kind = _KINDS.get(type(inner), "")
            if kind and changes:
                yield _REPEATED.format(ast.unparse(node), kind), node.lineno
            elif isinstance(inner, ast.Call):
                name = ast.unparse(inner.func)
                if name.rpartition(".")[2][:1].isupper():
                    yield _REPEATED.format(ast.unparse(node), f"`{name}`"), node.lineno


def _conditions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the conditions that a constant or a method without a call makes true."""
    waiting = [
        node.test for node in ast.walk(tree) if isinstance(node, ast.If | ast.IfExp | ast.While)
    ]
    while waiting:
        test = waiting.pop()
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            waiting.append(test.operand)
        elif isinstance(test, ast.BoolOp):
            waiting += test.values
            true = [part for part in test.values if isinstance(part, ast.Constant) and part.value]
            if isinstance(test.op, ast.Or) and true:
                sentence = _ALWAYS_TRUE.format(ast.unparse(test), ast.unparse(true[0]))
                yield sentence, test.lineno
        elif isinstance(test, ast.Attribute) and test.attr in _METHODS:
            yield _METHOD.format(ast.unparse(test)), test.lineno


def _not_kept(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the defaults of `get` that are filled and put nowhere."""
    stored = _stored_in(function)
    kept = {
        name.id
        for node in ast.walk(function)
        if isinstance(node, ast.Return)
        or (isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name))
        for name in [node.value]
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(function):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        name, call = node.targets[0].id, node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            is_get = call.func.attr == "get" and len(call.args) == 2
            kind = _KINDS.get(type(call.args[1]), "") if is_get else ""
            if kind and name in stored - kept:
                yield _NOT_KEPT.format(ast.unparse(call), kind, name), node.lineno


def _stored_in(function: ast.FunctionDef) -> set[str]:
    """Return the variables in which a subscript stores something: `rows` of `rows[0][1] = 2`."""
    stored = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            inner: ast.expr = node
            while isinstance(inner, ast.Subscript):
                inner = inner.value
            if isinstance(inner, ast.Name):
                stored.add(inner.id)
    return stored
