"""The layout of `grader/`, read from its imports: few rooms, and data that flows one way."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent / "grader"
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
MAX_ROOMS, MAX_FLOORS, MAX_ARROWS = 18, 8, 40


def room_of(path: Path) -> str:
    """The package that a file is in; a module that lies in `grader/` itself is its own."""
    inside = path.relative_to(ROOT)
    return str(inside.parent) if len(inside.parts) > 1 else inside.stem


def found(name: str) -> Path | None:
    """The file of a module of the kit, by its dotted name."""
    path = ROOT.parent / name.replace(".", "/")
    return next(
        (one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None
    )


def imported(path: Path) -> set[str]:
    """The rooms that a file imports from, wherever in the file it does, besides its own."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            files = [found(name) or found(str(node.module)) for name in inner]
        elif isinstance(node, ast.Import):
            files = [found(alias.name) for alias in node.names]
        else:
            continue
        rooms |= {room_of(file) for file in files if file is not None and ROOT in file.parents}
    return rooms - {room_of(path), "__init__"}


@cache
def graph() -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = {room_of(path): set() for path in FILES}
    for path in FILES:
        rooms[room_of(path)] |= imported(path)
    return rooms


def floors() -> dict[str, int]:
    """How many rooms lie below one another under each. Fails if imports go round in a circle."""
    known: dict[str, int] = {}

    def floor(room: str, above: tuple[str, ...]) -> int:
        assert room not in above, f"a circle of imports: {' → '.join((*above, room))}"
        if room not in known:
            known[room] = 1 + max((floor(one, (*above, room)) for one in graph()[room]), default=0)
        return known[room]

    for room in graph():
        floor(room, ())
    return known


def test_the_rooms_are_few_and_no_import_goes_round() -> None:
    arrows = sum(map(len, graph().values()))
    assert len(graph()) <= MAX_ROOMS, sorted(graph())
    assert max(floors().values()) <= MAX_FLOORS, floors()
    assert arrows <= MAX_ARROWS, graph()


def test_what_cages_code_knows_nothing_of_what_it_cages() -> None:
    assert not graph()["sandbox"]
    for path in (ROOT / "sandbox").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert "torch" not in names, path


def test_the_checks_know_nothing_of_processes() -> None:
    assert not {"sandbox", "judging"} & (graph()["checks"] | graph()["checks/framework"])


def test_the_solutions_are_imported_by_the_reference_alone() -> None:
    for path in FILES:
        if path.name != "reference.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {getattr(node, "module", None) or "" for node in ast.walk(tree)}
            assert not any(name.split(".")[0] == "solutions" for name in names), path
