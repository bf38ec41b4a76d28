"""The judge's side of the sandbox: asks for children, talks to them, kills them."""

# wire and session are imported where they are used: they import torch, and while this process does
# that the fork server imports its own.

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grader.sandbox.forkserver import Ending, ForkServer, HostError
from grader.sandbox.lockdown import Limits

if TYPE_CHECKING:
    from grader.sandbox.forbidden import Rule

__all__ = ["ISOLATIONS", "Child", "Host", "HostError", "Limits"]

ISOLATIONS = ("jail", "process")
MAX_REPLIES = 16 << 20


class Host:
    """A sandbox that makes children.

    `jail` keeps them from files, network, other processes and each other; `process` only gives
    each a process of its own, with limits. Making a host costs an `import torch`, which goes on in
    the background until the first child is asked for. Make it in a thread that lives as long.
    """

    def __init__(
        self,
        isolation: str = "process",
        limits: Limits | None = None,
        server: ForkServer | None = None,
    ) -> None:
        if isolation not in ISOLATIONS:
            raise ValueError(f"isolation is one of {', '.join(ISOLATIONS)}, not {isolation!r}")
        self.isolation = isolation
        self.limits = limits or Limits()
        self.server = server or self._started()

    @classmethod
    def several(cls, count: int, isolation: str) -> list[Host]:
        """Hosts for as many judges, which cost one `import torch` between them."""
        limits = Limits()
        servers = ForkServer.several(isolation, limits, count)
        return [cls(isolation, limits, server) for server in servers]

    def _started(self) -> ForkServer:
        (server,) = ForkServer.several(self.isolation, self.limits)
        return server

    def fork(self) -> Child:
        """A new child with no code in it yet.

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
        return Child(self.server, *self.server.fork(), self.limits)

    def let_go(self) -> None:
        """Leaves the sandbox to another process, which was forked from this one and has it too."""
        self.server.control.sock.close()

    def close(self) -> None:
        """Ends the fork server and all its children."""
        self.server.close()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Child:
    """One process with one submission's code in it."""

    def __init__(
        self,
        server: ForkServer,
        number: int,
        sock: socket.socket,
        pidfd: int | None,
        limits: Limits,
    ) -> None:
        from grader.sandbox import wire

        self.server = server
        self.number = number
        self.sock = sock
        self.pidfd = pidfd
        self.inbox = wire.Inbox(sock)
        self.unsent = b""
        self.limits = limits

    def admit(self, sources: Mapping[str, str], rules: Mapping[str, Rule]) -> None:
        """Hands over a submission, and by exercise what its code may not use. Nothing runs yet."""
        from grader.sandbox import wire

        self.unsent = wire.encode({"sources": dict(sources), "rules": dict(rules)})

    def load(self, exercise: str, references: Mapping[str, bytes]) -> None:
        """Imports an exercise of the submission; what it needs is taken from `references`.

        Raises `StudentError` for what it raises, `Lost`, and `HostError` if the child could not be
        locked in: then nothing of the student's has run.
        """
        from grader.sandbox import wire
        from grader.sandbox.session import unwrap

        asked = {"exercise": exercise, "references": dict(references)}
        frame, self.unsent = self.unsent + wire.encode(asked), b""
        (body,) = self.gather(frame, 1, self.limits.load_seconds)
        unwrap(decoded(body))

    def exchange(self, frame: bytes, count: int) -> list[Any]:
        """Sends a frame of requests and returns the reply to each. Raises as `gather` does."""
        return [decoded(body) for body in self.gather(frame, count)]

    def gather(self, frame: bytes, count: int, seconds: float | None = None) -> list[bytearray]:
        """Sends a frame of requests and returns the reply to each as it came, not decoded.

        Each may take `seconds`, by default what the limits allow a call. Raises `Lost` for what the
        child did, `HostError` if the fork server has died.
        """
        from grader.sandbox import wire
        from grader.sandbox.session import Lost

        patience = self.limits.call_seconds if seconds is None else seconds
        bodies, size = [], 0
        if self.inbox.holds_more():
            raise Lost("protocol", _UNASKED)
        try:
            wire.send(self.sock, frame, time.monotonic() + patience)
            for _ in range(count):
                limit = min(wire.MAX_REPLY, MAX_REPLIES - size)
                bodies.append(self.inbox.receive(time.monotonic() + patience, limit))
                size += len(bodies[-1])
        except TimeoutError:
            raise Lost("timeout", _TIMEOUT.format(seconds=patience)) from None
        except (EOFError, ConnectionError):
            raise Lost("died", self._ending()) from None
        except wire.WireError as error:
            raise Lost("protocol", _UNREADABLE.format(error=error)) from None
        return bodies

    def _ending(self) -> str:
        ending = self.server.ending(self.number)
        return _CLOSED if ending is None else _told(ending, self.limits.cpu_seconds)

    def close(self) -> None:
        """Kills the process and all that it started."""
        self.server.kill(self.number, self.pidfd)
        self.sock.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def decoded(body: bytearray) -> Any:
    """The value of a reply as it came. Raises `Lost` if it has none."""
    from grader.sandbox import wire
    from grader.sandbox.session import Lost

    try:
        return wire.decode(body)
    except wire.WireError as error:
        raise Lost("protocol", _UNREADABLE.format(error=error)) from None


_UNASKED = "Your code's process sent something that it was not asked for."
_UNREADABLE = "Your code's process sent something unreadable: {error}."
_TIMEOUT = (
    "Your code did not come back within {seconds:g} seconds: is there a loop that never ends?"
)
_CLOSED = "Your code closed its connection to the grader."


def _told(ending: Ending, cpu_seconds: float) -> str:
    if not os.WIFSIGNALED(ending.status):
        return "Your code ended its own process (os._exit does that)."
    number = os.WTERMSIG(ending.status)
    if number == signal.SIGXCPU or ending.cpu >= cpu_seconds:
        return "Your code used more processor time than it may: is there a loop that never ends?"
    if number == signal.SIGSEGV:
        return "Your code crashed Python (segmentation fault)."
    if number == signal.SIGKILL:
        return "Your code's process was killed: did it ask for too much memory?"
    return f"Your code's process was ended by {signal.Signals(number).name}."
