"""Data flows one way, submission → sandbox → checks → report, and so do the imports."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "grader"

# From the ground up; a part may import those of its own row and of the rows above it.
LAYERS = (
    ("curriculum", "mismatch", "tensors", "comparison", "stubs", "results", "rules", "hints"),
    ("board",),
    ("submission", "notebook"),
    ("sandbox",),
    ("checks", "mistakes", "reference", "rehearsal", "explanation", "sitting", "diagnosis"),
    ("together", "examination", "judge"),
    ("grading", "store", "run"),
    ("report",),
    ("course", "magic"),
    ("cli", "__main__"),
)
LEVEL = {part: level for level, row in enumerate(LAYERS) for part in row}


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The parts of the package that a file imports, wherever in the file it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "grader":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found |= {name[1] for name in names if name[0] == "grader" and len(name) > 1}
    return found - {part_of(path)}


FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_part_imports_only_what_lies_below_it(path: Path) -> None:
    upwards = {name for name in imported(path) if LEVEL[name] > LEVEL[part_of(path)]}
    assert not upwards, f"{path.relative_to(ROOT)} imports {upwards}, which build on it"


def test_the_sandbox_knows_nothing_of_exercises() -> None:
    for path in (ROOT / "sandbox").rglob("*.py"):
        assert not imported(path), path


def test_the_solutions_are_imported_by_the_reference_alone() -> None:
    for path in FILES:
        if path.name != "reference.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {getattr(node, "module", None) or "" for node in ast.walk(tree)}
            assert not any(name.split(".")[0] == "solutions" for name in names), path
