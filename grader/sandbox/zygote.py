"""The fork server: imports a program once, then forks a child of it for each that is asked for.

It is started by `grader.sandbox.forkserver` and serves one judge or several, each over a line of
its own. The answer to a request brings a socket to a child, and a pidfd by which the judge kills
it. One child is always made in advance, so that it is locked in while the judges are busy with
others. No student code runs here, and children share nothing that is written to.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import gc
import importlib
import itertools
import os
import re
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn, Protocol, cast

from grader.sandbox import lockdown
from grader.sandbox.control import Control
from grader.sandbox.lockdown import Layers, Limits

STUDENT_FD, REPORT_FD = 3, 4
DESCRIPTORS = 256
# The gaps that are filled before a fork: the largest, and all together. They come to 0.3 MB.
LARGEST_GAP, MOST_FILLED = 1 << 15, 4 << 20
ROOM_SECONDS = 30  # less than a judge waits for an answer
LOCKED = b"locked"


class Program(Protocol):
    """A module that a child runs. It knows what a student's code is; this one does not."""

    def warm(self, expected: Sequence[str]) -> None:
        """Get ready, once, before any child is forked, for what the judges expect."""

    def warm_further(self) -> None:
        """Prepare what pays off only if there will be many children."""

    def hidden_files(self) -> dict[str, bytes]:
        """Return what a jail's children are to read in place of the files at these paths."""

    def serve(self, sock: socket.socket) -> None:
        """A child's whole work, on its socket to the judge."""


