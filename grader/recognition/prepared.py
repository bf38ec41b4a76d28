"""The shipped data on known mistakes: one file per exercise, in `FOLDER`.

    content = prepared.content("attention")      # of known_mistakes/attention.hints; None: too old

Making a file takes up to a minute, so `grader hints` makes it in advance, and a student's edition
has a copy. Its first line holds a digest of all its sources, one of the sources of its marks, and a
checksum. A file made from other answers, checks or mistakes than the present ones is ignored, and
so is a damaged one; if only texts have changed, the marks are still used.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import tomllib
import zlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from grader.curriculum import stubs
from grader.curriculum.exercises import closure
from grader.curriculum.project import SOLUTIONS
from grader.recognition import cache
from grader.remote import wire

FOLDER = Path(__file__).parent / "known_mistakes"
# Raise the first when the contents of a file change, the second when the same sources lead to other
# marks: files of other versions are ignored.
VERSION, MARKS_VERSION = 3, 2
_CHECKS = Path(__file__).parents[1] / "checks"
# The keys of a mistake's texts and of the code they apply to, which don't affect how it is made.
_SAID = {"tells", "asks", "nearly", "read", "seen", "where", "unless", "unused"}
_TEXTS = (ast.Module, ast.ClassDef, ast.FunctionDef)


def file(exercise: str) -> Path:
    """Return the file of an exercise, whether it is there or not."""
    return FOLDER / f"{exercise}.hints"


def content(exercise: str) -> bytes | None:
    """Return the content of the file of an exercise; None if there is none that can be used."""
    kept = sound(file(exercise))
    is_edition = not _CHECKS.is_dir()  # which has no sources to compare with
    return kept if kept is not None and (is_edition or _keys(kept)[0] == key(exercise)) else None


def with_marks(exercise: str) -> bytes | None:
    """Return the content of the file if its marks can be used, even if texts have changed."""
    kept = sound(file(exercise))
    return kept if kept is not None and _keys(kept)[1] == marks_key(exercise) else None


def sound(file: Path) -> bytes | None:
    """Return the content of a file, whatever it was made of; None if it is not there or damaged."""
    try:
        content = file.read_bytes()
        _frame(content)
    except (OSError, ValueError):
        return None
    return content


def packed(exercise: str, data: Any) -> bytes:
    """Return the content of a file with this data."""
    frame = wire.encode(data)
    keys = f"{key(exercise)} {marks_key(exercise)}"
    return f"{keys} {zlib.crc32(frame):08x}\n".encode() + frame


def unpacked(content: bytes) -> Any:
    """Return the inverse of `packed`. Raises `ValueError` or `WireError` for what is damaged."""
    return wire.decode_trusted(wire.body(_frame(content)))


def _keys(content: bytes) -> list[str]:
    """Return what all of the content was made of, and its marks."""
    return content.partition(b"\n")[0].decode(errors="replace").split(" ")[:2]


def _frame(content: bytes) -> bytes:
    line, _, frame = content.partition(b"\n")
    _, _, checksum = line.split(b" ")
    if int(checksum, 16) != zlib.crc32(frame):
        raise ValueError("the checksum differs")
    return frame


@functools.cache
def key(exercise: str) -> str:
    """Return a digest of all that an exercise's data is made from, except the code that makes it.

    That code is the same for every exercise, and a test compares what it makes. Comments,
    docstrings and line endings don't count.
    """
    known, *_ = cache.mistake_files(exercise)
    words = known.read_text(encoding="utf-8")
    return _digest(str(VERSION), marks_key(exercise), stubs.further_reading(exercise), words)


@functools.cache
def marks_key(exercise: str) -> str:
    """Return a digest of what decides the replies of answers and mistakes, texts left out."""
    answers = [SOLUTIONS / f"{name}.py" for name in (exercise, *closure(exercise))]
    known, *forms = cache.mistake_files(exercise)
    return _digest(
        str(MARKS_VERSION),
        version("torch").partition("+")[0],
        *(_code(path) for path in (*answers, *_checks(exercise))),
        _edits(known),
        *(path.read_text(encoding="utf-8") for path in forms),
    )


def _digest(*parts: str) -> str:
    digests = (hashlib.sha256(part.encode()).digest() for part in parts)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]


def _edits(known: Path) -> str:
    """Return how each mistake in a file is made, without what is said of it."""
    rows = tomllib.loads(known.read_text(encoding="utf-8"))["mistake"]
    made = [{key: value for key, value in row.items() if key not in _SAID} for row in rows]
    return json.dumps(made, sort_keys=True)


def _checks(exercise: str) -> list[Path]:
    """Return the modules of an exercise's checks, without the framework, which is that of all."""
    waiting, modules = [exercise], dict[str, Path]()
    while waiting:
        name = waiting.pop()
        path = _CHECKS / f"{name}.py"
        if name not in modules and path.is_file():
            modules[name] = path
            waiting += _imported(path)
    return list(modules.values())


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "grader.checks":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader.checks."):
            yield (node.module or "").split(".")[2]


def _code(path: Path) -> str:
    """Return the lines of a module without docstrings, comment lines and empty lines.

    Unlike a syntax tree, they are the same in every version of Python.
    """
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _TEXTS) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            _blank(lines, text.lineno, text.end_lineno or text.lineno)
    kept = (line.rstrip() for line in lines)
    return "\n".join(line for line in kept if line and not line.lstrip().startswith("#"))


def _blank(lines: list[str], first: int, last: int) -> None:
    lines[first - 1 : last] = [""] * (last - first + 1)


def stale(exercises: Sequence[str]) -> list[str]:
    """Return those of the exercises whose file cannot be used as it is."""
    return [name for name in exercises if content(name) is None]
