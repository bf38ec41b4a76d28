"""The fork server: imports torch once, then forks a child for each submission it is asked to run.

It is started by `grader.sandbox.forkserver`. The answer to a request brings a socket to a child,
and a pidfd by which the judge kills it. One child is always made in advance, so that it is locked
in while the judge is busy with another. No student code runs here, and children share nothing
that is written to.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import gc
import importlib
import itertools
import os
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
from types import ModuleType
from typing import Any, NoReturn

import torch

from grader.sandbox import lockdown, server
from grader.sandbox.control import Control
from grader.sandbox.lockdown import Layers, Limits

# What students import most; a child inherits them instead of loading them.
COMMON = ("copy", "dataclasses", "einops", "functools", "jaxtyping", "numpy", "random", "typing")

STUDENT_FD, REPORT_FD = 3, 4
DESCRIPTORS = 256
LOCKED = b"locked"


def warm() -> None:
    """Touches what torch loads lazily, so that no child pays for it.

    `autograd.grad` with cotangents, which a student may use, costs 0.4 s the first time.
    """
    torch.set_num_threads(1)
    x = torch.randn(2, 3, 4, requires_grad=True)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    y = torch.einsum("bld,bmd->blm", layer(x), x).softmax(-1)
    torch.autograd.grad(y, x, torch.ones_like(y))
    torch.nn.Embedding(4, 4)(torch.tensor([1]))
    server.Server().answer({"op": "begin", "seed": 0})


@dataclasses.dataclass
class Ward:
    """A child as the fork server knows it.

    `sock` is the judge's end of the socket to it, until the judge asks for a child: then the ward
    gets the judge's `number`. What the child writes to `report` says whether it is locked in.
    """

    pid: int
    sock: socket.socket
    report: int
    scratch: str | None
    number: int | None = None

    def failure(self, status: int) -> str | None:
        """Why the child could not be locked in, None if it was. It has ended with `status`."""
        report = os.read(self.report, 4096)
        os.close(self.report)
        if report == LOCKED:
            return None
        return report.decode() or f"it ended with wait status {status}"


class Zygote:
    """Forks on request and tells how its children ended.

    `layers` are those of the jail that this process is in. Without, `scratch` is where it may make
    a folder for its children's files.
    """

    def __init__(
        self, control: Control, limits: Limits, layers: Layers | None, scratch: str | None
    ) -> None:
        self.control = control
        self.limits = limits
        self.layers = layers
        self.scratch = scratch and tempfile.mkdtemp(prefix="grader-", dir=scratch)
        self.wards: dict[int, Ward] = {}
        self.spare: Ward | None = None
        self.folders = itertools.count()
        self.address_space = lockdown.address_space()
        self.own = os.pidfd_open(os.getpid()) if layers else -1

    def run(self) -> None:
        """Serves until the judge hangs up, and then ends all that is left."""
        wake, signalled = os.pipe()
        os.set_blocking(signalled, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if lockdown.linux():
            lockdown.adopt_orphans()
        try:
            self.control.send({"ready": os.getpid(), "scratch": self.scratch})
            self.spare = self.spawn()
            while True:
                select.select([self.control.sock.fileno(), wake], [], [])
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 4096)
                self.reap()
                while self.asked():
                    self.obey(self.control.receive())
        except (EOFError, ConnectionError):
            pass  # the judge has hung up
        finally:
            self.leave()

    def asked(self) -> bool:
        """Whether the judge has sent something."""
        if self.control.pending():
            return True
        return bool(select.select([self.control.sock], [], [], 0)[0])

    def obey(self, message: dict[str, Any]) -> None:
        """Carries out one request: to hand over a child, or to kill one."""
        if "fork" in message:
            self.hand_over(message["fork"])
            self.spare = self.spawn()
            return
        for ward in self.wards.values():
            if ward.number == message["kill"]:
                os.kill(ward.pid, signal.SIGKILL)

    def hand_over(self, number: int) -> None:
        """Gives the judge a child, which it will call by `number`."""
        ward, self.spare = self.spare or self.spawn(), None
        ward.number = number
        descriptors = [ward.sock.fileno()]
        if lockdown.linux():
            descriptors.append(os.pidfd_open(ward.pid))
        self.control.send({"forked": number, "pidfd": lockdown.linux()}, descriptors)
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        ward.sock.close()

    def spawn(self) -> Ward:
        """A new child, which waits for what to load."""
        scratch = None
        if self.scratch is not None:
            scratch = os.path.join(self.scratch, str(next(self.folders)))
            os.mkdir(scratch, 0o700)
        told, telling = os.pipe()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        if self.layers:
            lockdown.next_pid_namespace(self.own)
        pid = os.fork()
        if pid == 0:
            self.child(theirs.fileno(), telling, scratch)
        theirs.close()
        os.close(telling)
        ward = self.wards[pid] = Ward(pid, ours, told, scratch)
        return ward

    def reap(self) -> None:
        """Reports every child that has ended, and removes what it has left behind."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            ward = self.wards.pop(pid, None)
            self.clear(pid, ward)
            if ward is None:
                continue
            failure = ward.failure(status)
            if ward is self.spare:
                # Whatever it died of, the judge learns from the next one.
                self.spare = None
                ward.sock.close()
                continue
            message = {
                "ended": ward.number,
                "status": status,
                "cpu": usage.ru_utime + usage.ru_stime,
                "failure": failure,
            }
            self.control.send(message)

    def clear(self, pid: int, ward: Ward | None) -> None:
        """Removes what the process `pid`, which has ended, left: processes, files in its scratch.

        In a jail the kernel has done it all. Elsewhere a child may have started others, and `ward`
        is None if `pid` is one of those.
        """
        if self.scratch is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        for orphan in _children() - self.wards.keys():
            with contextlib.suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)
        if ward is not None and ward.scratch is not None:
            shutil.rmtree(ward.scratch, ignore_errors=True)

    def leave(self) -> None:
        """Ends every child and waits for it."""
        for pid in self.wards:
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, _ = os.waitpid(-1, 0)
                self.clear(pid, self.wards.pop(pid, None))
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def child(self, descriptor: int, telling: int, scratch: str | None) -> NoReturn:
        """What the child does. It never returns, whatever happens."""
        try:
            sock, telling = self.shed(descriptor, telling)
            try:
                self.lock_in(scratch)
            except BaseException as error:
                os.write(telling, f"{type(error).__name__}: {error}".encode())
                os._exit(1)
            os.write(telling, LOCKED)
            os.close(telling)
            server.serve(sock)
        finally:
            os._exit(0)

    def shed(self, descriptor: int, telling: int) -> tuple[socket.socket, int]:
        """Lets go of all that is the zygote's. Leaves the judge's socket and where to report."""
        if lockdown.linux():
            lockdown.die_with_parent()
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        # First out of the way of each other's place.
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 8), fcntl.fcntl(telling, fcntl.F_DUPFD, 8)
        for kept, place in zip(high, (STUDENT_FD, REPORT_FD), strict=True):
            os.dup2(kept, place)
        os.closerange(REPORT_FD + 1, DESCRIPTORS)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=STUDENT_FD)
        return sock, REPORT_FD

    def lock_in(self, scratch: str | None) -> None:
        """Takes on the limits of a student's process and, in a jail, its other layers."""
        os.environ.clear()
        if self.layers:
            os.environ.update(HOME=lockdown.SCRATCH, TMPDIR=lockdown.SCRATCH)
            self.layers.enter(self.limits, self.address_space)
        elif scratch is not None:
            os.chdir(scratch)
            os.environ.update(HOME=scratch, TMPDIR=scratch)
            lockdown.limit_resources(self.limits, self.address_space, jailed=False)


