"""Programs of the kit in Python processes of their own, without a jail: all are started here.

They are work of the kit's, or run one's own code on one's own machine. What is not trusted runs in
a `Host`.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
CLOSED = "Your code closed its connection to the grader."
_ACCESS_VIOLATION = 3221225477  # as Windows calls a segmentation fault


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that calls `main` of a module of this kit, wherever it is started.

    Nothing that lies in the current folder is imported in the place of something else.
    """
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from {module} import main; "
        "main(*sys.argv[1:])"
    )
    return [sys.executable, "-P", "-c", program, *arguments]


def run(
    module: str, *arguments: str, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `main` of a module to its end, and keep what it writes to standard error.

    Raises `subprocess.TimeoutExpired` after so many `seconds` on the clock, and OSError where no
    process can be made.
    """
    return subprocess.run(
        command(module, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=seconds,
        check=False,
        text=True,
        errors="replace",
    )


def ending_in_words(status: int) -> str:
    """Return how a student's process ended, by its status; below zero it is that of a signal."""
    if status in (-signal.SIGSEGV, _ACCESS_VIOLATION):
        return "Your code crashed Python (segmentation fault)."
    if status == -9:  # SIGKILL, which Windows does not have
        return "Your code's process was killed: did it ask for too much memory?"
    if status < 0:
        return f"Your code's process was ended by {signal.Signals(-status).name}."
    return "Your code ended its own process (os._exit does that)."


class Program:
    """A running program, which reads lines of JSON and writes some.

    With `apart`, Ctrl-C in this program's terminal does not reach it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> None:
        options: dict[str, Any] = {"start_new_session": apart}
        if apart and sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when the program has ended
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            **options,
        )

    @property
    def replies(self) -> IO[bytes]:
        """The lines that it writes."""
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, message: Any) -> None:
        """Send a line of JSON; a program that has ended says so by itself."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def last_words(self) -> str:
        """Return the end of what it wrote to standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip()[-2000:]

    def terminate(self) -> None:
        """End it, if it has not ended by itself."""
        if self.process.poll() is None:
            self.process.terminate()
