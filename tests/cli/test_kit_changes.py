"""The kit tells its maintainers what does not fit yet, and which file to edit."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import curriculum
from grader.checks import framework
from grader.curriculum import stubs
from tests import ROOT
from tests.tools import warm
from tests.tools.copies import copied


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the kit, with a right `masks.py` handed in."""
    folder = copied(tmp_path_factory.mktemp("kit"), "exercises", "grader", "solutions")
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    (folder / "ada").mkdir()
    (folder / "ada" / "masks.py").write_text(stubs.reference_source("masks"), encoding="utf-8")
    return folder


@pytest.fixture
def kit(copy: Path) -> Iterator[Path]:
    """The copy, of which a test may change what belongs to masks."""
    yield copy
    for file in ("grader/checks/masks.py", "exercises/test_masks.py"):
        shutil.copyfile(ROOT / file, copy / file)


def run(kit: Path, *arguments: str) -> tuple[int, str]:
    """The exit status of a command of that kit, and all that it wrote, in one line."""
    code = f"import sys; sys.path.insert(0, {str(kit)!r}); from grader.cli import main; main()"
    done = warm.run("-c", code, *arguments, cwd=kit)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


GRADE = ("grade", "ada", "--exercise", "masks", "--isolation", "process")


@pytest.mark.full(seconds=3)
def test_points_that_do_not_add_up_are_told_with_both_figures(kit: Path) -> None:
    path = kit / "grader" / "checks" / "masks.py"
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace("@check(points=2", "@check(points=3", 1), encoding="utf-8")
    status, output = run(kit, *GRADE)
    assert status == 2
    assert "The checks of masks are worth 11 points, the exercise 10." in output
    assert "grader/checks/masks.py" in output
    assert "grader/curriculum/exercises.py" in output


@pytest.mark.full(seconds=2)
@pytest.mark.parametrize("text", [None, '"""Nothing yet."""\n'], ids=["no file", "no check"])
def test_an_exercise_without_checks_is_told_where_to_write_them(
    kit: Path, text: str | None
) -> None:
    path = kit / "grader" / "checks" / "masks.py"
    path.unlink() if text is None else path.write_text(text, encoding="utf-8")
    status, output = run(kit, *GRADE)
    assert status == 2
    assert "masks has no hidden checks. Write grader/checks/masks.py" in output
    assert "10 points" in output
    assert "Grade" not in output


@pytest.mark.full(seconds=6)
def test_an_exercise_without_a_public_test_is_told_where_to_write_it(kit: Path) -> None:
    (kit / "exercises" / "test_masks.py").unlink()
    for command in (("stubs", "--check"), ("course", "new", "--exercise", "masks")):
        status, output = run(kit, *command)
        assert status != 0
        assert "masks has no public tests. Write exercises/test_masks.py" in output


def test_checks_come_in_the_order_of_their_module() -> None:
    for exercise in ("masks", "attention", "embedding"):
        source = (ROOT / "grader" / "checks" / f"{exercise}.py").read_text(encoding="utf-8")
        positions = [source.index(f"def test_{check.name}(") for check in framework.load(exercise)]
        assert positions == sorted(positions)
        assert len(positions) == source.count("\n@check(")


@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_every_check_has_a_title_that_says_more_than_its_name(exercise: str) -> None:
    for check in framework.load(exercise):
        assert check.title.endswith(".")
        assert check.title != check.name
