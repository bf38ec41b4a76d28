"""Serves one judge: loads the exercises of a submission, whole or with a small edit, and answers.

Nothing that this process says is believed by the judge. Requests are trusted, replies plain data.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from grader.remote import stream, wire
from grader.remote.guard import Guard, Rule
from grader.remote.modules import file_name
from grader.remote.operators import Ordinary, View, Watch, watch
from grader.remote.remarks import remarks
from grader.remote.server import Server, describe
from grader.remote.settings import Settings
from grader.remote.trace import follow
from grader.sandbox.lockdown import limit_memory

PATIENCE = 0.02
ENOUGH = 1 << 20
_DONE = wire.encode({"ok": None})


class Code(Protocol):
    """A submission's code in this process, whether files or a notebook."""

    @property
    def sources(self) -> Mapping[str, str]:
        """All its texts, by the names of their files."""

    def load(self, exercise: str, references: Mapping[str, bytes]) -> Any:
        """Return an object with an exercise's names as attributes, from the student and references.

        Raises whatever the code raises.
        """

    def told(self) -> Any:
        """Return remarks on what ran for the last `load`, if there are any."""

    def reload(self, exercise: str, texts: Mapping[str, str]) -> Any:
        """Return what holds its names once the texts of its answer, edited, have run again.

        Raises whatever they raise.
        """

    def examine(self, programs: Sequence[bytes], program: bytes, token: str) -> Any:
        """Run a statement of the instructor's own test on what the code has made.

        Raises whatever it raises.
        """


def serve(sock: socket.socket, made: Callable[..., Code]) -> None:
    """Serve one judge until it hangs up.

    `made` makes the code of what a submission consists of, and runs none of it.

    The first frame brings a submission, and is answered with the remarks on it, if they are asked
    for. Every later one says which of its exercises to load, or is about small edits of it, which
    is answered with one frame, or is a list of requests on the exercise that was loaded last, each
    answered with a frame of its own. Replies wait for one another, but only while that is quick:
    the judge allows each a time of its own.
    """
    try:
        inbox = stream.Inbox(sock)
        submission = wire.decode_trusted(inbox.receive())
        rule, memory = submission.pop("rule"), submission.pop("memory", None)
        remarked = submission.pop("remarks")
        code = made(**submission)
        # Before any of the student's code has run, so that this one reply is the kit's alone.
        stream.send(sock, _frame({"ok": remarks(code.sources) if remarked else None}))
        work = Work(code, rule, memory)
        while True:
            message = wire.decode_trusted(inbox.receive())
            if isinstance(message, dict):
                operation = message.pop("op")
                stream.send(sock, _frame(getattr(work, operation)(**message)))
            else:
                _serve(sock, work, message)
    except (EOFError, ConnectionError):
        return


def _serve(sock: socket.socket, work: Work, requests: list[dict[str, Any]]) -> None:
    waiting = bytearray()
    sent = time.monotonic()
    for request in requests:
        waiting += _frame(work.answer(request))
        if time.monotonic() - sent > PATIENCE or len(waiting) > ENOUGH:
            stream.send(sock, waiting)
            waiting.clear()
            sent = time.monotonic()
    stream.send(sock, waiting)


class Work:
    """A submission in this process: its code, and the rule that it is kept to from the first line.

    One exercise after another can be loaded. What an earlier one has set or replaced is put back
    where that is possible; the judge believes nothing but full marks after the first.
    """

    def __init__(self, code: Code, rule: Rule, memory: int | None) -> None:
        """With `memory`, the process may allocate this many more bytes."""
        if memory is not None:
            limit_memory(memory)
        self.code = code
        self.guard = Guard(rule)
        self.settings = Settings()
        self.server = _server()
        self.watching: Watch | None = None

    def follow(
        self, files: Sequence[str], requests: Sequence[dict[str, Any]], noting: bool
    ) -> dict[str, Any]:
        """Return the lines of these files that run when the requests are answered.

        With `noting` also what they make.
        """
        names = {file_name(name): name for name in files}
        trace = follow(self.server.answer, requests, names.get, noting)
        self.guard.take()
        lines = [(name, line) for name, numbers in trace.lines.items() for line in sorted(numbers)]
        return {"ok": (lines, trace.values)}

    def watch(
        self, exercise: str, texts: dict[str, str], view: View, ordinary: Sequence[Sequence[str]]
    ) -> dict[str, Any]:
        """Load an exercise anew, and note from then on what of torch its code calls."""
        names, beginnings, ruled_out = ordinary
        known = Ordinary(frozenset(names), tuple(beginnings), frozenset(ruled_out))
        self.watching = watch(view, known)
        with self.watching:
            return self.reload(exercise, texts)

    def seen(self) -> dict[str, Any]:
        """Return what was called: where, and how often."""
        if self.watching is None:
            return {"ok": []}
        return {"ok": [(*call, number) for call, number in self.watching.calls.items()]}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request on the exercise."""
        if self.watching is None:
            return self.server.answer(request)
        with self.watching:
            return self.server.answer(request)

    def reload(self, exercise: str, texts: dict[str, str]) -> dict[str, Any]:
        """Load an exercise from other texts, replacing what was loaded before."""
        self.settings.restore()
        self.server = _server(self.guard)
        try:
            self.server.module = self.code.reload(exercise, texts)
        except BaseException as error:  # an edited module may raise anything, too
            return self.server.noticed({"error": describe(error)})
        return self.server.noticed({"ok": None})

    def examine(self, **arguments: Any) -> dict[str, Any]:
        """Run a statement of the instructor's own test and reply with what came of it."""
        try:
            return {"ok": self.code.examine(**arguments)}
        except (
            BaseException
        ) as error:  # the test calls the student's code, which may raise anything
            return {"error": describe(error)}

    def load(self, exercise: str, references: dict[str, bytes]) -> dict[str, Any]:
        """Load an exercise and get ready to answer requests on it.

        The reply says what is to be reported about the code that has run for it.
        """
        self.settings.restore()
        self.server = _server(self.guard)
        reply: dict[str, Any] = {"ok": None}
        try:
            self.server.module = self.code.load(exercise, references)
            remarks = self.code.told()
            if remarks is not None:
                reply = {"ok": remarks}
                self.guard.take()  # it is reported, and had no effect
            self.server.settings = Settings()
        except BaseException as error:  # a module may raise anything while it is imported
            reply = {"error": describe(error)}
        return self.server.noticed(reply)


def _server(guard: Guard | None = None) -> Server:
    """Return a server for a student's code, which may raise anything, SystemExit included."""
    return Server(guard=guard, caught=BaseException)


def _frame(reply: dict[str, Any]) -> bytes:
    if len(reply) == 1 and reply.get("ok", reply) is None:
        return _DONE
    try:
        return wire.encode(reply)
    except Exception as error:  # a subclass of the student's may refuse to be read
        return wire.encode({"error": describe(error)})
