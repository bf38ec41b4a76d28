"""The statement of a line, the one that makes a result, and whether it ran in a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence

from grader.recognition.likeness import parsed

_SIMPLE = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.Raise, ast.Assert,
)  # fmt: skip
_LONGEST = 300
_COMPUTING = (ast.operator, ast.unaryop, ast.cmpop, ast.Subscript)
# Calls that compute nothing.
_HANDING_OVER = {"dict", "item", "len", "list", "tensor", "tolist", "tuple"}


def at_line(code: str | ast.AST, number: int) -> ast.stmt | None:
    """Return the simple statement that holds the line of this number; None if there is none."""
    for node in ast.walk(parsed(code) if isinstance(code, str) else code):
        if isinstance(node, _SIMPLE) and node.lineno <= number <= (node.end_lineno or 0):
            return node
    return None


def passes_on(code: str, number: int) -> bool:
    """Return whether a line only hands over what other lines have computed.

    It is a `return` that computes nothing, or a list that becomes a tensor.
    """
    statement = at_line(code, number)
    if not isinstance(statement, ast.Return | ast.Assign) or statement.value is None:
        return False
    nodes = list(ast.walk(statement.value))
    called = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
    names = {name.rpartition(".")[2] for name in called}
    return (
        (isinstance(statement, ast.Return) or "tensor" in names)
        and names <= _HANDING_OVER
        and not any(isinstance(node, _COMPUTING) for node in nodes)
    )


def read_at(code: str, number: int) -> ast.AST | None:
    """Return what Python reads on a line: a simple statement, or the condition of an `if`."""
    nodes = [node for node in ast.walk(parsed(code)) if isinstance(node, ast.If | ast.While)]
    tests = [node.test for node in nodes]
    here = [test for test in tests if test.lineno <= number <= (test.end_lineno or 0)]
    return here[0] if here else at_line(code, number)


def shown(lines: list[str], number: int) -> str:
    """Return a line of the source; where a statement of several lines begins, all of it."""
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    if not line.endswith(("(", "[", "{")):
        return line
    statement = at_line("".join(lines), number)
    if statement is None or statement.lineno != number:
        return line
    parts = [part.strip() for part in lines[number - 1 : statement.end_lineno]]
    whole = " ".join(parts)
    whole = re.sub(r",? ([)\]}])", r"\1", re.sub(r"([(\[{]) ", r"\1", whole))
    return line if "#" in whole or len(whole) > _LONGEST else whole


def made(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    returned: ast.Return,
    part: str,
    ran: Collection[int] = (),
) -> int:
    """Return the line that makes what is returned, or the `return` itself where that is not sure.

    If that is a dictionary, it is the line that makes the `part` with this key. `ran` are the lines
    that ran, if they are known.
    """
    value, before = returned.value, function.body
    if isinstance(value, ast.Dict) and part:
        keys = [key.value if isinstance(key, ast.Constant) else None for key in value.keys]
        value = value.values[keys.index(part)] if keys.count(part) == 1 else None
        if value is not None and not isinstance(value, ast.Name):
            return value.lineno
    elif isinstance(value, ast.Name) and part:
        entries = [
            node.lineno
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Subscript)
            and isinstance(target.slice, ast.Constant)
            and target.slice.value == part
            and _owner(target) == value.id
        ]
        entries = [line for line in entries if not ran or line in ran]
        return entries[0] if len(entries) == 1 else returned.lineno
    if not isinstance(value, ast.Name) or returned not in before:
        return returned.lineno
    return _last_change(before[: before.index(returned)], value.id, ran) or returned.lineno


def fills(owner: ast.ClassDef, attribute: str, assigned: int) -> int:
    """Return the last line that fills an attribute in place, or the variable that it is made of.

    `assigned` is the line that assigns it. The result is 0 where nothing fills it.
    """
    lines = [
        node.lineno
        for node in ast.walk(owner)
        if isinstance(node, ast.Expr) and _is_in_place(node.value)
        if any(ast.unparse(part) == attribute for part in ast.walk(node))
    ]
    if lines:
        return max(lines)
    for function in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            for block in (getattr(node, "body", []), getattr(node, "orelse", [])):
                for position, statement in enumerate(block if isinstance(block, list) else ()):
                    made_of = _single_name(statement) if statement.lineno == assigned else ""
                    if made_of:
                        return _last_change(block[:position], made_of)
    return 0


def did_not_run(source: str, number: int, ran: Collection[int]) -> bool:
    """Return whether the statement of a line, in a function, is not among those that `ran`.

    The line of a `def` and those of a class only run once, when the file is imported. Where no line
    of an `__init__` ran, the object was made before the test.
    """
    around = [
        node
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.FunctionDef)
        and node.body[0].lineno <= number <= (node.end_lineno or 0)
    ]
    if not around:
        return False
    function = around[-1]
    body = range(function.body[0].lineno, (function.end_lineno or 0) + 1)
    if function.name == "__init__" and not any(line in ran for line in body):
        return False
    inside = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node is not function and number in _range(node)
    ]
    innermost = min(inside, key=lambda node: len(_range(node)), default=None)
    return innermost is not None and not any(line in ran for line in _without_blocks(innermost))


def _range(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _without_blocks(node: ast.stmt) -> range:
    """Return the lines of a statement up to the block in it, if there is one."""
    if isinstance(node, ast.Match):
        return range(node.lineno, node.lineno + 1)
    body = getattr(node, "body", None)
    return range(node.lineno, max(body[0].lineno, node.lineno + 1)) if body else _range(node)


def _is_in_place(node: ast.expr) -> bool:
    """Return whether it is a call of a function whose name says that it works in place."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("_")


def _single_name(statement: ast.stmt) -> str:
    """Return the variable that an assignment only wraps, as in `self.a = nn.Parameter(a)`."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]
    return value.id if isinstance(value, ast.Name) else ""


def _last_change(block: Sequence[ast.stmt], name: str, ran: Collection[int] = ()) -> int:
    """Return the line of the last statement that changes a variable; 0 where it is not sure."""
    for statement in reversed(block):
        if not _changes(statement, name) or (ran and not _ran(statement, ran)):
            continue
        if isinstance(statement, ast.If) and not statement.orelse and not ran:
            return 0
        if isinstance(statement, ast.For | ast.While | ast.With | ast.If):
            blocks = [statement.body, getattr(statement, "orelse", [])]
            run = [one for one in blocks if one and (not ran or any(_ran(s, ran) for s in one))]
            return _last_change(run[0], name, ran) if len(run) == 1 else 0
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            return 0
        is_simple = isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr)
        return statement.lineno if is_simple else 0
    return 0


def _ran(statement: ast.stmt, ran: Collection[int]) -> bool:
    return any(line in ran for line in _range(statement))


def _changes(node: ast.AST, name: str) -> bool:
    """Return whether a statement, or one inside it, assigns to a variable or a part of it.

    A call of one of its methods whose result nothing reads changes it, too.
    """
    for part in ast.walk(node):
        targets: Sequence[ast.expr] = ()
        if isinstance(part, ast.Assign):
            targets = part.targets
        elif isinstance(part, ast.AugAssign | ast.AnnAssign):
            targets = (part.target,)
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            called = part.value.func
            targets = (called,) if isinstance(called, ast.Attribute) else ()
            targets = () if getattr(called, "attr", "") == "backward" else targets
        if any(name == _owner(one) for target in targets for one in _single(target)):
            return True
    return False


def _single(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]


def _owner(node: ast.expr) -> str:
    """Return the variable of which a target is a part: `x` of `x`, `x[0]` and `x.data`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
