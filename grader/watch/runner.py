"""Runs public tests again and again, for `grader watch`.

It imports what every run needs, says that it is ready, and waits for lines such as
`{"number": 3, "exercises": ["attention"], "hint": null}`. Where it can, it forks for each;
elsewhere it runs one and ends, and another that has been waiting takes the next. Either way no run
sees what an earlier one left behind, and every file of the student's is read anew.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import torch
from hypothesis import strategies
from hypothesis.configuration import set_hypothesis_home_dir
from torch import nn

from grader.board import pointers, probe, time_limit
from grader.board.progress import Progress
from grader.board.rendering import WIDTH, hint_lines
from grader.board.result import Result
from grader.board.workspace import Workspace
from grader.curriculum import CurriculumError
from grader.feedback import records
from grader.feedback.comparison import Mismatch, assert_matches
from grader.recognition.likeness import parsed
from grader.watch.programs import FORKS, Message

Say = Callable[[Message], None]
SECONDS = 5.0  # of CPU time, for a public test that should take milliseconds


def main(path: str) -> None:
    """Serve the folder at `path` until standard input is closed."""
    folder = Path(path).resolve()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    jobs, out = _own_channels()

    def say(message: Message) -> None:
        line = json.dumps(message).encode() + b"\n"
        while line:
            line = line[os.write(out, line) :]

    sys.path.insert(0, str(folder.parent))
    set_hypothesis_home_dir(folder.parent / ".pytest_cache" / "d" / "hypothesis")
    time_limit.SECONDS = SECONDS
    warm_up(folder)
    say({"ready": True})
    if FORKS:
        _fork_for_each(jobs, folder, say)
    else:
        with os.fdopen(jobs, "rb") as lines:
            job = lines.readline()
        if job:
            _run(json.loads(job), folder, say)


def _own_channels() -> tuple[int, int]:
    """Standard input and output, out of the reach of what the student's code reads and prints."""
    jobs, out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    return jobs, out


def warm_up(folder: Path) -> None:
    """Import and touch what public tests and answers use, so that no run pays for it."""
    for name in _imported(folder):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    torch.set_num_threads(1)

    @hypothesis.given(strategies.integers(1, 3), strategies.booleans())
    def use(length: int, wrong: bool) -> None:
        x = torch.randn(2, length, 4, requires_grad=True)
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        y = layer.eval()(x) + nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)[0]
        torch.autograd.grad(y.softmax(-1), x, torch.ones_like(y))
        with contextlib.suppress(Mismatch):
            assert_matches(y + wrong, y, "y", axes=("batch", "length", "d_model"))

    probe.calm(use)()
    gc.collect()
    gc.freeze()  # what exists now stays, so that no run scans it again


def _imported(folder: Path) -> Iterator[str]:
    """Yield the installed modules that the folder's files import, without the student's own."""
    for path in sorted(path for path in folder.glob("*.py") if path.is_file()):
        try:
            source = path.read_bytes()
        except OSError:
            continue
        for node in ast.walk(parsed(source)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            yield from (name for name in names if _is_installed(name, folder))


def _is_installed(name: str, folder: Path) -> bool:
    own = name.split(".")[0]
    if not own or own == folder.name:
        return False
    try:
        spec = importlib.util.find_spec(own)
    except (ImportError, ValueError):
        return False
    if spec is None or spec.origin is None:
        return False
    path = Path(spec.origin)
    return own == "grader" or "site-packages" in path.parts or folder.parent not in path.parents


def _fork_for_each(jobs: int, folder: Path, say: Say) -> None:
    """Fork a child for every job; a new job, or none, ends the child of the one before."""
    child = number = 0
    alive = -1  # a pipe that ends with the child
    incomplete = b""
    while True:
        readable, _, _ = select.select([jobs, alive] if child else [jobs], [], [])
        if child and alive in readable:
            os.waitpid(child, 0)
            os.close(alive)
            child = 0
            say({"number": number, "over": True})
        if jobs in readable:
            data = os.read(jobs, 1 << 16)
            *lines, incomplete = (incomplete + data).split(b"\n")
            if child and (lines or not data):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                os.close(alive)
                child = 0
            if not data:
                return
            job = json.loads(lines[-1]) if lines else {"exercises": []}
            if job["exercises"]:
                number = job["number"]
                child, alive = _forked(job, jobs, folder, say)


def _forked(job: Message, jobs: int, folder: Path, say: Say) -> tuple[int, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(jobs)
    os.close(reading)
    try:
        _run(job, folder, say)
    finally:
        os._exit(0)


def _run(job: dict[str, Any], folder: Path, say: Say) -> None:
    number = job["number"]
    workspace = Workspace(folder, Path.cwd())
    for exercise in job["exercises"]:
        if job["picture"]:
            say({"number": number, "drawn": _drawn(exercise, workspace, Path(job["picture"]))})
            continue
        results = []
        say({"number": number, "exercise": exercise})
        for result in probe.run(workspace, exercise):
            results.append(result)
            say({"number": number, "test": result.test})
        if job["hint"] is None:
            progress = Progress(exercise, tuple(workspace.tests(exercise)))
            for result in results:
                progress.add(result)
            module = partial(probe.module, workspace, exercise)
            pointers.point(exercise, progress.failures(), workspace, module)
            reported = records.fields(results)
            say({"number": number, "progress": exercise, "results": reported})
        else:
            say({"number": number, **_hinted(exercise, results, workspace, job["hint"])})


def _drawn(exercise: str, workspace: Workspace, file: Path) -> list[str]:
    """Return what `grader show` says of an exercise, once it is drawn into the file."""
    from grader.board import showing

    def answers(name: str) -> Any:
        return importlib.import_module(f"{workspace.folder.name}.{name}")

    picture, notes = showing.drawn(exercise, answers, workspace, file.suffix)
    try:
        file.write_bytes(picture)
    except OSError as error:
        return [f"{file.name} cannot be written here ({error.strerror})."]
    return [*showing.sentences(exercise, notes), "", f"Drawn in {file.name}"]


def _hinted(
    exercise: str, results: Sequence[Result], workspace: Workspace, given: dict[str, Any]
) -> Message:
    """Return one hint more on what is wrong, or why there is none."""
    from grader.board import hints, known

    module, source = probe.module(workspace, exercise), workspace.source(exercise)
    try:
        limit = workspace.limit_of_hints
        shown = hints.ask(exercise, results, module, source, given, limit)
    except (known.NoHintsError, CurriculumError) as error:
        return {"no_hint": str(error)}
    return {"hint": list(hint_lines(shown, WIDTH)), "given": given}
