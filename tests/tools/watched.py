"""`grader watch` in a real terminal, driven as a student drives it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pexpect

from tests import ROOT

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# What Python finds first and runs at every start: a machine without forks and timers.
NO_FORK = """
import os, signal
for module, name in ((os, "fork"), (os, "forkpty"), (signal, "setitimer"), (signal, "alarm")):
    if hasattr(module, name):
        delattr(module, name)
"""


def make_workspace(root: Path, solved: Sequence[str]) -> Path:
    """A folder `exercises` in `root` with the public tests, these answers, and stubs."""
    folder = root / "exercises"
    folder.mkdir(parents=True)
    for path in (ROOT / "exercises").glob("*.py"):
        shutil.copy(path, folder)
    for name in solved:
        solution = (ROOT / "solutions" / f"{name}.py").read_text("utf-8")
        (folder / f"{name}.py").write_text(solution.replace("from solutions.", "from exercises."))
    return folder


def hear_ctrl_c() -> None:
    """For a new process: a suite that was started in the background hands on that it is deaf."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A terminal with `grader watch` in it, on the workspace at `root`."""

    def __init__(self, root: Path, *arguments: str, forks: bool = True) -> None:
        self.folder = root / "exercises"
        paths = [str(ROOT)]
        if not forks:
            (root / "machine").mkdir()
            (root / "machine" / "sitecustomize.py").write_text(NO_FORK)
            paths.insert(0, str(root / "machine"))
        self.process = pexpect.spawn(
            sys.executable,
            ["-m", "grader", "watch", *arguments],
            cwd=root,
            env={**os.environ, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(paths)},
            encoding="utf-8",
            timeout=900,
            dimensions=(60, 110),
            preexec_fn=hear_ctrl_c,
        )

    def until(self, words: str) -> str:
        """What is shown up to these words, without colours. The words may be cut by colours."""
        loose = re.escape(words).replace(r"\ ", r"(?:\x1b\[[0-9;]*m|\s)+")
        self.process.expect(loose)
        return ANSI.sub("", self.process.before + self.process.after)

    def edit(self, exercise: str, old: str, new: str) -> float:
        """Saves the file with one text in place of another; when that was."""
        path = self.folder / f"{exercise}.py"
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")
        return time.monotonic()

    def press(self, key: str) -> None:
        """Presses a key."""
        self.process.send(key)

    def status(self) -> int:
        """Waits for the end."""
        self.process.expect(pexpect.EOF)
        self.process.close()
        return int(self.process.exitstatus)