@dataclasses.dataclass
class Child:
    """A child as the fork server knows it.

    `sock` is the judge's end of the socket to it, until a judge asks for a child: then it
    gets that judge's `number` and the `control` to it. What the child writes to `report` says
    whether it is locked in.
    """

    pid: int
    sock: socket.socket
    report: int
    scratch: str | None
    number: int | None = None
    control: Control | None = None

    def failure(self, status: int) -> str | None:
        """Return why the child could not be confined, None if it was. It ended with `status`."""
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
        self,
        program: Program,
        controls: Sequence[Control],
        limits: Limits,
        layers: Layers | None,
        scratch: str | None,
    ) -> None:
        self.program = program
        self.controls = list(controls)
        self.limits = limits
        self.layers = layers
        self.scratch = scratch and _folder(scratch)
        self.children: dict[int, Child] = {}
        self.spare: Child | None = None
        self.handed_over = 0
        self.folders = itertools.count()
        self.address_space = lockdown.address_space()
        self.own = os.pidfd_open(os.getpid()) if layers else -1

    def run(self) -> None:
        """Serve until the last judge hangs up, then end all that is left."""
        wake, signalled = os.pipe()
        os.set_blocking(signalled, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if lockdown.linux():
            lockdown.adopt_orphans()
        try:
            for control in self.controls:
                self.tell(control, {"ready": os.getpid(), "scratch": self.scratch})
            self.spare = self.spawn_ahead()
            while self.controls:
                lines = [control.sock.fileno() for control in self.controls]
                select.select([*lines, wake], [], [])
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 4096)
                self.reap()
                for control in list(self.controls):
                    self.serve(control)
        finally:
            self.leave()

    def serve(self, control: Control) -> None:
        """Carry out one judge's request, or forget the judge if it has hung up."""
        try:
            while control.pending() or select.select([control.sock], [], [], 0)[0]:
                self.obey(control, control.receive())
        except (EOFError, ConnectionError):
            self.controls.remove(control)
            control.sock.close()
            for child in self.children.values():
                if child.control is control:
                    os.kill(child.pid, signal.SIGKILL)

    def obey(self, control: Control, message: dict[str, Any]) -> None:
        """Carry out one request: to hand over a child, or to kill one."""
        if "fork" in message:
            self.hand_over(control, message["fork"])
            self.handed_over += 1
            if self.handed_over == 2:
                # It is a whole class, then, and nothing waits for this.
                self.program.warm_further()
                gc.freeze()
                _fill_gaps()
            self.spare = self.spawn_ahead()
            return
        for child in self.children.values():
            if child.control is control and child.number == message["kill"]:
                os.kill(child.pid, signal.SIGKILL)

    def tell(self, control: Control, message: dict[str, Any]) -> None:
        """Send a message to a judge; that one has hung up is found out when it is served."""
        with contextlib.suppress(ConnectionError):
            control.send(message)

    def hand_over(self, control: Control, number: int) -> None:
        """Give a judge a child, which it will call by `number`."""
        child, self.spare = self.spare or self.spawn_patiently(), None
        child.number, child.control = number, control
        descriptors = [child.sock.fileno()]
        if lockdown.linux():
            descriptors.append(os.pidfd_open(child.pid))
        try:
            self.send_patiently(control, {"forked": number, "pidfd": lockdown.linux()}, descriptors)
        finally:  # others are served even if this judge has just died
            for descriptor in descriptors[1:]:
                os.close(descriptor)
            child.sock.close()

    def send_patiently(
        self, control: Control, message: dict[str, Any], descriptors: Sequence[int]
    ) -> None:
        """Send descriptors, when no more of this user's are under way than one process may open.

        A student's code may have sent many, which arrive or are gone once it is killed. Raises
        `OSError` where that does not happen in time.
        """
        end = time.monotonic() + ROOM_SECONDS
        while True:
            try:
                return control.send(message, descriptors)
            except OSError as error:
                if error.errno != errno.ETOOMANYREFS or time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def spawn_ahead(self) -> Child | None:
        """Return a child that nobody has asked for yet, if this machine has room for one now."""
        with contextlib.suppress(OSError):
            return self.spawn()
        return None

    def spawn_patiently(self) -> Child:
        """Return a new child, when others have made room for it if need be.

        Raises `OSError` where they do not in time.
        """
        for _ in range(ROOM_SECONDS * 10):
            child = self.spawn_ahead()
            if child is not None:
                return child
            time.sleep(0.1)
            self.reap()
        return self.spawn()

    def spawn(self) -> Child:
        """Return a new child, which waits for what to load. Raises `OSError`."""
        scratch = None
        if self.scratch is not None:
            scratch = os.path.join(self.scratch, str(next(self.folders)))
            os.mkdir(scratch, 0o700)
        reading, writing = os.pipe()
        judge_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if self.layers:
                lockdown.next_pid_namespace(self.own)
            pid = os.fork()
        except OSError:  # no memory, or too many processes
            judge_end.close()
            child_end.close()
            os.close(reading)
            os.close(writing)
            if scratch is not None:
                os.rmdir(scratch)
            raise
        if pid == 0:
            self.child(child_end.fileno(), writing, scratch)
        child_end.close()
        os.close(writing)
        child = self.children[pid] = Child(pid, judge_end, reading, scratch)
        return child

    def reap(self) -> None:
        """Report every child that has ended, and remove what it has left behind."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self.children.pop(pid, None)
            self.clear(pid, child)
            if child is None:
                continue
            failure = child.failure(status)
            if child is self.spare:
                # Whatever it died of, the judge learns from the next one.
                self.spare = None
                child.sock.close()
                continue
            message = {
                "ended": child.number,
                "status": status,
                "cpu": usage.ru_utime + usage.ru_stime,
                "failure": failure,
            }
            if child.control in self.controls:
                self.tell(child.control, message)

    def clear(self, pid: int, child: Child | None) -> None:
        """Remove what the process `pid`, which has ended, left: processes, files in its scratch.

        In a jail the kernel has done it all. Elsewhere a child may have started others, and `child`
        is None if `pid` is one of those.
        """
        if self.scratch is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        for orphan in _children() - self.children.keys():
            with contextlib.suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)
        if child is not None and child.scratch is not None:
            shutil.rmtree(child.scratch, ignore_errors=True)

    def leave(self) -> None:
        """End every child and wait for it."""
        for pid in self.children:
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, _ = os.waitpid(-1, 0)
                self.clear(pid, self.children.pop(pid, None))
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def child(self, descriptor: int, telling: int, scratch: str | None) -> NoReturn:
        """Run the child. It never returns, whatever happens."""
        try:
            sock, telling = self.shed(descriptor, telling)
            try:
                self.lock_in(scratch)
            except BaseException as error:
                os.write(telling, f"{type(error).__name__}: {error}".encode())
                os._exit(1)
            os.write(telling, LOCKED)
            os.close(telling)
            self.program.serve(sock)
        finally:
            os._exit(0)

    def shed(self, descriptor: int, telling: int) -> tuple[socket.socket, int]:
        """Let go of all that is the zygote's. Leaves the judge's socket and where to report."""
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
        for kept, number in zip(high, (STUDENT_FD, REPORT_FD), strict=True):
            os.dup2(kept, number)
        os.closerange(REPORT_FD + 1, DESCRIPTORS)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=STUDENT_FD)
        return sock, REPORT_FD

    def lock_in(self, scratch: str | None) -> None:
        """Take on the limits of a student's process and, in a jail, its other layers."""
        os.environ.clear()
        if self.layers:
            os.environ.update(HOME=lockdown.SCRATCH, TMPDIR=lockdown.SCRATCH)
            self.layers.enter(self.limits, self.address_space)
        elif scratch is not None:
            os.chdir(scratch)
            os.environ.update(HOME=scratch, TMPDIR=scratch)
            lockdown.limit_resources(self.limits, self.address_space, jailed=False)


