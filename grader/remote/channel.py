"""The judge's line to the process that holds a student's code: frames out, replies in."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any, Protocol

from grader.remote import wire
from grader.remote.guard import Rule
from grader.remote.session import Lost, unwrap

MAX_REPLIES = 16 << 20


class Allowance(Protocol):
    """How long the judge waits for an import, and for a call, in seconds."""

    @property
    def load_seconds(self) -> float:
        """For an import."""

    @property
    def call_seconds(self) -> float:
        """For a call."""


class Process(Protocol):
    """A process at the other end of a socket."""

    @property
    def sock(self) -> socket.socket:
        """The judge's end."""

    @property
    def limits(self) -> Allowance:
        """What it is allowed."""

    def ending(self) -> str:
        """How it ended, in a sentence, once it has hung up."""

    def close(self) -> None:
        """Ends it with all that it started."""


class Channel:
    """One submission's code, in a process of its own."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.sock = process.sock
        self.inbox = wire.Inbox(process.sock)
        self.unsent = b""

    def admit(self, sources: Mapping[str, str], rule: Rule) -> None:
        """Hands over a submission, and by exercise what its code may not use. Nothing runs yet."""
        self.unsent = wire.encode({"sources": dict(sources), "rule": dict(rule)})

    def load(self, exercise: str, references: Mapping[str, bytes]) -> None:
        """Imports an exercise of the submission; what it needs is taken from `references`.

        Raises `StudentError` for what it raises, `Lost`, and what `Process.ending` raises if it
        never ran any of the student's code.
        """
        asked = {"exercise": exercise, "references": dict(references)}
        frame, self.unsent = self.unsent + wire.encode(asked), b""
        (body,) = self.gather(frame, 1, self.process.limits.load_seconds)
        unwrap(decoded(body))

    def exchange(self, frame: bytes, count: int) -> list[Any]:
        """Sends a frame of requests and returns the reply to each. Raises as `gather` does."""
        return [decoded(body) for body in self.gather(frame, count)]

    def gather(self, frame: bytes, count: int, seconds: float | None = None) -> list[bytearray]:
        """Sends a frame of requests and returns the reply to each as it came, not decoded.

        Each may take `seconds`, by default what the limits allow a call. Raises `Lost` for what the
        process did, and what `Process.ending` raises.
        """
        patience = self.process.limits.call_seconds if seconds is None else seconds
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
            raise Lost("died", self.process.ending()) from None
        except wire.WireError as error:
            raise Lost("protocol", _UNREADABLE.format(error=error)) from None
        return bodies

    def close(self) -> None:
        """Kills the process and all that it started."""
        self.process.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def decoded(body: bytearray) -> Any:
    """The value of a reply as it came. Raises `Lost` if it has none."""
    try:
        return wire.decode(body)
    except wire.WireError as error:
        raise Lost("protocol", _UNREADABLE.format(error=error)) from None


_UNASKED = "Your code's process sent something that it was not asked for."
_UNREADABLE = "Your code's process sent something unreadable: {error}."
_TIMEOUT = (
    "Your code did not come back within {seconds:g} seconds: is there a loop that never ends?"
)
