"""Runs Python programs without waiting for their imports: `run("-m", "grader", "doctor")`.

A new interpreter spends two seconds of CPU time on torch and two on nbformat before it looks
at its arguments. Here a server imports the libraries once, and forks for every program: what runs
there has its own folder, environment, output and exit status, as after `subprocess.run`. Nothing of
the kit is imported beforehand, so that a test may run a changed copy of it.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, NoReturn

# What has a pytest plugin is not among them: pytest warns of what it comes too late to rewrite.
ALWAYS = ("numpy", "torch", "einops", "rich.console", "rich.table", "typer")
# What only some commands for instructors import.
NEED_MORE = {"nbgrader", "course", "demo", "report"}
COURSES = ("matplotlib.figure", "nbformat", "nbconvert", "nbgrader.apps", "bleach", "jinja2")
LONGEST_MESSAGE = 1 << 20
SECONDS = 900  # after which a program has failed


def run(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    typed: str = "",
    libraries: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """What `python ARGUMENTS` gives, where these begin with `-m MODULE` or `-c PROGRAM`.

    `typed` is what it can read. `libraries`, if any, are imported instead of the usual ones.
    """
    words = [str(argument) for argument in arguments]
    usual = (*ALWAYS, *COURSES) if NEED_MORE & {*words[:3]} else ALWAYS
    server = _server(tuple(libraries) or usual)
    with (
        tempfile.TemporaryFile() as source,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        source.write(typed.encode())
        source.seek(0)
        status = server.run(words, cwd or Path.cwd(), env or os.environ, (source, out, err))
        outputs = []
        for file in (out, err):
            file.seek(0)
            outputs.append(file.read().decode("utf-8", "replace"))
    return subprocess.CompletedProcess(["python", *words], status, *outputs)


@cache
def _server(libraries: tuple[str, ...]) -> Server:
    server = Server(libraries)
    atexit.register(server.close)
    return server


class Server:
    """The process that forks. It ends when this one does."""

    def __init__(self, libraries: tuple[str, ...]) -> None:
        self.socket, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(child_end.fileno()), *libraries]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, env=environment, pass_fds=[child_end.fileno()], stdin=subprocess.DEVNULL
        )
        child_end.close()

    def run(
        self,
        arguments: list[str],
        cwd: Path,
        env: Mapping[str, str],
        files: Sequence[IO[bytes]],
    ) -> int:
        """The exit status of a program that has these as its input, its output and its errors."""
        message = {"arguments": arguments, "cwd": str(cwd), "env": dict(env)}
        descriptors = array.array("i", [file.fileno() for file in files])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        self.socket.sendmsg([json.dumps(message).encode()], rights)
        self.socket.settimeout(SECONDS)
        pid = int(self.socket.recv(99))
        try:
            return int(self.socket.recv(99))
        except TimeoutError:
            os.killpg(pid, signal.SIGKILL)
            self.socket.settimeout(None)
            self.socket.recv(99)
            raise subprocess.TimeoutExpired(arguments, SECONDS) from None

    def close(self) -> None:
        """Ends the server."""
        self.socket.close()
        self.process.wait()


def _serve(connection: socket.socket, libraries: list[str]) -> None:
    path = sys.path[1:]
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment] # as in `conftest.py`
    for library in libraries:
        importlib.import_module(library)
    _warm_torch()
    gc.freeze()  # what was made until now, no child has to look through
    while True:
        descriptors = array.array("i")
        room = socket.CMSG_SPACE(3 * descriptors.itemsize)
        content, rights, _, _ = connection.recvmsg(LONGEST_MESSAGE, room)
        if not content:
            return
        descriptors.frombytes(rights[0][2])
        child = os.fork()
        if child == 0:
            connection.close()
            sys.path[:] = path
            _end(_become(descriptors, **json.loads(content)))
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _warm_torch() -> None:
    """Loads what torch loads when it is first used."""
    import torch

    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x.exp(), x, torch.ones(1))
    torch.testing.assert_close(x, x)


def _become(
    descriptors: array.array[int], arguments: list[str], cwd: str, env: dict[str, str]
) -> int:
    """Goes on as the interpreter of these arguments; the status that it would end with."""
    os.setsid()
    for descriptor, target in zip(descriptors, (0, 1, 2), strict=True):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    given = [os.path.abspath(folder) for folder in env.get("PYTHONPATH", "").split(":") if folder]
    kind, what, *rest = arguments
    sys.path[:0] = [cwd if kind == "-m" else "", *given]
    try:
        if kind == "-m":
            sys.argv = [what, *rest]
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.argv = ["-c", *rest]
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(status: int) -> NoReturn:
    """Ends without taking everything apart first, which takes half a second of a large process."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
