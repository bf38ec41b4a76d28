"""The kit works from a wheel, away from any clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from grader.curriculum import NAMES, stubs
from grader.curriculum.project import ROOT
from tests.tools import warm
from tests.tools.copies import copied


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel holds."""
    folder = tmp_path_factory.mktemp("wheel")
    # Built from a copy: setuptools writes beside the sources, and workers that build at the same
    # time would remove each other's files.
    kit = copied(folder / "kit", "exercises", "grader", "solutions")
    for name in ("LICENSE", "README.md", "constraints.txt", "pyproject.toml"):
        shutil.copyfile(ROOT / name, kit / name)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(kit)]
    subprocess.run([*pip, *build], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def grader(installed: Path, folder: Path, *arguments: str) -> str:
    """What a command of the installed kit prints. Fails if it ends with another status than 0."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = warm.run("-m", *arguments, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_package_is_in_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "grader").rglob("__init__.py")
    }
    listed = set(project["tool"]["setuptools"]["packages"])
    assert listed - packages == {
        "grader.shipped",
        "grader.shipped.exercises",
        "grader.shipped.solutions",
    }
    assert packages <= listed


@pytest.mark.full(together="wheel", seconds=30)
def test_a_student_works_with_it(installed: Path, tmp_path: Path) -> None:
    grader(installed, tmp_path, "grader", "start", "mine")
    files = {path.name for path in (tmp_path / "mine" / "exercises").glob("*.py")}
    assert {f"{name}.py" for name in NAMES} <= files
    attention = tmp_path / "mine" / "exercises" / "attention.py"
    attention.write_text(stubs.reference_source("attention"), encoding="utf-8")
    output = grader(installed, tmp_path / "mine", "pytest", "exercises/test_attention.py")
    assert "attention" in output
    (masks := attention.with_name("masks.py")).write_text("nothing", encoding="utf-8")
    grader(installed, tmp_path / "mine", "grader", "reset", "masks")
    assert stubs.is_untouched(masks.read_text(encoding="utf-8"))


@pytest.mark.full(together="wheel", seconds=30)
def test_an_instructor_works_with_it(installed: Path, tmp_path: Path) -> None:
    (ada := tmp_path / "class" / "ada").mkdir(parents=True)
    (ada / "masks.py").write_text(stubs.reference_source("masks"), encoding="utf-8")
    graded = ("grader", "grade", "class/ada", "--exercise", "masks", "--isolation", "process")
    assert "10 of 10" in grader(installed, tmp_path, *graded)
    assert "8 exercises" in grader(installed, tmp_path, "grader", "course", "course")
    grader(installed, tmp_path, "grader", "gradescope", "--zip", "autograder.zip")
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        names = set(archive.namelist())
    assert {"setup.sh", "kit/pyproject.toml", "kit/solutions/masks.py"} <= names
    assert {"kit/grader/cli/grade.py", "kit/exercises/test_masks.py"} <= names


@pytest.mark.full(together="wheel", seconds=30)
def test_an_edition_is_made_with_it(installed: Path, tmp_path: Path) -> None:
    grader(installed, tmp_path, "grader", "release", "edition", "--exercise", "tokens")
    environment = {**os.environ, "PYTHONPATH": "."}
    done = warm.run("-m", "pytest", cwd=tmp_path / "edition", env=environment)
    assert "Points: 0 of 5." in done.stdout


@pytest.mark.full(together="wheel", seconds=30)
def test_a_command_that_changes_the_kit_says_that_it_needs_a_clone(
    installed: Path, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="needs a clone"):
        grader(installed, tmp_path, "grader", "stubs")
