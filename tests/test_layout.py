"""The layout of `grader/`: rooms, and dependencies that run one way.

Imports count, and so do dependencies by name: a module named in a string (an `import_module`, a
`python -m`, a program that another process runs).
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from grader.recognition import cache as fingerprint_cache
from tests import ROOT

GRADER = ROOT / "grader"
FILES = sorted(GRADER.rglob("*.py"))
DOTTED = re.compile(r"grader(?:\.\w+)+")


def name_of(path: Path) -> str:
    """The dotted name of a module of the kit."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


def room_of(module: str) -> str:
    """The folder directly in `grader/` that a module is in; `grader` itself for the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "grader"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def dependencies(module: str) -> frozenset[str]:
    """The modules of the kit that a module imports or names in a string, wherever in its file."""
    texts: set[int] = set()  # which are docstrings, by identity
    names: set[str] = set()
    for node in ast.walk(parsed(MODULES[module])):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names |= {name if name in MODULES else node.module for name in inner}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and id(node) not in texts:
            names |= set(DOTTED.findall(str(node.value)))
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            # The walk comes to a body after what it is in.
            first = node.body[0]
            texts |= {id(first.value)} if isinstance(first, ast.Expr) else set()
    return frozenset((names & set(MODULES)) - {module})


def assert_no_circle(graph: dict[str, set[str]]) -> None:
    """Fails with the way round if the arrows of a graph lead back to where they start."""
    done: set[str] = set()

    def visit(node: str, way: tuple[str, ...]) -> None:
        assert node not in way, f"a circle: {' -> '.join((*way[way.index(node) :], node))}"
        if node not in done:
            for following in sorted(graph[node]):
                visit(following, (*way, node))
            done.add(node)

    for node in sorted(graph):
        visit(node, ())


@cache
def rooms() -> dict[str, set[str]]:
    """Which rooms each room depends on."""
    graph: dict[str, set[str]] = {room_of(module): set() for module in MODULES}
    for module in MODULES:
        graph[room_of(module)] |= {room_of(name) for name in dependencies(module)}
    return {room: others - {room, "grader"} for room, others in graph.items()}


def test_no_dependency_between_rooms_goes_round() -> None:
    assert_no_circle(rooms())


def test_the_sandbox_knows_nothing_of_what_it_cages() -> None:
    assert not rooms()["sandbox"]
    for path in (GRADER / "sandbox").rglob("*.py"):
        assert not re.search(r"^\s*(?:import|from) torch\b", path.read_text(), re.MULTILINE), path


def test_the_checks_know_no_processes() -> None:
    assert not {"sandbox", "grading"} & rooms()["checks"]


def test_the_solutions_are_imported_in_one_place() -> None:
    for path in FILES:
        if path.name != "reference.py":
            nodes = ast.walk(parsed(path))
            names = {getattr(node, "module", None) or "" for node in nodes}
            assert not any(name.split(".")[0] == "solutions" for name in names), path


def test_the_key_of_fingerprints_covers_everything_that_makes_them() -> None:
    waiting, reached = ["grader.grading.diagnosis.hint_data"], set[str]()
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += dependencies(module)
    assert {room_of(module) for module in reached} - {"grader"} <= set(fingerprint_cache.ROOMS)
