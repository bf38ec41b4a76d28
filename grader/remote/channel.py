"""The judge's line to the process that holds a student's code: frames out, replies in."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from grader.remote import stream, wire
from grader.remote.budget import Budget, Usage
from grader.remote.guard import Rule
from grader.remote.session import FoundEdit, Lost, found_edits, found_trace, unwrap
from grader.remote.trace import Value

Result = TypeVar("Result")
MAX_REPLIES = 16 << 20
MAX_EDITS = 2000
# For so many seconds a reading of what a process has used is good enough to begin a call with.
STALE = 0.05


class Process(Protocol):
    """A process at the other end of a socket."""

    @property
    def sock(self) -> socket.socket:
        """The judge's end."""

    def usage(self) -> tuple[float, float, float]:
        """What it has used, in seconds: processor time, idle, on the wall."""

    def ending(self) -> str:
        """How it ended, in a sentence, once it has hung up."""

    def close(self) -> None:
        """Ends it with all that it started."""


@dataclass(frozen=True)
class Times:
    """How long code may run for an import and for a call, and how long do nothing, in seconds.

    A notebook's cell is cut short after `cell`, and all its cells together after `notebook`.
    """

    load: float = 10.0
    call: float = 10.0
    idle: float = 5.0
    cell: float = 4.0
    notebook: float = 10.0


class Channel:
    """One submission's code, in a process of its own.

    `budget` is what is left for the part of the work that is being done. It may be exchanged.
    """

    def __init__(self, process: Process, budget: Budget, times: Times | None = None) -> None:
        self.process = process
        self.budget = budget
        self.times = times or Times()
        self.sock = process.sock
        self.inbox = stream.Inbox(process.sock)
        self.unsent = b""
        self.remarks: dict[str, list[str]] = {}
        self.notebook = False
        self.used = Usage(0.0, 0.0, 0.0)
        self.charged = 0.0

    def admit(
        self, sources: Mapping[str, str], rule: Rule, notebook: Mapping[str, Any] | None = None
    ) -> None:
        """Hands over a submission, and what its code may not use. Nothing runs yet.

        From the first `load` on, `remarks` are those on its files, by exercise.

        A `notebook` is what `grader.remote.notebook.Notebook` is made of.
        """
        handed: dict[str, Any] = {"sources": dict(sources), "rule": dict(rule)}
        if notebook:
            self.notebook = True
            handed["notebook"] = {**notebook, "seconds": [self.times.cell, self.times.notebook]}
        self.unsent = wire.encode(handed)

    def load(self, exercise: str, references: Mapping[str, bytes]) -> Any:
        """Imports an exercise of the submission; what it needs is taken from `references`.

        Gives what the process tells of a notebook's cells, which it runs instead. Raises
        `StudentError` for what it raises, `Lost`, and what `Process.ending` raises if it never ran
        any of the student's code.
        """
        asked = {"op": "load", "exercise": exercise, "references": dict(references)}
        if self.notebook:  # which keeps to its own time, and has to say so
            return self._ask(asked, "The notebook", self.times.notebook + self.times.load)
        return self._ask(asked, "The import", self.times.load)

    def _ask(self, asked: dict[str, Any], what: str = "A call", seconds: float = 0.0) -> Any:
        """Sends what is no list of requests, after the submission if that is still to go out."""
        frame, new, self.unsent = self.unsent + wire.encode(asked), bool(self.unsent), b""
        *first, body = self.gather(frame, 1 + new, what, seconds or self.times.call)
        for remarks in first:
            self.remarks = unwrap(decoded(remarks))
        return unwrap(decoded(body))

    def edits(self, exercise: str) -> list[FoundEdit]:
        """The small edits that there are of an exercise's answer. Raises `Lost`."""
        found: list[FoundEdit] = []
        while True:
            asked = {"op": "edits", "exercise": exercise, "start": len(found)}
            page = found_edits(self._ask(asked))
            found += page
            if not page or len(found) > MAX_EDITS:
                return found[:MAX_EDITS]

    def edit(self, exercise: str, numbers: Sequence[int]) -> None:
        """Loads the exercise anew with these of the edits. Raises as `load` does.

        `StudentError` too if they overlap.
        """
        self._ask({"op": "edit", "exercise": exercise, "numbers": [*numbers]})

    def follow(
        self, requests: Sequence[Any], noting: bool = False
    ) -> tuple[set[tuple[str, int]], list[Value]]:
        """The lines, by file or cell, that run when these requests are answered. Raises `Lost`.

        With `noting` also what they make.
        """
        asked = {"op": "follow", "requests": list(requests), "noting": noting}
        return found_trace(self._ask(asked))

    def exchange(self, frame: bytes, count: int) -> list[Any]:
        """Sends a frame of requests and returns the reply to each. Raises as `gather` does."""
        return [decoded(body) for body in self.gather(frame, count)]

    def gather(
        self, frame: bytes, count: int, what: str = "A call", seconds: float | None = None
    ) -> list[bytearray]:
        """Sends a frame of requests and returns the reply to each as it came, not decoded.

        Each may take `seconds` of processor time, by default what a call may. Raises `Lost` for
        what the process did, and what `Process.ending` raises.
        """
        limit = self.times.call if seconds is None else seconds
        bodies, size = [], 0
        if self.inbox.holds_more():
            raise Lost("protocol", _UNASKED)
        self.used, self.charged = Usage(*self.process.usage()), time.monotonic()
        try:
            call = Budget(what, limit, self.times.idle, self.budget)
            self._in_time(call, stream.Sending(self.sock, frame).go_on)
            for _ in range(count):
                largest = min(wire.MAX_REPLY, MAX_REPLIES - size)
                body = self.inbox.arrived(largest)
                if body is None:
                    call = Budget(what, limit, self.times.idle, self.budget)
                    body = self._in_time(call, partial(self.inbox.receive, limit=largest))
                bodies.append(body)
                size += len(body)
        except (EOFError, ConnectionError):
            raise Lost("died", self.process.ending()) from None
        except wire.WireError as error:
            raise Lost("protocol", _UNREADABLE.format(error=error)) from None
        finally:
            self._charge(self.budget)
        return bodies

    def _in_time(self, budget: Budget, step: Callable[[float], Result]) -> Result:
        """What the step returns, which is tried until the budget is used up. Raises `Lost`."""
        if time.monotonic() > self.charged + STALE:
            self._charge(self.budget)
        while True:
            refusal = budget.refusal()
            if refusal is not None:
                raise Lost("timeout", refusal)
            try:
                return step(time.monotonic() + budget.shortest())
            except TimeoutError:
                self._charge(budget)

    def _charge(self, budget: Budget) -> None:
        """Takes off the budget what the process has used since this was last done."""
        used = Usage(*self.process.usage())
        budget.spend(used - self.used)
        self.used, self.charged = used, time.monotonic()

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
