"""Places in a student's source that an instructor may want to check. They cost no points.

Honest answers have no use for the collector's objects, for what functions are made of, for frames
or for torch's private names; most ways around the rules begin there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

MOST = 8
_MODULES = {"ctypes", "gc"}
_PARTS = {
    "__builtins__",
    "__closure__",
    "__code__",
    "__globals__",
    "__subclasses__",
    "_current_frames",
    "_getframe",
    "currentframe",
    "f_back",
    "f_globals",
    "f_locals",
    "gi_frame",
    "tb_frame",
}
# Only a source that has one of these is parsed. Honest ones seldom have; to look for words takes
# microseconds, where an expression of all of them takes a millisecond a file.
_WORDS = (*sorted(_MODULES), *sorted(_PARTS))
_ATTRIBUTE = re.compile(r"\._[A-Za-z]")
_PRIVATE = re.compile(r"\b_[A-Za-z]")


def remarks(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the remarks on each file that there are any on, by the file's exercise."""
    by_file = {name: _on(name, source) for name, source in sources.items() if _hints(source)}
    return {name: texts for name, texts in by_file.items() if texts}


def _hints(source: str) -> bool:
    return (
        any(word in source for word in _WORDS)
        or any(
            not source.endswith("self", 0, match.start()) for match in _ATTRIBUTE.finditer(source)
        )
        or any(map(_imports_private, source.split("\n")))
    )


def _imports_private(line: str) -> bool:
    start = line.find("import ")
    return start >= 0 and _PRIVATE.search(line, start) is not None


def _on(name: str, source: str) -> list[str]:
    try:
        tree = ast.parse(source)
        torchs = _torchs(tree)
        accesses = sorted({each for node in ast.walk(tree) for each in _at(node, torchs)})
    except (SyntaxError, ValueError):
        return []
    except (RecursionError, MemoryError):  # or that would be the way to hide from it
        return [f"{name}.py is nested too deep to be looked through"]
    return [f"{name}.py, line {line}: looks at {accessed}" for line, accessed in accesses[:MOST]]


def _torchs(tree: ast.Module) -> set[str]:
    """Return the names under which the file has torch's modules."""
    names = {"torch"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if f"{prefix}{alias.name}".startswith("torch."):
                    names.add(alias.asname or alias.name.partition(".")[0])
                elif alias.name == "torch":
                    names.add(alias.asname or "torch")
    return names


def _at(node: ast.AST, torchs: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of a suspicious object that this node accesses."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            path = f"{prefix}{alias.name}"
            parts = path.split(".")
            private = parts[0] == "torch" and any(map(_private, parts))
            if parts[0] in _MODULES or _PARTS & set(parts) or private:
                yield node.lineno, path
    elif isinstance(node, ast.Attribute):
        path = ast.unparse(node) if isinstance(node.value, (ast.Name, ast.Attribute)) else ""
        root = path.partition(".")[0]
        if node.attr in _PARTS:
            yield node.lineno, node.attr
        elif root in torchs and _private(node.attr) and ".init." not in path:
            yield node.lineno, path[:80]
    elif isinstance(node, ast.Name) and node.id in _PARTS:
        yield node.lineno, node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _PARTS:
        yield node.lineno, node.value


def _private(name: str) -> bool:
    """Return whether a name is private. (Optimisers may use torch's `torch._foreach_…`.)"""
    return name.startswith("_") and not name.startswith(("__", "_foreach_"))
