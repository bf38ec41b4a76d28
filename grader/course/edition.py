"""Makes the student's edition: what somebody needs to work, and nothing that gives an answer away.

Which modules go into it is found, not listed: those that the students' commands, the board and the
notebook's magic import, and those that they start by name. The rest of the kit stays out.
"""

from __future__ import annotations

import ast
import re
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from grader import curriculum
from grader.curriculum import assignment, handed_out, stubs, whole_model
from grader.judging.hints import write_hints

ROOT = stubs.SOLUTIONS.parent
# Where students begin: the package itself (`%load_ext grader`), `python -m grader`, and the plugin
# that `exercises/conftest.py` names. The commands are added to these.
BEGINNINGS = ("grader", "grader.__main__", "grader.cli", "grader.board.plugin")
# Hidden checks, answers, edited answers, and what instructors do.
WITHHELD = ("checks", "judging", "course", "curriculum.mistakes", "curriculum.reference")
_AT = re.compile(r"\bgrader(?:\.\w+)+")
_HEAD = (
    "# Handed out solved: others use it, and nobody asks you to write it.\n"
    "# You may read it, and `pytest exercises/` uses it.\n\n"
)


class EditionError(Exception):
    """The edition cannot be made. The message says why and what to do."""


@dataclass(frozen=True)
class Edition:
    """What was made: the folder, what is asked for in it, and what is handed out solved."""

    folder: Path
    exercises: tuple[str, ...]
    solved: tuple[str, ...]


def make(folder: Path, exercises: Sequence[str]) -> Edition:
    """Writes the student's edition of these exercises into a folder that is new or empty.

    Raises `EditionError`.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise EditionError(f"{folder} is there already. Name a new folder, or empty that one.")
    asked = tuple(name for name in curriculum.NAMES if name in exercises)
    solved = tuple(name for name in _needed(asked) if name not in asked)
    try:
        _write_package(folder, asked, solved)
        _write_exercises(folder / "exercises", asked, solved)
        _write_project(folder, asked, solved)
    except OSError as error:
        raise EditionError(f"{folder} cannot be written ({error}). Name another.") from None
    return Edition(folder, asked, solved)


def zipped(edition: Edition) -> Path:
    """The edition as one file to hand out, beside its folder."""
    folder = edition.folder.resolve()
    return Path(shutil.make_archive(str(folder), "zip", folder.parent, folder.name))


def _needed(asked: Sequence[str]) -> list[str]:
    """All that the exercises build on; with a whole model, what trains it, too."""
    needed = {need for name in asked for need in curriculum.closure(name)}
    if "transformer" in asked:
        needed |= set(whole_model.EXERCISES)
    return [name for name in curriculum.NAMES if name in needed]


# The package


def modules() -> list[str]:
    """The files of the kit that go into the edition, relative to its root.

    Raises `EditionError` if one of them imports what is withheld.
    """
    waiting = [(name, "a student's command") for name in (*BEGINNINGS, *_commands())]
    found: dict[str, str] = {}
    while waiting:
        name, by = waiting.pop()
        file = _file_of(name)
        if file is None or file in found:
            continue
        if _is_withheld(name):
            raise EditionError(f"{by} imports {name}, which no student may have.")
        found[file] = by
        waiting.append((name.rpartition(".")[0], file))
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        waiting += [(other, file) for other in _imported(tree)]
        waiting += [(other, file) for other in _started(tree) if not _is_withheld(other)]
    return sorted(found)


def _commands() -> list[str]:
    """The modules of commands that stand under the students' heading."""
    files = sorted((ROOT / "grader" / "cli").glob("*.py"))
    return [
        f"grader.cli.{path.stem}"
        for path in files
        if any(
            isinstance(node, ast.keyword)
            and node.arg == "rich_help_panel"
            and isinstance(node.value, ast.Name)
            and node.value.id == "STUDENTS"
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    ]


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _started(tree: ast.AST) -> Iterator[str]:
    """The modules that a text names, such as the command line of a program."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _AT.findall(node.value)


def _file_of(name: str) -> str | None:
    path = name.replace(".", "/")
    files = (f"{path}.py", f"{path}/__init__.py") if name.split(".")[0] == "grader" else ()
    return next((file for file in files if (ROOT / file).is_file()), None)


def _is_withheld(name: str) -> bool:
    inside = name.removeprefix("grader.")
    return any(inside == one or inside.startswith(f"{one}.") for one in WITHHELD)


def _data(files: Sequence[str]) -> Iterator[Path]:
    """The data files of the packages that these files belong to, as the project declares them."""
    folders = {(ROOT / file).parent for file in files if file.endswith("__init__.py")}
    declared = _project()["tool"]["setuptools"]["package-data"]["grader"]
    for pattern in declared:
        for path in sorted((ROOT / "grader").glob(pattern)):
            inside = [one for one in path.parents if (one / "__init__.py").is_file()]
            if path.is_file() and inside[0] in folders:
                yield path.relative_to(ROOT)


def _write_package(folder: Path, asked: Sequence[str], solved: Sequence[str]) -> None:
    files = modules()
    for file in (*map(Path, files), *_data(files)):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, folder / file)
    kept = folder / stubs.HANDED_OUT.relative_to(ROOT)
    kept.mkdir(parents=True)
    for name in asked:
        (kept / f"{name}.txt").write_text(stubs.as_handed_out(name), encoding="utf-8")
    for name in solved:
        (kept / f"{name}.txt").write_text(_solved(name), encoding="utf-8")
    write_hints(folder / "grader" / "board" / "known", asked)


# The exercises


def _write_exercises(folder: Path, asked: Sequence[str], solved: Sequence[str]) -> None:
    folder.mkdir()
    ours = ROOT / "exercises"
    tests = [f"test_{name}.py" for name in asked]
    for name in ("__init__.py", "conftest.py", "README.md", *tests):
        shutil.copyfile(ours / name, folder / name)
    shutil.copytree(ours / stubs.PICTURES, folder / stubs.PICTURES)
    for name in asked:
        (folder / f"{name}.py").write_text(stubs.as_handed_out(name), encoding="utf-8")
    for name in solved:
        (folder / f"{name}.py").write_text(_solved(name), encoding="utf-8")
    (folder / assignment.FILE).write_text(assignment.text(tuple(asked)), encoding="utf-8")


def _solved(name: str) -> str:
    """An exercise that is not asked for, as a module that shows nothing of what is."""
    source = handed_out.source(name) or stubs.reference_source(name)
    lines = [line for line in source.split("\n") if not stubs.is_mark(line)]
    return _HEAD + "\n".join(lines)


# What stands around them


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _write_project(folder: Path, asked: Sequence[str], solved: Sequence[str]) -> None:
    for name in ("LICENSE", "constraints.txt", ".gitignore"):
        shutil.copyfile(ROOT / name, folder / name)
    templates = resources.files("grader.course") / "templates"
    total = sum(curriculum.find(name).points for name in asked)
    rows = "\n".join(f"| {name} | {curriculum.find(name).points} |" for name in asked)
    words = {
        "rows": rows,
        "total": str(total),
        "first": asked[0],
        "solved": ", ".join(f"`{name}`" for name in solved) or "nothing",
        "dependencies": "".join(f'    "{one}",\n' for one in _project()["project"]["dependencies"]),
    }
    for source, name in (("edition.md", "README.md"), ("edition.toml", "pyproject.toml")):
        text = (templates / source).read_text(encoding="utf-8")
        (folder / name).write_text(_filled(text, words), encoding="utf-8")


def _filled(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace("{{" + name + "}}", word)
    return text
