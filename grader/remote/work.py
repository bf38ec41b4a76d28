"""Serves one judge: loads the exercises of a submission, whole or with a small edit, and answers.

Nothing that this process says is believed by the judge. Requests are trusted, replies plain data.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import Any

from grader.remote import stream, wire
from grader.remote.edits import edits
from grader.remote.guard import Guard, Rule
from grader.remote.modules import Modules, file_name
from grader.remote.notebook import Notebook, cell_sources
from grader.remote.remarks import remarks
from grader.remote.server import Server, describe
from grader.remote.settings import Settings
from grader.remote.source import Edit, Source, parsed
from grader.remote.trace import follow

PAGE = 300  # edits to a reply
PATIENCE = 0.02
ENOUGH = 1 << 20
_DONE = wire.encode({"ok": None})


def serve(sock: socket.socket) -> None:
    """Serves one judge until it hangs up.

    The first frame brings a submission, and is answered with the remarks on it. Every later one
    says which of its exercises to load, or is about small edits of it, which is answered with one
    frame, or is a list of requests on the exercise that was loaded last, each answered with a frame
    of its own. Replies wait for
    one another, but only while that is quick: the judge allows each a time of its own.
    """
    try:
        inbox = stream.Inbox(sock)
        submission = wire.decode_trusted(inbox.receive())
        # Before any of the student's code has run, so that this one reply is the kit's alone.
        notebook = submission.get("notebook")
        sources = cell_sources(notebook["cells"]) if notebook else submission["sources"]
        stream.send(sock, _frame({"ok": remarks(sources)}))
        work = Work(**submission)
        while True:
            asked = wire.decode_trusted(inbox.receive())
            if isinstance(asked, dict):
                operation = asked.pop("op")
                stream.send(sock, _frame(getattr(work, operation)(**asked)))
            else:
                _serve(sock, work.server, asked)
    except (EOFError, ConnectionError):
        return


def _serve(sock: socket.socket, server: Server, requests: list[dict[str, Any]]) -> None:
    waiting = bytearray()
    sent = time.monotonic()
    for request in requests:
        waiting += _frame(server.answer(request))
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

    def __init__(
        self, sources: dict[str, str], rule: Rule, notebook: dict[str, Any] | None = None
    ) -> None:
        self.modules = Modules(sources)
        self.notebook = Notebook(**notebook) if notebook else None
        self.guard = Guard(rule)
        self.settings = Settings()
        self.server = Server()
        self.texts: dict[str, str] = {}
        self.parsed: dict[str, Source] = {}
        self.found: list[tuple[str, Edit]] = []

    def edits(self, exercise: str, start: int) -> dict[str, Any]:
        """The small edits of an exercise's answer, from number `start` on, a page of them."""
        if not start:
            if self.notebook:
                self.texts = self.notebook.files(exercise)
            else:
                self.texts = {exercise: self.modules.sources[exercise]}
            self.parsed = parsed(self.texts)
            every = [(file, one) for file, source in self.parsed.items() for one in edits(source)]
            self.found = sorted(every, key=lambda one: one[1].rank)
        page = self.found[start : start + PAGE]
        return {
            "ok": [
                (file, one.line, one.kind, one.was, one.becomes, one.rank, self._lines(file, one))
                for file, one in page
            ]
        }

    def _lines(self, file: str, edit: Edit) -> tuple[int, ...]:
        return tuple(self.parsed[file].line(start) for start, *_ in edit.others)

    def follow(self, requests: Sequence[dict[str, Any]], noting: bool) -> dict[str, Any]:
        """The lines that run when these requests are answered, and with `noting` what they make."""
        names = {file_name(name): name for name in self.parsed}
        trace = follow(self.server.answer, requests, names.get, noting)
        self.guard.take()
        ran = {name: self.parsed[name].whole(lines) for name, lines in trace.lines.items()}
        lines = [(name, line) for name, some in ran.items() for line in sorted(some)]
        return {"ok": (lines, trace.values)}

    def edit(self, exercise: str, numbers: Sequence[int]) -> dict[str, Any]:
        """Loads an exercise with some of the edits, in the place of what was loaded before."""
        self.settings.restore()
        self.server = Server(guard=self.guard)
        try:
            texts = dict(self.texts)
            for name in {self.found[number][0] for number in numbers}:
                made = [edit for file, edit in map(self.found.__getitem__, numbers) if file == name]
                texts[name] = self.parsed[name].edited(*made)
            if self.notebook:
                self.server.module = self.notebook.reload(texts)
            else:
                self.server.module = self.modules.reload(exercise, texts[exercise])
        except BaseException as error:  # an edited module may raise anything, too
            return self.server.noticed({"error": describe(error)})
        return self.server.noticed({"ok": None})

    def load(self, exercise: str, references: dict[str, bytes]) -> dict[str, Any]:
        """Imports an exercise and gets ready to answer requests on it.

        In place of importing a notebook's cells are run; what is to be told of them is the reply.
        """
        self.settings.restore()
        self.server = Server(guard=self.guard)
        reply: dict[str, Any] = {"ok": None}
        try:
            if self.notebook:
                self.server.module = self.notebook.load(exercise, references)
                reply = {"ok": self.notebook.told()}
                self.guard.take()  # it is told of, and nothing came of it
            else:
                self.server.module = self.modules.load(exercise, references)
            self.server.settings = Settings()
        except BaseException as error:  # a module may raise anything while it is imported
            reply = {"error": describe(error)}
        return self.server.noticed(reply)


def _frame(reply: dict[str, Any]) -> bytes:
    if len(reply) == 1 and reply.get("ok", reply) is None:
        return _DONE
    try:
        return wire.encode(reply)
    except Exception as error:  # a subclass of the student's may refuse to be read
        return wire.encode({"error": describe(error)})
