"""What `grader watch` saves: from save to verdict, beside a cold `pytest exercises/test_X.py`.

    python -m tests.tools.benchmark_watch [--without-fork]

For twelve edits: seconds until pytest's end (with the answer that is right), seconds until the
verdict of the public tests stands in the terminal, and what is left of that without the code's own
time: that of the same tests when they are run a second time in one process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import ROOT
from tests.tools.watched import Terminal, make_workspace

SOLVED = ("masks", "attention", "multi_head", "positional", "layer_norm", "feed_forward")
# Each wrong, then right again.
EDITS = (
    ("attention", "math.sqrt(query.size(-1))", "query.size(-1)"),
    ("masks", "ids != pad_id", "ids == pad_id"),
    ("multi_head", "d_model % n_heads", "n_heads % d_model"),
    ("positional", "base: float = 10000.0", "base: float = 1000.0"),
    ("layer_norm", "variance + self.eps", "variance"),
    ("feed_forward", "self.linear1(x)", "self.linear1(2 * x)"),
)
OWN = """
import sys, time
sys.path.insert(0, {root!r})
from pathlib import Path
from grader.board import probe
from grader.board.workspace import Workspace
workspace = Workspace(Path({folder!r}), Path({root!r}))
for _ in range(2):
    start = time.perf_counter()
    list(probe.run(workspace, {exercise!r}))
print(time.perf_counter() - start)
"""


def cold(root: Path, exercise: str) -> float:
    """Seconds that pytest takes in a new process."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "pytest", f"exercises/test_{exercise}.py"]
    subprocess.run(command, cwd=root, capture_output=True, check=False)
    return time.perf_counter() - start


def own(root: Path, exercise: str) -> float:
    """Seconds of the tests alone, once all is imported."""
    names = {"root": str(root), "folder": str(root / "exercises"), "exercise": exercise}
    command = [sys.executable, "-c", OWN.format(**names)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Prints a line an edit."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_workspace(root, SOLVED)
        terminal = Terminal(root, forks="--without-fork" not in sys.argv)
        terminal.until("quit")
        print("exercise       state    cold pytest   save to verdict   beyond its own time")
        beyond = []
        for exercise, right, wrong in EDITS:
            seconds = {}
            for state, old, new in (("wrong", right, wrong), ("right", wrong, right)):
                start = terminal.edit(exercise, old, new)
                terminal.until(f"{exercise} was saved")
                terminal.until("s after the save")
                seconds[state] = time.monotonic() - start
                time.sleep(4)  # somebody types; hidden checks end, and what is spare gets ready
            alone, slow = own(root, exercise), cold(root, exercise)
            for state, verdict in seconds.items():
                beyond.append(verdict - alone)
                times = f"{slow:9.2f} s   {verdict:13.2f} s   {beyond[-1]:17.2f} s"
                print(f"{exercise:<14} {state:<7} {times}", flush=True)
        print(f"at most {max(beyond):.2f} s beyond the code's own time")
        terminal.press("q")
        terminal.status()


if __name__ == "__main__":
    main()
