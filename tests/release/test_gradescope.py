"""The autograder for Gradescope, run as Gradescope does: in a root of its own, from /autograder."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

from grader.curriculum import stubs
from tests import ROOT
from tests.tools.command import Grader
from tests.tools.jailed import PROBLEMS


@pytest.fixture
def made(grader: Grader, tmp_path: Path) -> Path:
    """The file to upload to Gradescope."""
    path = tmp_path / "autograder.zip"
    done = grader("gradescope", "--zip", path, "--exercise", "masks", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return path


def test_the_file_holds_what_gradescope_runs_and_no_test_of_the_kit(made: Path) -> None:
    with zipfile.ZipFile(made) as archive:
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


class Autograder:
    """The folder /autograder of a machine of Gradescope's, and what that machine does with it."""

    def __init__(self, folder: Path, made: Path) -> None:
        self.root = folder / "autograder"
        for name in ("source", "submission", "results", "venv/bin"):
            (self.root / name).mkdir(parents=True)
        with zipfile.ZipFile(made) as archive:
            archive.extractall(self.root / "source")
        shutil.copy(self.root / "source" / "run_autograder", self.root)
        # What setup.sh would install is what runs this test; the kit is the one from the file.
        grader = self.root / "venv" / "bin" / "grader"
        packages = sysconfig.get_path("purelib")
        grader.write_text(
            f"#!/bin/sh\nexport PYTHONPATH=/autograder/source/kit:{packages}\n"
            f'exec {sys.executable} -P -m grader "$@"\n'
        )
        grader.chmod(0o755)
        self.home = folder

    def results(self, files: dict[str, bytes | str]) -> dict[str, Any] | None:
        """What comes of a submission with these files; None if the autograder failed."""
        for name in ("submission", "results"):
            shutil.rmtree(self.root / name)
            (self.root / name).mkdir()
        for name, content in files.items():
            file = self.root / "submission" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        outside = [word for entry in Path("/").iterdir() for word in as_it_is(entry)]
        outside += ["--tmpfs", str(ROOT), "--bind", str(self.root), "/autograder"]
        if ROOT in Path(sys.executable).parents:
            outside = [*outside, "--ro-bind", str(ROOT / ".venv"), str(ROOT / ".venv")]
        done = subprocess.run(
            ["bwrap", *outside, "--chdir", "/", "bash", "/autograder/run_autograder"],
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=False,
        )
        written = self.root / "results" / "results.json"
        if done.returncode:
            assert not written.exists(), done.stderr
            return None
        found: dict[str, Any] = json.loads(written.read_text())
        return found


RIGHT = stubs.solution("masks")
WRONG = RIGHT.replace("!= pad_id", "== pad_id")
FORGED = '{"score": 100, "tests": []}'
# What writes the results itself, ends the process, or both.
FORGES = f"""
import atexit, os, pathlib, sys
for place in ("/autograder/results", "results", "../results", "/autograder/submission"):
    try:
        pathlib.Path(place).mkdir(parents=True, exist_ok=True)
        pathlib.Path(place, "results.json").write_text({FORGED!r})
    except OSError:
        pass
"""


def zipped(files: dict[str, str], link: str = "") -> bytes:
    """A zip file; `link` is what a link in it leads to."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        if link:
            about = zipfile.ZipInfo("results")
            about.create_system, about.external_attr = 3, 0o120777 << 16
            archive.writestr(about, link)
    return content.getvalue()


@pytest.mark.full(seconds=25)
@pytest.mark.skipif(bool(PROBLEMS), reason="a root of its own needs bubblewrap")
def test_submissions_are_graded_in_a_root_of_its_own_and_none_writes_its_results(
    made: Path, tmp_path: Path
) -> None:
    autograder = Autograder(tmp_path, made)

    def score(files: dict[str, bytes | str]) -> float:
        found = autograder.results(files)
        assert found is not None
        return float(found["score"])

    assert score({"work.zip": zipped({"hw/masks.py": RIGHT})}) == 10
    found = autograder.results({"masks.py": WRONG})
    assert found is not None
    assert 0 < found["score"] < 10
    assert any("padding" in test["output"] for test in found["tests"])
    wrong = found["score"]
    beside = {"results/results.json": FORGED, "results.json": FORGED, "grader.py": "raise 1"}
    beside |= {"conftest.py": FORGES, "sitecustomize.py": FORGES}
    assert score({"masks.py": WRONG + FORGES, **beside}) == wrong
    assert score({"masks.py": WRONG + FORGES + "os._exit(0)\n"}) == 0
    forged = {"../../results/results.json": FORGED, "masks.py": WRONG}
    assert score({"work.zip": zipped(forged)}) < 10
    linked = zipped({"masks.py": WRONG}, "/autograder/results")
    assert score({"work.zip": linked}) < 10