def _folder(parent: str) -> str:
    """Return a new folder for the files of children. Those of fork servers that were killed go."""
    for entry in os.scandir(parent):
        owner = re.fullmatch(r"grader-(\d+)-\w+", entry.name)
        if owner and entry.stat(follow_symlinks=False).st_uid == os.getuid():
            try:
                os.kill(int(owner[1]), 0)
            except ProcessLookupError:
                shutil.rmtree(entry.path, ignore_errors=True)
            except (OverflowError, PermissionError):
                continue
    return tempfile.mkdtemp(prefix=f"grader-{os.getpid()}-", dir=parent)


def _children() -> set[int]:
    """Return the processes whose parent this one is, where the system tells."""
    try:
        with open("/proc/thread-self/children") as children:
            return {int(pid) for pid in children.read().split()}
    except OSError:
        return set()


# What fills the gaps in memory that this process has freed.
_fillers: list[object] = []


def _fill_gaps() -> None:
    """Fill what is free between the objects of this process, so that children write elsewhere.

    A page that a child writes to is copied for it. New objects would come to lie in small gaps all
    over, one in each page; where there are none, they lie next to each other behind all others.
    """
    end, left = id(bytes(LARGEST_GAP)), MOST_FILLED
    for size in (*range(LARGEST_GAP + 7, 0, -16), 0):
        while left > 0 and id(block := bytes(size) if size else object()) < end:
            _fillers.append(block)
            left -= size + 16


def _forget_the_kit() -> None:
    """Make `import grader` and `import solutions` fail in student code."""
    kit = ("grader", "solutions")
    for name in list(sys.modules):
        if name.partition(".")[0] in kit:
            del sys.modules[name]
    absent: dict[str, ModuleType | None] = dict.fromkeys(kit)
    sys.modules.update(absent)  # type: ignore[arg-type]  # None is how Python marks a module as absent


def main(program: str, descriptors: Sequence[int]) -> None:
    """Serve until all judges have hung up. `program` is the module that children run.

    `descriptors` are the zygote's ends of the lines to its judges.

    What it has to know comes over the first of them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module = cast(Program, importlib.import_module(program))
    controls = [Control(socket.socket(fileno=descriptor)) for descriptor in descriptors]
    try:
        start = controls[0].receive()
    except EOFError:
        return
    module.warm(start["expected"])
    _forget_the_kit()
    jail = start["jail"]
    layers = jail and Layers(bytes.fromhex(jail["filter"]), tuple(jail["readable"]))
    if layers:
        lockdown.show_instead(module.hidden_files())
    # No more than a child closes one by one where the system cannot close a range.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    gc.freeze()
    gc.enable()
    # A model is thousands of objects; at every 700th Python would search all the new ones.
    gc.set_threshold(50_000)
    _fill_gaps()
    Zygote(module, controls, Limits(**start["limits"]), layers, start["scratch"]).run()
    # Python would take a tenth of a second to tear torch down.
    os._exit(0)
