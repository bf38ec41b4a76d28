"""A notebook's grade is what its kernel would say, in every case of `tests/data/notebooks`.

IPython itself runs each of them in `tests/tools/kernel.py`. What the kit says is compared with
that, and both with the verdict in the notebook's first lines.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import ROOT
from tests.tools import kernel, warm

pytest.importorskip("IPython", reason="IPython is not installed")

from grader.feedback.results import ExerciseResult
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.sandbox.host import Host
from grader.submission import Submission, from_notebook

CASES = [
    (path.stem, exercise, verdict)
    for path in sorted(kernel.NOTEBOOKS.glob("*.py"))
    for exercise, verdict in kernel.verdicts(path).items()
]
OFTEN = (  # are graded in every run
    *("answer_after_the_tests", "answer_in_a_text_cell", "cell_deleted", "done_by_torch"),
    *("defined_twice_last_wrong", "derived_from_a_wrong_answer", "error_above_the_answer"),
    *("imports_below", "magics", "mistake_costs_once", "needed_answer_deleted"),
    *("split_over_cells", "stub_above_the_answer", "sys_exit", "torch_patched_in_a_demo"),
)
Graded = dict[tuple[str, str], ExerciseResult]


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


def asked(request: pytest.FixtureRequest, test: str) -> list[str]:
    """The notebooks with which this run has the test."""
    return sorted(
        {
            str(item.callspec.params["notebook"])
            for item in request.session.items
            if isinstance(item, pytest.Function) and item.originalname == test
        }
    )


@pytest.fixture(scope="module")
def graded(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    host: Host,
    recordings: Recordings,
) -> Graded:
    folder = tmp_path_factory.mktemp("notebooks")
    names = asked(request, "test_the_kit_says_what_is_right")
    exercises = {exercise for name, exercise, _ in CASES if name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judge, "_explained", lambda _, result, *__: result)
        judge = Judge(exercises, recordings, host)
        outcome = [judge.grade(written(kernel.NOTEBOOKS / f"{name}.py", folder)) for name in names]
    return {
        (item.submission, result.exercise): result for item in outcome for result in item.exercises
    }


@pytest.fixture(scope="module")
def in_kernel(request: pytest.FixtureRequest) -> dict[str, dict[str, dict[str, bool]]]:
    names = asked(request, "test_and_so_does_a_kernel")
    done = warm.run("-m", kernel.__name__, *names, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    result: dict[str, dict[str, dict[str, bool]]] = json.loads(done.stdout)
    return result


def test_there_are_many_of_them() -> None:
    assert len(list(kernel.NOTEBOOKS.glob("*.py"))) >= 60


@pytest.mark.full(but=OFTEN, together="notebook {notebook}")
@pytest.mark.parametrize(("notebook", "exercise", "verdict"), CASES)
def test_the_kit_says_what_is_right(
    graded: Graded, notebook: str, exercise: str, verdict: str
) -> None:
    result = graded[notebook, exercise]
    full = result.points == result.max_points
    assert full == (verdict == "right"), (result.status, result.finding, result.checks)


@pytest.mark.full(together="notebook {notebook}")
@pytest.mark.parametrize(("notebook", "exercise", "verdict"), CASES)
def test_and_so_does_a_kernel(
    in_kernel: dict[str, dict[str, dict[str, bool]]], notebook: str, exercise: str, verdict: str
) -> None:
    checks = in_kernel[notebook][exercise]
    assert all(checks.values()) == (verdict != "wrong"), checks
