"""The judge's side of the sandbox: requests children, passes sockets to them, kills them."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Sequence
from functools import cache

from grader.sandbox.forkserver import Ending, ForkServer, HostError
from grader.sandbox.lockdown import Limits
from grader.sandbox.pids import PidsGroup
from grader.sandbox.program import CLOSED, ending_in_words

__all__ = ["ISOLATIONS", "Child", "Host", "HostError", "Limits"]

ISOLATIONS = ("jail", "process")
# What waits for a disk, and for a processor: https://docs.kernel.org/accounting/psi.html
PRESSURE, CPU_PRESSURE = "/proc/pressure/io", "/proc/pressure/cpu"
_PROCESS_CLOCK = 2  # the low bits of a process's CPU clock, see clock_getcpuclockid(3)
# How many times as long as it runs a thread may wait for a processor. More than that is sleep.
STARVED = 20.0


class Host:
    """A sandbox that makes children.

    `jail` keeps them from files, network, other processes and each other; `process` only gives
    each a process of its own, with limits. Making a host costs an `import torch`, which goes on in
    the background until the first child is asked for. Make it in a thread that lives as long.
    """

    def __init__(
        self,
        program: str,
        isolation: str = "process",
        limits: Limits | None = None,
        server: ForkServer | None = None,
        expected: Sequence[str] = (),
    ) -> None:
        """`program` is the module that children run, see `zygote.Program`.

        What is `expected` of it, it gets ready for once for all children.
        """
        if isolation not in ISOLATIONS:
            raise ValueError(f"isolation is one of {', '.join(ISOLATIONS)}, not {isolation!r}")
        self.isolation = isolation
        self.limits = limits or Limits()
        self.program = program
        self.expected = expected
        self.server = server or self._started()
        self.pids = PidsGroup.make(self.limits.processes)

    @classmethod
    def several(
        cls, count: int, program: str, isolation: str, expected: Sequence[str] = ()
    ) -> list[Host]:
        """Return hosts for as many judges, which cost one `import torch` between them."""
        limits = Limits()
        servers = ForkServer.several(isolation, limits, program, count, expected)
        return [cls(program, isolation, limits, server, expected) for server in servers]

    def _started(self) -> ForkServer:
        (server,) = ForkServer.several(
            self.isolation, self.limits, self.program, expected=self.expected
        )
        return server

    def fork(self) -> Child:
        """Return a new child with no code in it yet.

        A fork server that has died since it last worked is started again, once. Raises `HostError`
        if that is of no use, or if it never worked.
        """
        try:
            return self._fork()
        except HostError:
            if not self.server.ready:
                raise
        self.server.close()
        self.server = self._started()
        return self._fork()

    def _fork(self) -> Child:
        child = Child(self.server, *self.server.fork(), self.limits)
        if self.pids is not None and child.pid is not None:
            self.pids.add(child.pid)
        return child

    def let_go(self) -> None:
        """Leave the sandbox to another process, which was forked from this one and has it too."""
        self.server.control.sock.close()

    def close(self) -> None:
        """End the fork server and all its children."""
        self.server.close()
        if self.pids is not None:
            self.pids.close()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Child:
    """A process that waits at the other end of `sock` for what it is to run."""

    def __init__(
        self,
        server: ForkServer,
        number: int,
        sock: socket.socket,
        pidfd: int | None,
        limits: Limits,
    ) -> None:
        self.server = server
        self.number = number
        self.sock = sock
        self.pidfd = pidfd
        self.limits = limits
        self.began, self.idle = time.monotonic(), 0.0
        self.busy, self.looked = _stalled(PRESSURE), self.began
        self.starved, self.others = _stalled(CPU_PRESSURE), 0.0
        self.pid = None if pidfd is None else _pid(pidfd)
        self.clock = -1 if self.pid is None else ~self.pid << 3 | _PROCESS_CLOCK
        self.accounts = -1 if self.pid is None else _accounts(self.pid)

    def usage(self) -> tuple[float, float, float]:
        """Return what it has used: seconds of CPU time, seconds idle, seconds on the wall.

        Idle is when none of its threads runs or waits for a processor, nor anybody for a disk: a
        slow one is not the student's doing. How long it waits for a processor, the system tells of
        the main thread alone; of the others it counts as waiting while anybody on the machine does.
        Where the system does not tell, half of the time on the wall counts as CPU time.
        """
        now = time.monotonic()
        wall = now - self.began
        try:
            ran, waited, _ = os.pread(self.accounts, 99, 0).split()
            # Of all threads, also of those that have ended; the file is about the main one.
            processor = time.clock_gettime(self.clock)
        except (OSError, ValueError):  # it has ended, or there is no such file
            return wall / 2, 0.0, wall
        busy, starved = processor + int(waited) / 1e9 + _stalled(PRESSURE), _stalled(CPU_PRESSURE)
        others = processor - int(ran) / 1e9
        waits = min(starved - self.starved, STARVED * (others - self.others))
        self.idle += max(now - self.looked - (busy - self.busy) - max(waits, 0.0), 0.0)
        self.busy, self.looked, self.starved, self.others = busy, now, starved, others
        return processor, self.idle, wall

    def ending(self) -> str:
        """Return how it ended, in a sentence, once it has hung up.

        Raises `HostError` if it could not be locked in, so that nothing of the student's has run,
        or if the fork server has died.
        """
        ending = self.server.ending(self.number)
        return CLOSED if ending is None else _told(ending, self.limits.cpu_seconds)

    def close(self) -> None:
        """Kill the process and all that it started."""
        self.server.kill(self.number, self.pidfd)
        self.sock.close()
        if self.accounts >= 0:
            os.close(self.accounts)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _pid(pidfd: int) -> int | None:
    """Return the number of a process, None if it has ended or the system does not tell."""
    try:
        with open(f"/proc/self/fdinfo/{pidfd}") as info:
            pids = [int(line.split()[1]) for line in info if line.startswith("Pid:")]
    except OSError:
        return None
    return pids[0] if pids and pids[0] > 0 else None


def _accounts(pid: int) -> int:
    """Return what the scheduler knows of a process, as an open file, or -1 where it does not tell.

    The format is that of https://docs.kernel.org/scheduler/sched-stats.html.
    """
    try:
        return os.open(f"/proc/{pid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


@cache
def _pressure(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _stalled(path: str) -> float:
    """For how many seconds so far some process of this machine has waited for a disk or processor.

    0 where the system does not tell. It tells of no single process, so that a sleeper gains what
    others wait; the clock on the wall still ends that.
    """
    try:
        line, *_ = os.pread(_pressure(path), 199, 0).splitlines()
        return int(line.rpartition(b"total=")[2]) / 1e6
    except (OSError, ValueError):
        return 0.0


def _told(ending: Ending, cpu_seconds: float) -> str:
    status = os.waitstatus_to_exitcode(ending.status)
    if status == -signal.SIGXCPU or (status < 0 and ending.cpu >= cpu_seconds):
        return "Your code used more CPU time than it may: is there an infinite loop?"
    return ending_in_words(status)
