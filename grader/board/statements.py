"""The statement of which a line of code is a part."""

from __future__ import annotations

import ast
import re

from grader.recognition.likeness import parsed

_SIMPLE = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.Raise, ast.Assert,
)  # fmt: skip
_LONGEST = 300


def at_line(code: str | ast.AST, number: int) -> ast.stmt | None:
    """Return the simple statement that holds the line of this number; None if there is none."""
    for node in ast.walk(parsed(code) if isinstance(code, str) else code):
        if isinstance(node, _SIMPLE) and node.lineno <= number <= (node.end_lineno or 0):
            return node
    return None


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
