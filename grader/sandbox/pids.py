"""A limit on the threads of a child where the grader runs as root, whom RLIMIT_NPROC does not bind.

It is the pids controller of control groups. See setrlimit(2), and
https://docs.kernel.org/admin-guide/cgroup-v2.html for the files.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

# Where the controller is found: on its own (version 1), or with all others (version 2).
ROOTS = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))
ENDING_SECONDS = 1.0


class PidsGroup:
    """A control group with a limit on threads; children are put into it one by one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def make(cls, limit: int) -> PidsGroup | None:
        """Return a new group, or None where none is needed or possible."""
        if not needed():
            return None
        for root in _usable():
            _sweep(root)
            group = cls(root / f"grader-{os.getpid()}-{time.monotonic_ns()}")
            with contextlib.suppress(OSError):
                group.path.mkdir()
                (group.path / "pids.max").write_text(str(limit))
                return group
            group.close()
        return None

    def add(self, pid: int) -> None:
        """Put a process into the group, with all that it will start."""
        with contextlib.suppress(ProcessLookupError):
            (self.path / "cgroup.procs").write_text(str(pid))

    def close(self) -> None:
        """Remove the group, once the processes in it have ended."""
        deadline = time.monotonic() + ENDING_SECONDS
        while self.path.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.01)


def needed() -> bool:
    """Return whether the limit on a user's processes is none for this user."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _usable() -> Iterator[Path]:
    for root in ROOTS:
        control = root / "cgroup.subtree_control"
        with contextlib.suppress(OSError):
            alone = root.name == "pids" and (root / "cgroup.procs").exists()
            if alone or (control.exists() and "pids" in control.read_text().split()):
                yield root


def available() -> bool:
    """Return whether a group can be had here."""
    group = PidsGroup.make(1)
    if group is not None:
        group.close()
    return group is not None


def _sweep(root: Path) -> None:
    """Remove the groups of graders that were killed."""
    for path in root.glob("grader-*"):
        if not Path(f"/proc/{path.name.split('-')[1]}").exists():
            with contextlib.suppress(OSError):
                path.rmdir()
