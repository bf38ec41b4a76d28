"""Runs notebooks in IPython itself and says what the hidden checks find.

`python -m tests.tools.kernel [NAME ...]` is what grading is compared with. Each exercise of each
notebook of `tests/data/notebooks` gets a process of its own, in which IPython's shell runs the
cells above the tests. What the exercise builds on is the reference throughout. Prints {notebook:
{exercise: {check: passed}}} as JSON.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import DATA

NOTEBOOKS = DATA / "notebooks"
CELL_SECONDS = 2
_CELL = re.compile(r"^# %%(?: \[(\w+)\])?(?: ([\w-]+))?$", re.MULTILINE)
_VERDICT = re.compile(r"^# (\w+): (right|wrong|forbidden)$", re.MULTILINE)


def cells(path: Path) -> list[tuple[str, str, str]]:
    """The kind, the source and nbgrader's name of each cell."""
    parts = _CELL.split(path.read_text(encoding="utf-8"))[1:]
    return [
        (kind or "code", source.strip("\n"), name or "")
        for kind, name, source in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]


def verdicts(path: Path) -> dict[str, str]:
    """By exercise: right, wrong, or forbidden, which a kernel takes for right."""
    head = _CELL.split(path.read_text(encoding="utf-8"))[0]
    return dict(_VERDICT.findall(head))


def main() -> None:
    """Runs those that are named, or all, each with its own folder to write to."""
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    import torch

    torch.set_num_threads(1)
    # What torch loads when it is first used, it loads once and not in every child.
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x.exp(), x, torch.ones(1))
    torch.testing.assert_close(x, x)
    with tempfile.TemporaryDirectory() as settings:
        os.environ["IPYTHONDIR"] = settings
        _shell()
    results: dict[str, dict[str, Any]] = {}
    paths = [NOTEBOOKS / f"{name}.py" for name in sys.argv[1:]]
    for path in paths or sorted(NOTEBOOKS.glob("*.py")):
        results[path.stem] = {exercise: _apart(path, exercise) for exercise in verdicts(path)}
    print(json.dumps(results))


def _apart(path: Path, exercise: str) -> dict[str, bool]:
    _cases(exercise)  # once for all that are forked from here
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.environ["IPYTHONDIR"] = folder
            with os.fdopen(writing, "w") as report:
                json.dump(_examined(path, exercise), report)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as report:
        reply = report.read()
    os.waitpid(child, 0)
    if not reply:
        sys.exit(f"{path.name}: the process of {exercise} ended without a result")
    result: dict[str, bool] = json.loads(reply)
    return result


def _examined(path: Path, exercise: str) -> dict[str, bool]:
    from grader.remote.proxy import Student
    from grader.remote.server import Server
    from grader.remote.session import Interrupted, Recorder
    from grader.remote.standins import StandIns

    shell = _shell()
    shell.user_ns["_dh"][:] = [os.getcwd()]
    sys.meta_path.append(StandIns())  # for what is not installed here, and was at the student's
    sys.path.insert(0, "")
    _run(shell, path, exercise)
    answer = _Names(shell.user_ns)
    results = {}
    for check, drawn in _cases(exercise):
        results[check.name] = True
        for arguments in drawn:
            try:
                check.body(Student(Recorder(Server(answer)), 1), **arguments)
            except (Exception, Interrupted):
                results[check.name] = False
                break
    return results


@functools.cache
def _shell() -> Any:
    """IPython's shell, made before the fork: it keeps no thread."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.ask_exit = lambda: None  # a kernel ends when it is idle
    for magic in ("check", "matplotlib"):
        shell.register_magic_function(lambda *_: None, "line_cell", magic)
    return shell


@functools.cache
def _cases(exercise: str) -> list[tuple[Any, list[dict[str, Any]]]]:
    from grader.checks import framework
    from grader.grading.recording import draw

    return [(check, draw(check, 1)) for check in framework.load(exercise)]


def _run(shell: Any, path: Path, exercise: str) -> None:
    listed = cells(path)
    tests = [i for i, (_, _, name) in enumerate(listed) if name == f"{exercise}-points"]
    given = dict(_references(exercise))
    shell.user_ns.update(given)
    for kind, source, name in listed[: tests[-1] if tests else None]:
        if kind != "code":
            continue
        before = {entry: shell.user_ns.get(entry) for entry in given}
        with _limited():
            shell.run_cell(source, store_history=True)
        for entry in given:
            if name != exercise and shell.user_ns.get(entry) is not before[entry]:
                shell.user_ns[entry] = given[entry]
    # A cell may have changed the reference's objects.
    fresh = dict(_references(exercise))
    for entry in given:
        if shell.user_ns.get(entry) is given[entry]:
            shell.user_ns[entry] = fresh[entry]


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Interrupts a cell after so much CPU time, and one that waits instead of running."""
    ran = time.process_time()

    def look(*_: object) -> None:
        nonlocal ran
        before, ran = ran, time.process_time()
        if ran - before < CELL_SECONDS / 50:
            raise KeyboardInterrupt

    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_PROF, CELL_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, CELL_SECONDS, CELL_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _references(exercise: str) -> Iterator[tuple[str, Any]]:
    from grader import curriculum

    for name in [name for name in sys.modules if name.partition(".")[0] == "solutions"]:
        del sys.modules[name]
    for need in curriculum.closure(exercise):
        module = importlib.import_module(f"solutions.{need}")
        for entry in curriculum.find(need).entries:
            yield entry, getattr(module, entry)


class _Names:
    """The names of a notebook as the attributes of a module."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names

    def __getattr__(self, name: str) -> Any:
        try:
            return self.names[name]
        except KeyError:
            raise NameError(name) from None


if __name__ == "__main__":
    main()
