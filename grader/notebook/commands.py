"""Stand-ins for a notebook's commands while it is graded: none is run, all seem to succeed.

A first cell that installs packages must not cost what stands below it.
"""

from __future__ import annotations

import io
import os
import shlex
import subprocess
from typing import Any

from grader.remote import absences

# Programs that are run for the files that they leave.
_FETCHING = [
    [name] for name in ("cp", "curl", "gdown", "git", "mv", "tar", "touch", "unzip", "wget")
]


def run_none() -> None:
    """Let Python's own ways to run a command do nothing, in this process and from now on."""
    os.environ.setdefault("PATH", os.defpath)
    os.environ.setdefault("USER", "student")
    for name, replacement in {
        "call": _succeeded,
        "check_call": _succeeded,
        "check_output": _output,
        "getoutput": lambda *_args, **_options: output(),
        "getstatusoutput": lambda *_args, **_options: (0, output()),
        "run": _run,
    }.items():
        setattr(subprocess, name, replacement)
    subprocess.Popen = Process  # type: ignore[assignment, misc]
    os.system = _succeeded
    os.popen = lambda *_args, **_options: io.StringIO(output())  # type: ignore[assignment]


def system(command: str) -> None:
    """Stand in for a line after `!`: only folders are made."""
    if ">" in command or command.split()[:1] in _FETCHING:
        absences.tell(
            "no command is run when this is graded: the files that it makes are not there"
        )
    try:
        program, *arguments = shlex.split(command)
    except ValueError:
        return
    if program == "mkdir":
        for folder in arguments:
            if not folder.startswith("-"):
                os.makedirs(folder, exist_ok=True)


class Process:
    """A program that `subprocess.Popen` would have started: it has ended well, without a word."""

    pid, returncode = 0, 0

    def __init__(self, command: Any, *_args: Any, **options: Any) -> None:
        self.args = command
        asks = options.get("stdout") is not None
        self.said = _output(**options) if asks else None
        stream = io.StringIO if isinstance(self.said, str) else io.BytesIO
        self.stdin = self.stderr = stream()
        self.stdout = stream()

    def communicate(self, *_args: Any, **_options: Any) -> tuple[Any, Any]:
        """Return no output."""
        return self.said, self.said

    def wait(self, *_args: Any, **_options: Any) -> int:
        """It has ended."""
        return 0

    poll = wait
    kill = terminate = send_signal = lambda *_: None

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def output() -> str:
    """Return no output, and tell the student that the command was not run."""
    absences.tell("no command is run when this is graded: what it would have printed is empty")
    return ""


def _succeeded(*_args: Any, **_options: Any) -> int:
    return 0


def _run(command: Any, *_args: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
    asks = options.get("capture_output") or options.get("stdout") is not None
    output = _output(**options) if asks else None
    return subprocess.CompletedProcess(command, 0, output, output)


def _output(*_args: Any, **options: Any) -> str | bytes:
    output()
    as_text = any(options.get(name) for name in ("text", "universal_newlines", "encoding"))
    return "" if as_text else b""
