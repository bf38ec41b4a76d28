"""A judge's handle on a fork server process: starts it, and carries messages to and from it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grader.sandbox import jail
from grader.sandbox.control import Control
from grader.sandbox.lockdown import Limits

# Far longer than it takes on the busiest of machines: after this it has failed.
START_SECONDS = 300.0
ANSWER_SECONDS = 60.0
ENDING_SECONDS = 5.0
LEAVE_SECONDS = 5.0


class HostError(Exception):
    """The sandbox failed, which is never the student's fault."""


@dataclass(frozen=True)
class Ending:
    """How a child ended: its wait status, and the CPU time that it used, in seconds."""

    status: int
    cpu: float


class Process:
    """A fork server process, with a line to each of the judges that it serves."""

    def __init__(
        self, isolation: str, limits: Limits, judges: int, program: str, expected: Sequence[str]
    ) -> None:
        """Start it. Raises `HostError`."""
        jailed = isolation == "jail"
        self.users = judges
        try:
            self._launch(jail.command if jailed else jail.plain_command, program)
        except OSError as error:
            raise HostError(f"the fork server could not be started: {error}") from None
        try:
            layers = jail.layers() if jailed else None
        except (ImportError, OSError, RuntimeError) as error:
            self.end()
            raise HostError(f"the jail has no filter on system calls: {error}") from None
        start = {
            "limits": dataclasses.asdict(limits),
            "scratch": None if jailed else tempfile.gettempdir(),
            "jail": layers,
            "expected": list(expected),
        }
        # If it is gone already, the first request finds out, and why.
        with contextlib.suppress(OSError):
            self.controls[0].send(start)

    def _launch(self, command: Callable[[Sequence[int], str], list[str]], program: str) -> None:
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            pairs = [
                socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(self.users)
            ]
            for our, their in pairs:
                ours.enter_context(our)
                theirs.enter_context(their)
            self.log = ours.enter_context(tempfile.TemporaryFile())
            descriptors = [their.fileno() for _, their in pairs]
            self.popen = subprocess.Popen(
                command(descriptors, program),
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.log,
                env=jail.environment(),
                # Ctrl-C at the terminal is for the judge, which then ends this.
                start_new_session=True,
            )
            self.controls = [Control(our) for our, _ in pairs]
            ours.pop_all()

    def last_words(self) -> str:
        """Return what it wrote last to standard error, once it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(ENDING_SECONDS)
        self.log.seek(max(self.log.seek(0, os.SEEK_END) - 2000, 0))
        lines = self.log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def leave(self) -> None:
        """Say that one of the judges has hung up; after the last, the process ends."""
        self.users -= 1
        if self.users == 0:
            self.end()

    def end(self) -> None:
        """Wait for the process, which ends when its lines are closed, and kill it if it is late."""
        for control in self.controls:
            control.sock.close()
        try:
            self.popen.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self.log.close()


class ForkServer:
    """A fork server, in a jail or as a plain process, as one of its judges has it.

    It imports torch in the background; the first request waits for that. It ends when each of its
    judges has called `close`, and by itself when their processes have ended.
    """

    def __init__(self, process: Process, control: Control) -> None:
        self.process = process
        self.control = control
        self.scratch: str | None = None
        self.ready = False
        self.forks = 0
        self.living: set[int] = set()
        self.endings: dict[int, Ending] = {}
        self.failures: dict[int, str] = {}

    @classmethod
    def several(
        cls,
        isolation: str,
        limits: Limits,
        program: str,
        judges: int = 1,
        expected: Sequence[str] = (),
    ) -> list[ForkServer]:
        """Start one process for several judges, each with its own handle. Raises `HostError`."""
        process = Process(isolation, limits, judges, program, expected)
        return [cls(process, control) for control in process.controls]

    def fork(self) -> tuple[int, socket.socket, int | None]:
        """Make a child: its number, the socket to it, and a pidfd where the system has them.

        Raises `HostError` when the fork server is gone.
        """
        if not self.ready:
            self.scratch = self._await("ready", START_SECONDS)["scratch"]
            self.ready = True
        self.forks += 1
        self.living.add(self.forks)
        self._send({"fork": self.forks})
        message = self._await("forked", ANSWER_SECONDS)
        try:
            sock = socket.socket(fileno=self.control.descriptor())
            return self.forks, sock, self.control.descriptor() if message["pidfd"] else None
        except OSError as error:
            raise HostError(f"no way to a new child: {error}") from None

    def kill(self, number: int, pidfd: int | None) -> None:
        """End a child with all that it started. Its exit status is discarded."""
        self.living.discard(number)
        self.endings.pop(number, None)
        self.failures.pop(number, None)
        if pidfd is None:
            with contextlib.suppress(HostError):
                self._send({"kill": number})
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)

    def ending(self, number: int) -> Ending | None:
        """Return how a child that has hung up ended, or None if that is not known in time.

        Raises `HostError` when it ended before it ran any student code, or the fork server is gone.
        """
        deadline = time.monotonic() + ENDING_SECONDS
        while number not in self.endings and number not in self.failures:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            with contextlib.suppress(TimeoutError):
                self._message(left)
        if number in self.failures:
            raise HostError(f"a child could not be locked in: {self.failures[number]}")
        return self.endings[number]

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self.control.sock.settimeout(ANSWER_SECONDS)
            self.control.send(message)
        except OSError as error:
            raise HostError(self._obituary(str(error))) from None

    def _await(self, kind: str, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        try:
            while True:
                message = self._message(max(deadline - time.monotonic(), 0.001))
                if kind in message:
                    return message
        except TimeoutError:
            raise HostError(f"the fork server is silent for {seconds:g} seconds") from None

    def _message(self, seconds: float) -> dict[str, Any]:
        self.control.sock.settimeout(seconds)
        try:
            message = self.control.receive()
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            raise HostError(self._obituary(str(error))) from None
        number = message.get("ended")
        if number in self.living:
            self.living.remove(number)
            if message["failure"] is None:
                self.endings[number] = Ending(message["status"], message["cpu"])
            else:
                self.failures[number] = message["failure"]
        return message

    def _obituary(self, reason: str) -> str:
        when = "has ended" if self.ready else "could not start"
        return f"the fork server {when}: {self.process.last_words() or reason or 'it was killed'}"

    def close(self) -> None:
        """Hang up. The last judge ends the fork server and all its children."""
        self.control.sock.close()
        self.process.leave()
        if self.process.users == 0 and self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)
