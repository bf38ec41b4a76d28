"""A student's files, read without trust: which are exercises', and what else looks like work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from grader import curriculum
from grader.submission import archive, names, plain_file

MAX_BYTES = 1 << 20
MAX_LOOSE = 200  # files whose content is examined for misplaced work

AS_TEXT = ".py.txt"  # as editors on Windows save a file where its ending is not shown
DOCUMENTS = {".pdf", ".doc", ".docx", ".odt", ".rtf", ".pages"}
OTHER_ARCHIVE = "an archive of a kind that is not read; unpack it, or make it a zip"
# PEP 263, "Defining Python Source Code Encodings". No codec of a student's choice is ever used:
# some take any amount of time. What is UTF-8 reads the same under those that are named here, or is
# what its author did not mean.
_DECLARATION = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_READ_ALIKE = re.compile(r"utf-?8(-sig)?|(us-)?ascii|latin-?1|iso-?8859-\d+|(cp|windows-)125\d")
_LINKED_FOLDER = "the folder is a link; submit the files themselves"


def shown(name: str) -> str:
    """Return a student's name in a form that can be printed and stored, injectively.

    Unprintable characters, bytes that are not UTF-8 and backslashes become escapes.
    """
    return "".join(_escaped(character) for character in name)


def _escaped(character: str) -> str:
    if character.isprintable() and character != "\\":
        return character
    return character.encode("unicode_escape").decode("ascii")


def listed(names: Iterable[str]) -> str:
    """Return the first few of some names."""
    listed = [shown(name) for name in names]
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    return ", ".join(listed[:4]) + more


def start_of_name(entry: Path) -> str:
    """Return how the name of a hidden folder begins."""
    return "__" if entry.name.startswith("__") else "."


def exercise_files_in(*folders: Path) -> dict[str, Path]:
    """Return the exercises' files in the first of these folders that has any."""
    for folder in folders:
        files = {name: folder / f"{name}.py" for name in curriculum.NAMES}
        present = {name: file for name, file in files.items() if file.is_symlink() or file.exists()}
        if present:
            return present
    return {}


def source_of(file: Path) -> str:
    """Return the text of a Python file. Raises OSError, and ValueError with the reason."""
    if file.parent.name == "exercises" and file.parent.is_symlink():
        raise ValueError(_LINKED_FOLDER)
    data = plain_file.read(file, MAX_BYTES)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MB")
    if not data.strip():
        raise ValueError("it is empty")
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text. Save it as UTF-8 and submit it again") from None
    declared = _DECLARATION.match(source)
    if declared and not _READ_ALIKE.fullmatch(declared[1].lower().replace("_", "-")):
        raise ValueError(
            f"its first lines say that it is not UTF-8 but {declared[1][:40]}. Delete that line, "
            "save the file as UTF-8 and submit it again"
        )
    return source


def hidden_work(entry: Path) -> tuple[str, bool] | None:
    """Return why a hidden file is not graded, if it looks like work.

    macOS makes those that begin with "._", and editors links as locks.
    """
    by_product = entry.name.startswith("._") or entry.is_symlink()
    work = not by_product and looks_like_work(entry)
    return ("its name begins as that of a hidden file", True) if work else None


def looks_like_work(entry: Path) -> bool:
    """Return whether a file, or a folder to a depth of two, seems to hold answers."""
    try:
        return any(map(_is_work, islice(_within(entry, 2), MAX_LOOSE)))
    except OSError:  # what cannot be opened may hold some, and has to be reported
        return True


def _within(entry: Path, depth: int) -> Iterator[Path]:
    if not entry.is_dir():
        yield entry
    elif depth >= 0 and not entry.is_symlink():
        for inside in sorted(entry.iterdir()):
            if not inside.name.startswith((".", "__")):
                yield from _within(inside, depth - 1)


def _is_work(file: Path) -> bool:
    if file.name.lower().endswith((".ipynb", AS_TEXT)):
        return True
    if archive.is_archive(file.name) or archive.is_unreadable(file.name):
        return True
    if file.suffix.lower() != ".py" or file.name.startswith("test_"):
        return False
    if names.namesake(file.stem):
        return True
    try:
        return names.is_about_work(file, source_of(file))
    except (OSError, ValueError):
        return False
