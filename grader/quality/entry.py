"""Start a library entry from a wrong answer: the edit that turns the solution into it.

What is left to write is what only a person can: what the mistake is called, what it tells, what it
asks.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from grader.curriculum.exercises import CurriculumError
from grader.recognition.likeness import parsed


class EntryError(CurriculumError):
    """No entry can be begun from this answer. The message says why."""


@dataclass(frozen=True)
class _Function:
    """A function's statements after its docstring, and their lines."""

    statements: list[ast.stmt]
    lines: list[str]

    def text(self, start: int, stop: int) -> str:
        """Return the source lines of these statements."""
        first, last = self.statements[start], self.statements[stop - 1]
        *whole, end = self.lines[first.lineno - 1 : last.end_lineno]
        # Columns count bytes. Another statement may follow on the line.
        return "\n".join([*whole, end.encode()[: last.end_col_offset].decode()])


def begin(exercise: str, answer: str, wrong: str) -> str:
    """Return a new entry, in TOML, whose edits turn `answer` into what `wrong` does.

    Raises `EntryError` where `wrong` is not Python, or differs in nothing that a function does.
    """
    if not parsed(wrong).body:
        raise EntryError("This answer is not valid Python.")
    right, changed = _functions(answer), _functions(wrong)
    edits = list(_edits(answer, right, changed))
    if not edits:
        raise EntryError(
            f"This {exercise} has no function that does something else than the answer's. If it "
            "lacks one, nothing needs an entry; if a helper differs, move it into the function."
        )
    lines = ["[[mistake]]", 'name = ""  # a few words, with hyphens']
    if len(edits) == 1:
        lines += [f"find = {_quoted(edits[0][0])}", f"replace = {_quoted(edits[0][1])}"]
    else:
        lines.append("edits = [")
        lines += [f"    [{_quoted(find)}, {_quoted(replace)}]," for find, replace in edits]
        lines.append("]")
    lines += [
        'tells = ""  # the mistake: fact, place, consequence',
        'asks = ""  # the first hint: a question that does not presuppose the mistake',
        'nearly = ""  # the last hint: nearly the answer, in words',
        'seen = ""  # where people really made it',
    ]
    return "\n".join(lines) + "\n"


def helpers(answer: str, wrong: str) -> list[str]:
    """Return the names that only the wrong answer defines, which an entry's edit would lack."""
    return sorted(_defined(wrong) - _defined(answer))


def _edits(
    answer: str, functions: dict[str, _Function], changed: dict[str, _Function]
) -> Iterator[tuple[str, str]]:
    for name, function in functions.items():
        if name not in changed:
            continue
        other = changed[name]
        left, right = _shapes(function.statements), _shapes(other.statements)
        if left == right or not left or not right:
            continue
        before = _common(left, right)
        after = _common(left[before:][::-1], right[before:][::-1])
        if before + after in (len(left), len(right)):  # one of the sides would be empty
            before, after = (before - 1, after) if before else (before, after - 1)
        find = function.text(before, len(left) - after)
        if answer.count(find) != 1:
            before, after = 0, 0
            find = function.text(0, len(left))
        indent = find[: len(find) - len(find.lstrip())]
        replace = other.text(before, len(right) - after)
        yield find, textwrap.indent(textwrap.dedent(replace), indent)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _shapes(statements: Sequence[ast.stmt]) -> list[str]:
    return [ast.dump(statement) for statement in statements]


def _functions(source: str) -> dict[str, _Function]:
    """Return the functions and methods of a module by name, prefixed with their class."""
    lines = source.split("\n")
    functions = {}
    for node in parsed(source).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for definition in inside:
            if isinstance(definition, ast.FunctionDef):
                skipped = 0 if ast.get_docstring(definition) is None else 1
                functions[owner + definition.name] = _Function(definition.body[skipped:], lines)
    return functions


def _defined(source: str) -> set[str]:
    return {
        node.name
        for node in parsed(source).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }


def _quoted(text: str) -> str:
    """Return a text as TOML: literally if possible, else with escapes."""
    if "'''" in text or text.endswith("'") or "\r" in text:
        return json.dumps(text, ensure_ascii=False)
    if "\n" in text:
        return f"'''\n{text}'''"
    return json.dumps(text, ensure_ascii=False) if "'" in text else f"'{text}'"
