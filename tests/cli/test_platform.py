"""Where a module or a call of the system is missing, the kit says so, and shows no traceback."""

from __future__ import annotations

import subprocess

import pytest

from tests import ROOT
from tests.tools import warm

# What Windows has not, what macOS has not, and what is not installed for students.
ABSENT = {
    "bare": (
        *("IPython", "bleach", "dask", "distributed", "matplotlib", "nbconvert", "nbformat"),
        *("nbgrader", "pyseccomp", "watchfiles"),
    ),
    "windows": ("resource", "fcntl", "pwd", "grp", "termios", "pyseccomp"),
    "macos": ("pyseccomp",),
}
CALLS: dict[str, tuple[str, ...]] = {
    "bare": (),
    "windows": (
        *("os.fork", "os.geteuid", "os.sched_getaffinity", "os.pidfd_open"),
        *("signal.setitimer", "signal.SIGALRM", "signal.pidfd_send_signal"),
    ),
    "macos": ("os.sched_getaffinity", "os.pidfd_open", "signal.pidfd_send_signal"),
}


def run(system: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the kit in a Python without what that system has not."""
    lines = [
        "import os, signal, sys",
        *(f"sys.modules[{name!r}] = None" for name in ABSENT[system]),
        *(f"del {call}" for call in CALLS[system]),
        f"sys.argv = {[program, *arguments]!r}",
        {
            "grader": "from grader.cli import main",
            "pytest": "from pytest import console_main as main",
        }[program],
        "sys.exit(main())",
    ]
    return warm.run("-c", "\n".join(lines), cwd=ROOT, libraries=warm.ALWAYS)


@pytest.mark.full(but=("windows",))
@pytest.mark.parametrize("system", ABSENT)
def test_the_doctor_has_no_traceback(system: str) -> None:
    done = run(system, "grader", "doctor")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "no." in next(line for line in done.stdout.splitlines() if line.startswith("jail"))


@pytest.mark.parametrize("options", [(), ("--isolation", "process")], ids=["jail", "process"])
def test_windows_is_told_where_the_hidden_checks_run(options: tuple[str, ...]) -> None:
    done = run("windows", "grader", "grade", "exercises", *options)
    assert done.returncode == 2
    assert "WSL" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.full(but=("bare",))
@pytest.mark.parametrize("system", ABSENT)
def test_the_public_tests_run(system: str) -> None:
    done = run(system, "pytest", "exercises/test_layer_norm.py", "-p", "no:cacheprovider")
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert "layer_norm" in done.stdout
