"""Arguments that a source's functions never read, so that they can't have an effect.

unused(source)      # {"DecoderLayer.forward.memory_mask", "attention.mask"}

Storing an argument in an attribute that nothing reads doesn't count as reading it. Arguments that
only one branch leaves unread name it: "EncoderLayer.forward.mask with `norm_first=False`".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeGuard

from grader.recognition.likeness import is_text, parsed, walk

# Functions that read arguments without naming them.
READS_ALL = {"locals", "vars", "eval", "exec"}
# What may stand above a function and reads none of its arguments.
_HARMLESS = re.compile(
    r"\b(?:staticmethod|classmethod|no_grad|inference_mode|jaxtyped|compile|jit)\b"
)
# What the names of functions look like that sort, or that take a softmax.
_KINDS = {
    "sorting": re.compile("sort|unique|heap|smallest|bisect"),
    "softmax": re.compile(r"softm|softplus|sigmoid|entropy|categorical|exp\b|exp[_m2]"),
}


def unused(source: str) -> frozenset[str]:
    """Return the arguments that no line of their function reads, each after its function and class.

    Skip functions that only raise, or that read their arguments without naming them.
    """
    names: set[str] = set()
    try:
        tree = parsed(source)
        idle_in_modules = _idle_attributes(tree)
        if any(isinstance(node, ast.Attribute) and node.attr == "f_locals" for node in walk(tree)):
            return frozenset()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                names |= _unused(node, "", _flags(node))
            elif isinstance(node, ast.ClassDef):
                parts = [part for part in node.body if isinstance(part, ast.FunctionDef)]
                made_with = {
                    flag for part in parts if part.name == "__init__" for flag in _flags(part)
                }
                idle = idle_in_modules if _is_module(node) else frozenset[str]()
                for part in parts:
                    names |= _unused(part, f"{node.name}.", made_with | _flags(part), idle)
    except RecursionError:
        return frozenset()
    return frozenset(names)


def kept_only(source: str) -> dict[str, tuple[str, int]]:
    """Return, by function and argument, the attribute that keeps it, which no line reads.

    With the attribute comes the line that sets it.
    """
    tree = parsed(source)
    idle_in_modules = _idle_attributes(tree)
    kept: dict[str, tuple[str, int]] = {}
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            idle = idle_in_modules if _is_module(owner) else frozenset[str]()
            for function in owner.body:
                if isinstance(function, ast.FunctionDef):
                    kept |= {
                        f"{owner.name}.{function.name}.{name}": (attribute, line)
                        for name, attribute, line in _kept(function, idle)
                    }
    return kept


def _kept(function: ast.FunctionDef, idle: AbstractSet[str]) -> Iterator[tuple[str, str, int]]:
    """Yield each argument that only an unread attribute keeps, that attribute, and the line."""
    for statement in reversed(function.body):
        if _only_keeps(statement, idle):
            attribute = ast.unparse(statement.targets[0])
            yield ast.unparse(statement.value), attribute, statement.lineno


def left_out(source: str) -> frozenset[str]:
    """Return the arguments that nothing reads, and what nothing does: "sorting", "softmax"."""
    nodes = walk(parsed(source))
    called = {node.id for node in nodes if isinstance(node, ast.Name)}
    called |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names = " ".join(called).lower()
    return unused(source) | {kind for kind, pattern in _KINDS.items() if not pattern.search(names)}


def _is_module(owner: ast.ClassDef) -> bool:
    """Return whether nothing that a class inherits from can read its attributes."""
    return all(ast.unparse(base).rpartition(".")[2] in ("Module", "object") for base in owner.bases)


def _idle_attributes(tree: ast.Module) -> AbstractSet[str]:
    """Return the attributes that no line of the file reads."""
    attributes = [node for node in walk(tree) if isinstance(node, ast.Attribute)]
    read = {node.attr for node in attributes if not isinstance(node.ctx, ast.Store)}
    if "__dict__" in read or _names(tree) & {"getattr", "attrgetter", *READS_ALL}:
        return set()
    methods = {node.name for node in walk(tree) if isinstance(node, ast.FunctionDef)}
    return {node.attr for node in attributes} - read - methods


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in walk(tree) if isinstance(node, ast.Name)}


def _unused(
    function: ast.FunctionDef, owner: str, flags: set[str], idle: AbstractSet[str] = frozenset()
) -> set[str]:
    listed = function.args
    names = {argument.arg for argument in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)}
    body = [
        statement
        for statement in function.body
        if not is_text(statement) and not _only_keeps(statement, idle)
    ]
    if all(isinstance(statement, (ast.Raise, ast.Pass)) for statement in body):
        return set()
    read = _read(body)
    above = map(ast.unparse, function.decorator_list)
    if read & READS_ALL or not all(map(_HARMLESS.search, above)):
        return set()
    whole = f"{owner}{function.name}"
    names_found = {f"{whole}.{name}" for name in names - read - {"self", "cls"}}
    for branch, part in _branches(body, flags):
        names_found |= {
            f"{whole}.{name} {branch}" for name in (names & read) - _read(part) - {"self"}
        }
    return names_found


def _only_keeps(statement: ast.stmt, idle: AbstractSet[str]) -> TypeGuard[ast.Assign]:
    """Return whether it does no more than to keep a name in an attribute that nothing reads."""
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Name)
        and all(
            isinstance(node, ast.Attribute)
            and ast.unparse(node.value) == "self"
            and node.attr in idle
            for node in statement.targets
        )
    )


def _read(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that these statements read."""
    parts = [node for statement in body for node in walk(statement)]
    return {
        node.id
        for node in parts
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Load, ast.Del))
    }


def _flags(function: ast.FunctionDef) -> set[str]:
    """Return the arguments of a function that are True or False by default."""
    listed = function.args.args
    defaults = zip(reversed(listed), reversed(function.args.defaults), strict=False)
    return {
        argument.arg
        for argument, default in defaults
        if isinstance(default, ast.Constant) and isinstance(default.value, bool)
    }


def _branches(
    body: Sequence[ast.stmt], flags: set[str]
) -> Iterator[tuple[str, Sequence[ast.stmt]]]:
    """Yield the two ways through a body whose first `if` asks for a flag, each with it in words."""
    for index, statement in enumerate(body):
        if not isinstance(statement, ast.If):
            continue
        name, value = _asked_flag(statement)
        if name not in flags:
            continue
        before, after = [*body[:index], ast.Expr(statement.test)], body[index + 1 :]
        for block, state in ((statement.body, value), (statement.orelse, not value)):
            leaves = bool(block) and isinstance(block[-1], (ast.Return, ast.Raise))
            yield f"with `{name}={state}`", [*before, *block, *(() if leaves else after)]
        return


def _asked_flag(statement: ast.If) -> tuple[str, bool]:
    """Return the name that an `if` tests, "" if it tests more, and the value that it tests for."""
    test, value = statement.test, True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, value = test.operand, False
    return test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", ""), value


def lines_elsewhere(source: str, configurations: Collection[str]) -> frozenset[int]:
    """Return the lines that do not run in a configuration, such as "with `norm_first=False`".

    They are those in the other block of an `if` that tests for it.
    """
    lines: set[int] = set()
    for node in walk(parsed(source)):
        if isinstance(node, ast.If):
            name, value = _asked_flag(node)
            for block, state in ((node.body, not value), (node.orelse, value)):
                if block and f"with `{name}={state}`" in configurations:
                    lines.update(range(block[0].lineno, (block[-1].end_lineno or 0) + 1))
    return frozenset(lines)
