"""The autograder for Gradescope, run as Gradescope does: in a root of its own, from /autograder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from grader.curriculum import stubs
from grader.sandbox import jail
from tests import ROOT
from tests.tools import warm


def made(folder: Path, *options: str) -> Path:
    path = folder / "autograder.zip"
    done = warm.run("-m", "grader", "gradescope", "--zip", path, *options, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return path


def test_the_file_holds_what_gradescope_runs_and_no_test_of_the_kit(tmp_path: Path) -> None:
    with zipfile.ZipFile(made(tmp_path, "--exercise", "masks")) as archive:
        names = archive.namelist()
        run = archive.read("run_autograder").decode()
    assert {"setup.sh", "run_autograder", "kit/pyproject.toml", "kit/grader/cli/grade.py"} < set(
        names
    )
    assert "--exercise masks --isolation jail" in run
    assert not any("tests/" in name or name.endswith(".pyc") for name in names)


def as_it_is(entry: Path) -> list[str]:
    """An entry of this machine's root in another one, for bubblewrap."""
    if entry.is_symlink():
        return ["--symlink", str(entry.readlink()), str(entry)]
    return ["--dev-bind", str(entry), str(entry)]


@pytest.mark.full(seconds=5)
@pytest.mark.skipif(bool(jail.missing()), reason="a root of its own needs bubblewrap")
def test_a_submission_is_graded_in_a_root_of_its_own(tmp_path: Path) -> None:
    root = tmp_path / "autograder"
    for name in ("source", "submission", "results", "venv/bin"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile(made(tmp_path, "--exercise", "masks")) as archive:
        archive.extractall(root / "source")
    shutil.copy(root / "source" / "run_autograder", root)
    # What setup.sh would install is what runs this test; the kit is the one from the file.
    grader = root / "venv" / "bin" / "grader"
    packages = sysconfig.get_path("purelib")
    grader.write_text(
        f"#!/bin/sh\nexport PYTHONPATH=/autograder/source/kit:{packages}\n"
        f'exec {sys.executable} -P -m grader "$@"\n'
    )
    grader.chmod(0o755)
    wrong = stubs.solution("masks").replace("!= pad_id", "== pad_id")
    (root / "submission" / "masks.py").write_text(wrong)
    outside = [word for entry in Path("/").iterdir() for word in as_it_is(entry)]
    outside += ["--tmpfs", str(ROOT), "--bind", str(root), "/autograder"]
    if ROOT in Path(sys.executable).parents:
        outside = [*outside, "--ro-bind", str(ROOT / ".venv"), str(ROOT / ".venv")]
    done = subprocess.run(
        ["bwrap", *outside, "--chdir", "/", "bash", "/autograder/run_autograder"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((root / "results" / "results.json").read_text())
    assert 0 < results["score"] < 10
    assert any("padding" in test["output"] for test in results["tests"])
