"""Makes Python of a cell: IPython's magics, shell lines and questions become neutral code.

The number of lines stays the same, so that a message about line 5 means line 5 of the cell.
"""

from __future__ import annotations

import ast
import re

# Cell magics whose body is Python that defines names in the notebook.
_TRANSPARENT = {"time", "capture", "prun"}
_CELL_MAGIC = re.compile(r"%%(\w+)")
_LINE_MAGIC = re.compile(r"(\s*)%(\w+)[ \t]*(.*)")
_SHELL = re.compile(r"(\s*)!")
_QUESTION = re.compile(r"(\s*)(\?{1,2}[\w.*%]+|[\w.*%]+\?{1,2})\s*;?\s*$")
_ASSIGNED = re.compile(r"(\s*[\w.,\[\]'\" \t]+=\s*)([!%])(?!=)(.*)")
_BARE_COMMAND = re.compile(
    r"(\s*)(?:pip3?|conda|mamba|uv|ls|cd|cat|mkdir|rm|cp|mv)[ \t]+[\w./~\-\"'*]"
)
# What is longer was written to be slow to read.
_MAX_LINE = 5_000
_MAX_CELL = 200_000
_QUOTES = ('"""', "'''", '"', "'")


def neutral(source: str) -> str:
    """The cell as Python. What is Python already stays as it is."""
    if len(source) > _MAX_CELL or parsed(source) is not None:
        return source
    lines = source.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    magic = _CELL_MAGIC.match(lines[first]) if lines else None
    if magic is not None:
        if magic[1] not in _TRANSPARENT:
            return "\n".join(f"# {line}" for line in lines)
        lines[first] = f"# {lines[first]}"
    return "\n".join(_statements(lines))


def parsed(source: str) -> ast.Module | None:
    """The syntax tree, or None for what is no Python or too long."""
    if len(source) > _MAX_CELL:
        return None
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statements(lines: list[str]) -> list[str]:
    scanner = _Scanner()
    replaced: list[str] = []
    in_command = False
    for line in lines:
        if in_command:
            in_command = line.endswith("\\")
            replaced.append(f"# {line}")
            continue
        if scanner.at_start:
            python = _replaced(line)
            if python is not None:
                in_command = line.endswith("\\")
                line = python
        scanner.feed(line)
        replaced.append(line)
    return replaced


def _replaced(line: str) -> str | None:
    """Python in place of a line that begins a statement, or None where it is Python."""
    if len(line) > _MAX_LINE:
        return None
    magic = _LINE_MAGIC.match(line)
    if magic is not None:
        timed = magic[2] == "time" and magic[3] and not magic[3].startswith("-")
        return magic[1] + magic[3] if timed else f"{magic[1]}pass  # {line.strip()}"
    assigned = _ASSIGNED.match(line)
    if assigned is not None:
        value = "[]" if assigned[2] == "!" else "None"
        return f"{assigned[1]}{value}  # {assigned[2]}{assigned[3]}"
    for pattern in (_SHELL, _QUESTION, _BARE_COMMAND):
        found = pattern.match(line)
        if found is not None:
            return f"{found[1]}pass  # {line.strip()}"
    return None


class _Scanner:
    """Knows whether a line begins a statement or stands inside a string or brackets."""

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.continued = False

    @property
    def at_start(self) -> bool:
        return not self.quote and self.depth == 0 and not self.continued

    def feed(self, line: str) -> None:
        """Takes in one line, without its end."""
        self.continued = False
        i = 0
        while i < len(line):
            if self.quote:
                i = self._in_string(line, i)
                continue
            char = line[i]
            if char == "#":
                break
            if char in "\"'":
                self.quote = next(quote for quote in _QUOTES if line.startswith(quote, i))
                i += len(self.quote)
                continue
            if char in "([{":
                self.depth += 1
            elif char in ")]}":
                self.depth = max(0, self.depth - 1)
            elif char == "\\" and i == len(line) - 1:
                self.continued = True
            i += 1
        if len(self.quote) == 1 and not line.endswith("\\"):
            self.quote = ""

    def _in_string(self, line: str, i: int) -> int:
        if line[i] == "\\":
            return i + 2
        if line.startswith(self.quote, i):
            i += len(self.quote)
            self.quote = ""
            return i
        return i + 1