def _children() -> set[int]:
    """The processes whose parent this one is, where the system tells."""
    try:
        with open("/proc/thread-self/children") as children:
            return {int(pid) for pid in children.read().split()}
    except OSError:
        return set()


def _forget_the_kit() -> None:
    """Makes `import grader` and `import solutions` fail in student code."""
    kit = ("grader", "solutions")
    for name in list(sys.modules):
        if name.partition(".")[0] in kit:
            del sys.modules[name]
    absent: dict[str, ModuleType | None] = dict.fromkeys(kit)
    sys.modules.update(absent)  # type: ignore[arg-type]  # None is how Python marks a module as absent


def main(descriptor: int) -> None:
    """The zygote's whole life. `descriptor` is its end of the line to the judge."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in COMMON:
        importlib.import_module(name)
    warm()
    control = Control(socket.socket(fileno=descriptor))
    try:
        start = control.receive()
    except EOFError:
        return
    _forget_the_kit()
    jail = start["jail"]
    layers = jail and Layers(bytes.fromhex(jail["filter"]), tuple(jail["readable"]))
    # No more than a child closes one by one where the system cannot close a range.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
    gc.collect()
    gc.freeze()
    # A model is thousands of objects; at every 700th Python would search all the new ones.
    gc.set_threshold(50_000)
    Zygote(control, Limits(**start["limits"]), layers, start["scratch"]).run()
