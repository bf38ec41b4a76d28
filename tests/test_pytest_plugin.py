"""`pytest --pyargs grader.checks --submission=PATH`: the hidden checks as ordinary tests."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grader.curriculum import stubs
from grader.curriculum.mistakes.variants import variants
from tests import ROOT
from tests.tools import warm
from tests.tools.jailed import PROBLEMS

EXERCISES = ("masks", "attention", "layer_norm", "feed_forward")
SEED = 7
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason="there is no jail on this machine")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ("-m", "pytest", "--pyargs", "grader.checks", "-p", "no:cacheprovider")
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    return warm.run(*command, f"--hypothesis-seed={SEED}", *arguments, cwd=folder, env=environment)


def summary(done: subprocess.CompletedProcess[str]) -> str:
    """How many failed and passed, as pytest's last line says it."""
    return ", ".join(done.stdout.splitlines()[-1].partition(" in ")[0].split(", ")[:2])


def submit(folder: Path, **sources: str) -> Path:
    folder.mkdir(parents=True)
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return folder


def wrong(exercise: str, name: str) -> str:
    """The answer with a known mistake in it."""
    return next(item.source for item in variants(exercise) if item.mistakes == (name,))


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a submission `ada` whose attention divides by d_k."""
    folder = tmp_path_factory.mktemp("one")
    submit(
        folder / "ada",
        masks=stubs.reference_source("masks"),
        attention=wrong("attention", "scaled-by-d-k"),
    )
    return folder


ONE_CHECK = ("-k", "attention and agrees")


@pytest.fixture(scope="module")
def failing(class_folder: Path) -> subprocess.CompletedProcess[str]:
    return run(class_folder, "--submission=ada", *ONE_CHECK)


def test_a_failing_check_shows_the_finding_and_the_mistake(
    failing: subprocess.CompletedProcess[str],
) -> None:
    assert failing.returncode == 1
    assert "1 failed" in failing.stdout
    assert "numbers in your output are wrong" in failing.stdout
    assert "d_k" in failing.stdout
    assert "Traceback" not in failing.stdout
    assert f"--hypothesis-seed={SEED}" in failing.stdout


def test_no_conftest_beside_a_submission_is_run(tmp_path: Path) -> None:
    """pytest looks into folders called test…, and this student is called so."""
    submit(tmp_path / "test_ada", masks=stubs.reference_source("masks"), conftest="print(0 / 0)")
    chosen = ("-k", "masks and causal", "--collect-only")
    done = run(tmp_path, "--submission=test_ada", *chosen)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_checks_run_from_a_clone_too(
    class_folder: Path, failing: subprocess.CompletedProcess[str]
) -> None:
    """There, the conftest.py of the kit's own tests would take them for its own."""
    done = run(ROOT, f"--submission={class_folder / 'ada'}", *ONE_CHECK)
    assert done.returncode == 1
    assert summary(done).startswith(summary(failing))


@pytest.mark.full(seconds=2)
def test_checks_are_chosen_as_any_tests_are(class_folder: Path) -> None:
    listed = run(
        class_folder, "--submission=ada", "-k", "attention and mask", "--collect-only", "-q"
    )
    names = [line for line in listed.stdout.splitlines() if "::" in line]
    assert names
    assert all("attention" in name and "mask" in name for name in names)
    stopped = run(class_folder, "--submission=ada", "-k", "masks or attention", "-x")
    assert "stopping after 1 failures" in stopped.stdout


@pytest.mark.full(seconds=10)
def test_workers_draw_the_same_cases(class_folder: Path) -> None:
    done = run(class_folder, "--submission=ada", "-k", "attention", "-n", "2", "-q")
    single = run(class_folder, "--submission=ada", "-k", "attention", "-q")
    assert summary(done) == summary(single)


def test_in_process_the_check_itself_fails(class_folder: Path) -> None:
    done = run(class_folder, "--submission=ada", "--in-process", "-k", "attention and agrees")
    assert done.returncode == 1
    assert "def test_agrees_with_torch" in done.stdout


def test_pytest_follows_no_files_of_a_students(tmp_path: Path) -> None:
    """A submission may hold what pytest would obey: settings, a plugin, a conftest.py."""
    ada = submit(tmp_path / "ada", masks=stubs.reference_source("masks"))
    trace = tmp_path / "trace"
    (ada / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -p hostile\n")
    for name in ("hostile", "conftest", "torch"):
        (ada / f"{name}.py").write_text(f"open({str(trace)!r}, 'w')\n")
    listed = run(tmp_path, "--submission=ada", "--collect-only", "-q", "-k", "masks")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert not trace.exists()

    (ada / "pytest.ini").unlink()
    inside = run(ada, "--submission=.", "--collect-only")
    assert inside.returncode == pytest.ExitCode.USAGE_ERROR
    assert "from another folder" in inside.stderr
    with_space = run(tmp_path, "--submission", "ada", "--collect-only")
    assert with_space.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--submission=ada" in with_space.stderr
    assert not trace.exists()


def test_without_a_submission_it_says_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 2
    assert "--submission=PATH" in done.stderr + done.stdout


def test_a_test_of_ones_own_gets_the_student(class_folder: Path) -> None:
    (class_folder / "test_mine.py").write_text(
        "import pytest, torch\n\n"
        "@pytest.mark.exercise('attention')\n"
        "def test_rows_sum_to_one(student):\n"
        "    x = torch.randn(2, 3, 4)\n"
        "    _, weights = student.attention(x, x, x)\n"
        "    assert torch.allclose(weights.sum(-1), torch.ones(2, 3))\n"
    )
    done = warm.run("-m", "pytest", "-q", "test_mine.py", "--submission=ada", cwd=class_folder)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.full(seconds=27)
def test_verdicts_are_those_of_grader_grade(tmp_path: Path) -> None:
    """Twelve submissions, each with an answer to two exercises, right or wrong in a known way."""
    folder = tmp_path / "class"
    answers = {
        name: [
            stubs.reference_source(name),
            *(item.source for item in islice(variants(name), 5)),
        ]
        for name in EXERCISES
    }
    for number in range(12):
        first, second = (EXERCISES[:2], EXERCISES[2:])[number % 2]
        sources = {name: answers[name][number // 2] for name in (first, second)}
        submit(folder / f"student_{number:02}", **sources)
    chosen = [argument for name in EXERCISES for argument in ("--exercise", name)]
    command = ("-m", "grader", "grade", "class", "--seed", str(SEED), *chosen)
    assert warm.run(*command, "--json", "grades.json", cwd=tmp_path).returncode == 0
    report = json.loads((tmp_path / "grades.json").read_text())
    points = {
        (submission["submission"], exercise["exercise"]): exercise["points"]
        for submission in report["submissions"]
        for exercise in submission["exercises"]
    }

    run(tmp_path, "--submission=class", "--junitxml", "grades.xml", "-k", " or ".join(EXERCISES))
    earned: defaultdict[tuple[str, str], float] = defaultdict(float)
    for case in ElementTree.parse(tmp_path / "grades.xml").iter("testcase"):
        properties = {item.get("name"): item.get("value") for item in case.iter("property")}
        if case.find("failure") is None and properties.get("exercise") in EXERCISES:
            key = (str(properties["submission"]), str(properties["exercise"]))
            earned[key] += float(str(properties["points"]))
    assert {key: earned.get(key, 0.0) for key in points} == points
