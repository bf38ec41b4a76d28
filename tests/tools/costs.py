"""What a command costs, for the benchmarks: on the wall, and in CPU time where others run."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT

_CHILD_SUBREAPER = 36  # <linux/prctl.h>


@dataclass(frozen=True)
class Cost:
    """Seconds on the wall and of CPU time."""

    wall: float
    processor: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.processor + other.processor)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall - other.wall, self.processor - other.processor)

    def __truediv__(self, number: float) -> Cost:
        return Cost(self.wall / number, self.processor / number)

    def __str__(self) -> str:
        return f"{self.wall:8.2f} s on the wall, {self.processor:8.2f} s of CPU time"


def of_command(command: Sequence[str | Path], cwd: Path, **environment: str) -> Cost:
    """Runs Python with these arguments; the CPU time is that of all that it starts.

    Exits with what it said, where it fails.
    """
    if sys.platform == "linux":  # or what an orphan has cost would be lost
        ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, started = os.times(), time.monotonic()
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.monotonic() - started
    if done.returncode:
        raise SystemExit(done.stdout[-1000:] + done.stderr[-2000:])
    _wait_for_orphans()
    after = os.times()
    return Cost(wall, sum(after[2:4]) - sum(before[2:4]))  # of the children


def _wait_for_orphans(seconds: float = 10.0) -> None:
    """Waits for what the command has left behind, which is about to end."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            time.sleep(0.05)
