"""The judge's line to the process that holds a student's code: frames out, replies in."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from grader.remote import stream, wire
from grader.remote.budget import Budget, Usage
from grader.remote.guard import Rule
from grader.remote.operators import View
from grader.remote.session import Lost, TorchCall, found_trace, torch_calls, unwrap
from grader.remote.trace import Value

Result = TypeVar("Result")
MAX_REPLIES = 16 << 20
# A reading of a process's usage stays good enough to start a call for this many seconds.
STALE = 0.05


class Process(Protocol):
    """A process at the other end of a socket."""

    @property
    def sock(self) -> socket.socket:
        """The judge's end."""

    def usage(self) -> tuple[float, float, float]:
        """Return what it has used, in seconds: CPU time, idle, on the wall."""

    def ending(self) -> str:
        """Return how it ended, in a sentence, once it has hung up."""

    def close(self) -> None:
        """End it with all that it started."""


@dataclass(frozen=True)
class Times:
    """How long code may run for an import and for a call, and how long it may idle, in seconds.

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
        self.remarks: dict[str, list[str]] | None = None
        self.notebook = False
        self.used = Usage(0.0, 0.0, 0.0)
        self.charged = 0.0

    def admit(
        self,
        sources: Mapping[str, str],
        rule: Rule,
        notebook: Mapping[str, Any] | None = None,
        memory: int | None = None,
        remarks: bool = True,
    ) -> None:
        """Send a submission and the calls its code may not use. Nothing runs yet.

        Its process may take `memory` bytes, by default as many as every other may.

        From the first `load` on, `remarks` are those on its files, by exercise, if asked for.

        A `notebook` is what `grader.notebook.notebook.Notebook` is made of.
        """
        handed: dict[str, Any] = {"sources": dict(sources), "rule": dict(rule), "remarks": remarks}
        if memory is not None:
            handed["memory"] = memory
        if notebook:
            self.notebook = True
            handed["notebook"] = {**notebook, "seconds": [self.times.cell, self.times.notebook]}
        self.unsent = wire.encode(handed)

    def load(self, exercise: str, references: Mapping[str, bytes]) -> Any:
        """Import an exercise of the submission; what it needs is taken from `references`.

        Gives what the process tells of a notebook's cells, which it runs instead. Raises
        `StudentError` for what it raises, `Lost`, and what `Process.ending` raises if it never ran
        any of the student's code.
        """
        message = {"op": "load", "exercise": exercise, "references": dict(references)}
        if self.notebook:  # which keeps to its own time, and has to say so
            return self._ask(message, "The notebook", self.times.notebook + self.times.load)
        return self._ask(message, "The import", self.times.load)

    def _ask(self, message: dict[str, Any], subject: str = "A call", seconds: float = 0.0) -> Any:
        """Send a message other than requests, after the submission if that was not sent yet."""
        frame, new, self.unsent = self.unsent + wire.encode(message), bool(self.unsent), b""
        *first, body = self.gather(frame, 1 + new, subject, seconds or self.times.call)
        for remarks in first:
            self.remarks = unwrap(decoded(remarks))
        return unwrap(decoded(body))

    def reload(self, exercise: str, texts: Mapping[str, str]) -> None:
        """Load the exercise again from other texts, by file or cell. Raises as `load` does."""
        self._ask({"op": "reload", "exercise": exercise, "texts": dict(texts)})

    def examine(self, programs: Sequence[bytes], program: bytes, token: str) -> Any:
        """Run a statement of the instructor's own test. Raises `StudentError` and `Lost`."""
        message = {"op": "examine", "programs": list(programs), "program": program, "token": token}
        return self._ask(message)

    def follow(
        self, files: Iterable[str], requests: Sequence[Any], noting: bool = False
    ) -> tuple[set[tuple[str, int]], list[Value]]:
        """Return the lines of these files or cells that run when the requests are answered.

        With `noting` also what they make. Raises `Lost`.
        """
        names = list(files)
        message = {"op": "follow", "files": names, "requests": list(requests), "noting": noting}
        lines, values = found_trace(self._ask(message))
        return {(name, line) for name, line in lines if name in names}, values

    def watch(
        self,
        exercise: str,
        texts: Mapping[str, str],
        view: View,
        ordinary: Sequence[Sequence[str]] = ((), (), ()),
    ) -> None:
        """Load texts anew and let it be noted what of torch they call that is not ordinary.

        Raises as `load` does.
        """
        message = {"op": "watch", "exercise": exercise, "texts": dict(texts), "view": view}
        self._ask({**message, "ordinary": [list(names) for names in ordinary]})

    def seen(self) -> list[TorchCall]:
        """Return what was noted since `watch`. Raises `Lost`."""
        return torch_calls(self._ask({"op": "seen"}))

    def exchange(self, frame: bytes, count: int) -> list[Any]:
        """Send a frame of requests and return the reply to each. Raises as `gather` does."""
        return [decoded(body) for body in self.gather(frame, count)]

    def gather(
        self, frame: bytes, count: int, subject: str = "A call", seconds: float | None = None
    ) -> list[bytearray]:
        """Send a frame of requests and return the reply to each as it came, not decoded.

        Each may take `seconds` of CPU time, by default what a call may. Raises `Lost` for
        what the process did, and what `Process.ending` raises.
        """
        limit = self.times.call if seconds is None else seconds
        bodies, size = [], 0
        if self.inbox.holds_more():
            raise Lost("protocol", _UNASKED)
        self.used, self.charged = Usage(*self.process.usage()), time.monotonic()
        try:
            call = Budget(subject, limit, self.times.idle, self.budget)
            self._in_time(call, stream.Sending(self.sock, frame).go_on)
            for _ in range(count):
                largest = min(wire.MAX_REPLY, MAX_REPLIES - size)
                body = self.inbox.arrived(largest)
                if body is None:
                    call = Budget(subject, limit, self.times.idle, self.budget)
                    body = self._in_time(call, partial(self.inbox.receive, limit=largest))
                bodies.append(body)
                size += len(body)
        except (EOFError, ConnectionError):
            raise Lost("died", self.process.ending()) from None
        except wire.TooLargeError as error:
            sizes = (round(size / 1e6) for size in (error.size, error.limit))
            raise Lost("protocol", _TOO_LARGE.format(*sizes)) from None
        except wire.WireError as error:
            raise Lost("protocol", _UNREADABLE.format(error=error)) from None
        finally:
            self._charge(self.budget)
        return bodies

    def _in_time(self, budget: Budget, step: Callable[[float], Result]) -> Result:
        """Repeat the step until it returns something or the budget is used up. Raises `Lost`."""
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
        """Take off the budget what the process has used since this was last done."""
        used = Usage(*self.process.usage())
        budget.spend(used - self.used)
        self.used, self.charged = used, time.monotonic()

    def close(self) -> None:
        """Kill the process and all that it started."""
        self.process.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def decoded(body: bytearray) -> Any:
    """Return the value of a reply as it came. Raises `Lost` if it has none."""
    try:
        return wire.decode(body)
    except wire.WireError as error:
        raise Lost("protocol", _UNREADABLE.format(error=error)) from None


_UNASKED = "Your code's process sent something that it was not asked for."
_TOO_LARGE = (
    "What your code returned is too large: {} MB, and at most {} MB are read. Which shape should "
    "it have?"
)
_UNREADABLE = "Your code's process sent something unreadable: {error}."
