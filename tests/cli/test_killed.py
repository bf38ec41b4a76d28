"""A run can be stopped at any moment and loses or doubles nothing.

`python -m tests.cli.test_killed RUNS SUBMISSIONS ISOLATION` does it many times over, at
random moments.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from grader.curriculum import mistakes, stubs

VICTIMS = ("judge", "worker", "zygote")
OPTIONS = ["--seed", "3", "--jobs", "2"]


def write_class(folder: Path, count: int) -> None:
    """A class of small submissions, every third of them wrong."""
    source = stubs.reference_source("attention")
    wrong = mistakes.load("attention")[0].apply(source)
    for number in range(count):
        (folder / f"s{number:03}").mkdir(parents=True)
        text = f"{wrong if number % 3 == 0 else source}\n# {number}\n"
        (folder / f"s{number:03}" / "attention.py").write_text(text, encoding="utf-8")


def command(folder: Path, report: Path, *more: str, isolation: str) -> list[str]:
    grade = [sys.executable, "-m", "grader", "grade", str(folder), "--exercise", "attention"]
    return [*grade, "--json", str(report), "--isolation", isolation, *OPTIONS, *more]


def children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def said(pid: int) -> bytes:
    """The command that a process was started with."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def victim(judge: int, kind: str) -> int | None:
    """The process to kill: the command itself, a worker (a fork of it), or a fork server."""
    if kind == "judge":
        return judge
    own = said(judge)
    results = [pid for pid in children(judge) if (said(pid) == own) == (kind == "worker")]
    return random.choice(results) if results else None


def finished(report: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return {result["submission"]: result for result in loaded["submissions"]}


def disturb(folder: Path, report: Path, kind: str, after: float, isolation: str) -> str:
    """Runs once, kills one process after so many seconds, goes on until it is done."""
    run = subprocess.Popen(
        command(folder, report, isolation=isolation),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after)
    pid = victim(run.pid, kind)
    if pid is not None and run.poll() is None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pid = None
    status = run.wait(300)
    partial = report.with_name(report.name + ".partial")
    if partial.exists():
        resume = command(folder, report, "--resume", isolation=isolation)
        subprocess.run(resume, check=True, capture_output=True, timeout=900)
    elif not report.exists():
        subprocess.run(
            command(folder, report, isolation=isolation), check=True, capture_output=True
        )
    return f"{kind} killed after {after:.2f} s: {'hit' if pid else 'missed'}, status {status}"


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.full(seconds=60)
def test_after_a_kill_the_results_are_those_of_an_undisturbed_run(tmp_path: Path) -> None:
    write_class(tmp_path / "class", 6)
    undisturbed = tmp_path / "undisturbed.json"
    subprocess.run(
        command(tmp_path / "class", undisturbed, isolation="process"),
        check=True,
        capture_output=True,
    )
    for kind in VICTIMS:
        report = tmp_path / f"{kind}.json"
        disturb(tmp_path / "class", report, kind, 2.5, "process")
        assert finished(report) == finished(undisturbed), kind
        assert not report.with_name(report.name + ".partial").exists()


def main(runs: int, count: int, isolation: str) -> None:
    """Many disturbed runs, each compared with the undisturbed one."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_class(folder / "class", count)
        undisturbed = folder / "undisturbed.json"
        started = time.monotonic()
        subprocess.run(
            command(folder / "class", undisturbed, isolation=isolation),
            check=True,
            capture_output=True,
        )
        whole = time.monotonic() - started
        for number in range(runs):
            report = folder / f"{number}.json"
            kind = VICTIMS[number % len(VICTIMS)]
            told = disturb(folder / "class", report, kind, random.uniform(0.3, whole), isolation)
            same = finished(report) == finished(undisturbed)
            print(f"{number + 1:3}  {told}: {'the same results' if same else 'OTHER RESULTS'}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
