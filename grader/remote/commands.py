"""What the commands of a notebook come to when it is graded: none is run, and all have worked.

A first cell that installs packages must not cost what stands below it.
"""

from __future__ import annotations

import io
import os
import shlex
import subprocess
from typing import Any


def run_none() -> None:
    """Lets Python's own ways to run a command do nothing, in this process and from now on."""
    os.environ.setdefault("PATH", os.defpath)
    os.environ.setdefault("USER", "student")
    for name, replacement in {
        "call": _succeeded,
        "check_call": _succeeded,
        "check_output": _output,
        "getoutput": lambda *_args, **_options: "",
        "getstatusoutput": lambda *_args, **_options: (0, ""),
        "run": _run,
    }.items():
        setattr(subprocess, name, replacement)
    os.system = _succeeded
    os.popen = lambda *_args, **_options: io.StringIO()  # type: ignore[assignment]


def system(command: str) -> None:
    """What a line after `!` comes to: folders are made, and no more."""
    try:
        program, *arguments = shlex.split(command)
    except ValueError:
        return
    if program == "mkdir":
        for folder in arguments:
            if not folder.startswith("-"):
                os.makedirs(folder, exist_ok=True)


def _succeeded(*_args: Any, **_options: Any) -> int:
    return 0


def _run(command: Any, *_args: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
    said = _output(**options)
    return subprocess.CompletedProcess(command, 0, said, said)


def _output(*_args: Any, **options: Any) -> str | bytes:
    as_text = any(options.get(name) for name in ("text", "universal_newlines", "encoding"))
    return "" if as_text else b""
