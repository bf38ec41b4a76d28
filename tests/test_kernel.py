"""A notebook's grade is what its kernel would say, in every case of `tests/notebooks`.

IPython itself runs each of them in `tests/kernel.py`. What the kit says is compared with that, and
both with the verdict in the notebook's first lines.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import kernel
import pytest

pytest.importorskip("IPython", reason="IPython is not installed")

from grader.judging import workers
from grader.report.results import ExerciseResult
from grader.submission import Submission, from_notebook

CASES = [
    (path.stem, exercise, verdict)
    for path in sorted(kernel.NOTEBOOKS.glob("*.py"))
    for exercise, verdict in kernel.verdicts(path).items()
]
Graded = dict[tuple[str, str], ExerciseResult]


def isolation() -> str:
    return "jail" if shutil.which("bwrap") and sys.platform == "linux" else "process"


def written(path: Path, folder: Path) -> Submission:
    """The notebook as a student hands it in."""
    listed: list[dict[str, object]] = [
        {
            "cell_type": kind,
            "source": source,
            "metadata": {"nbgrader": {"grade_id": name}} if name else {},
            **({"outputs": [], "execution_count": None} if kind == "code" else {}),
        }
        for kind, source, name in kernel.cells(path)
    ]
    handed_in = folder / f"{path.stem}.ipynb"
    content = {"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    handed_in.write_text(json.dumps(content), encoding="utf-8")
    return from_notebook(path.stem, handed_in)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    folder = tmp_path_factory.mktemp("notebooks")
    handed_in = [written(path, folder) for path in sorted(kernel.NOTEBOOKS.glob("*.py"))]
    exercises = tuple(sorted({exercise for _, exercise, _ in CASES}))
    found = workers.grade(handed_in, workers.Plan(exercises, 7, isolation(), 2))
    return {(one.submission, result.exercise): result for one in found for result in one.exercises}


@pytest.fixture(scope="module")
def in_kernel() -> dict[str, dict[str, dict[str, bool]]]:
    command = [sys.executable, str(Path(kernel.__file__))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, dict[str, bool]]] = json.loads(done.stdout)
    return found


def test_there_are_many_of_them() -> None:
    assert len(list(kernel.NOTEBOOKS.glob("*.py"))) >= 60


@pytest.mark.parametrize(("notebook", "exercise", "verdict"), CASES)
def test_the_kit_says_what_is_right(
    graded: Graded, notebook: str, exercise: str, verdict: str
) -> None:
    result = graded[notebook, exercise]
    full = result.points == result.max_points
    assert full == (verdict == "right"), (result.status, result.finding, result.checks)


@pytest.mark.parametrize(("notebook", "exercise", "verdict"), CASES)
def test_and_so_does_a_kernel(
    in_kernel: dict[str, dict[str, dict[str, bool]]], notebook: str, exercise: str, verdict: str
) -> None:
    checks = in_kernel[notebook][exercise]
    assert all(checks.values()) == (verdict != "wrong"), checks
