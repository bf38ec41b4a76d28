"""The judge's end of a conversation with a student's code.

A session carries one request at a time. `Live` asks the student's process, `Recorder` asks a server
in this process and remembers what was asked, `Replay` answers from replies that came earlier.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from grader.remote import wire
from grader.remote.nested import alike, leaves
from grader.remote.server import Server
from grader.remote.trace import Value

Request = dict[str, Any]
_ROUNDING = 1e-11
# What a student raised may be so high.
MAX_LINES = 20


class StudentError(Exception):
    """The student's code raised. `kinds` names the exception's class and its bases."""

    def __init__(self, kinds: Sequence[str], text: str, file: str | None, line: int | None) -> None:
        super().__init__(f"{kinds[0]}: {text}" if text else kinds[0])
        self.kinds = tuple(kinds)
        self.text = text
        self.file = file
        self.line = line


class Interrupted(BaseException):
    """The conversation is over for this check.

    Not an `Exception`, so that nothing on its way to the judge takes it for a failed assertion.
    """


class Lost(Interrupted):
    """The student's process hung (`timeout`), died (`died`) or sent no reply (`protocol`)."""

    def __init__(self, status: Literal["timeout", "died", "protocol"], message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Use:
    """A call that is ruled out, by its readable name, and the student's line that led to it."""

    name: str
    file: str | None = None
    line: int | None = None


class ForbiddenUse(Interrupted):
    """The student's code called what an exercise asks to be written by hand."""

    def __init__(self, uses: Sequence[Use]) -> None:
        super().__init__(", ".join(use.name for use in uses))
        self.uses = tuple(uses)


class Diverged(Interrupted):
    """A replayed check asked something that was not recorded."""


class Session(Protocol):
    """Anything that answers requests."""

    def request(self, request: Request) -> Any:
        """The reply's value. Raises `StudentError` and `Interrupted`."""


class Channel(Protocol):
    """A way to a student's process that takes a frame of requests and gives back the replies."""

    def exchange(self, frame: bytes, count: int) -> Sequence[Any]:
        """Sends the frame and returns `count` decoded replies. Raises `Lost`."""


class Live:
    """Asks the student's process, one request at a time."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def request(self, request: Request) -> Any:
        """Sends the request and waits for its reply."""
        (reply,) = self.channel.exchange(wire.encode([request]), 1)
        return unwrap(reply)


class Recorder:
    """Asks a server in this process, over the same wire format, and keeps both sides.

    `waits` are the numbers of those that hand on what came out of an earlier one. They hold what
    the replies to earlier ones have to be, so whoever is asked must have sent these before.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.requests: list[Request] = []
        self.replies: list[Any] = []
        self.waits: set[int] = set()
        self._unsent: list[Tensor] = []

    def request(self, request: Request) -> Any:
        """Carries the request out here."""
        out = {tensor.untyped_storage().data_ptr() for tensor in self._unsent}
        if out and any(one.untyped_storage().data_ptr() in out for one in tensors(request)):
            self.waits.add(len(self.requests))
            self._unsent.clear()
        self.requests.append(request)
        (arrived,) = wire.crossed([request])
        self.replies.append(wire.crossed(self.server.answer(arrived)))
        reply = unwrap(self.replies[-1])
        self._unsent += tensors(reply)
        return reply


def tensors(value: Any) -> list[Tensor]:
    """All tensors in a request or the value of a reply."""
    return [leaf for leaf in leaves(value) if isinstance(leaf, Tensor)]


def answers(module: Any, requests: Sequence[Request]) -> list[Any]:
    """What a module in this process replies to requests."""
    server = Server(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong in the code is told in other words
        return [wire.crossed(server.answer(one)) for one in wire.crossed(list(requests))]


class Replay:
    """Answers from recorded requests and the replies that a student's process gave to them."""

    def __init__(self, requests: Sequence[Request], replies: Sequence[Any]) -> None:
        self.pairs = iter(zip(requests, replies, strict=True))

    def request(self, request: Request) -> Any:
        """The reply to the next recorded request. Raises `Diverged` if this is another one."""
        recorded, reply = next(self.pairs, (None, None))
        if not same(request, recorded):
            raise Diverged
        return unwrap(reply)


def same(left: Any, right: Any) -> bool:
    """Whether two requests ask the same.

    A check may hand on what came out of an earlier call. Right answers round that differently, in
    float64 by about 1e-15 of the largest number; what was recorded answers such a question too.
    """
    return alike(left, right, _same)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Tensor):
        return (
            left.dtype == right.dtype
            and left.stride() == right.stride()
            and (torch.equal(left, right) or _near(left, right))
        )
    return bool(left == right)


def _near(left: Tensor, right: Tensor) -> bool:
    if left.dtype != torch.float64 or left.shape != right.shape:
        return False
    limit = _ROUNDING * right.abs().max().item()
    return math.isfinite(limit) and (left - right).abs().max().item() <= limit


def unwrap(reply: Any) -> Any:
    """The value of a reply, which is checked before it is used.

    Raises `StudentError` for an exception of the student's, `ForbiddenUse` for a call that the
    exercise rules out, `Lost` for what is no reply.
    """
    if type(reply) is not dict or not reply.keys() <= {"ok", "error", "forbidden"}:
        raise Lost("protocol", "The reply is none of the kit's.")
    if "forbidden" in reply:
        raise ForbiddenUse(_uses(reply["forbidden"]))
    if "ok" in reply:
        return reply["ok"]
    if "error" in reply:
        raise student_error(reply["error"])
    raise Lost("protocol", "The reply is none of the kit's.")


def student_error(description: Any) -> StudentError:
    """The exception that a reply describes. Raises `Lost` if the description is malformed."""
    if type(description) is not dict or description.keys() != {"kinds", "text", "file", "line"}:
        raise Lost("protocol", "The reply is none of the kit's.")
    text, file, line = description["text"], description["file"], description["line"]
    well_formed = (
        type(text) is str
        and (file is None or type(file) is str)
        and (line is None or type(line) is int)
    )
    if not well_formed:
        raise Lost("protocol", "The reply is none of the kit's.")
    return StudentError(_texts(description["kinds"]), clean(text), file and clean(file), line)


def _uses(value: Any) -> list[Use]:
    if type(value) is not list or not value or any(type(item) is not tuple for item in value):
        raise Lost("protocol", "The reply is none of the kit's.")
    if any(list(map(type, item)) not in _USE_TYPES for item in value):
        raise Lost("protocol", "The reply is none of the kit's.")
    return [Use(clean(name)[:80], file and clean(file), line) for name, file, line in value[:8]]


_USE_TYPES = ([str, str, int], [str, type(None), type(None)])


@dataclass(frozen=True)
class CellNote:
    """What became of a cell, where and how.

    It is an `error`, `time` (it was cut short), `forbidden`, or `absent`: what it made something of
    is not there when it is graded.
    """

    cell: int
    line: int | None
    kind: str
    text: str


@dataclass(frozen=True)
class CellNotes:
    """What a process tells of a notebook's cells, and which names of an exercise are missing."""

    notes: tuple[CellNote, ...] = ()
    undefined: tuple[str, ...] = ()


def cell_notes(told: Any) -> CellNotes:
    """What the process tells, checked before it is used. Raises `Lost` if it is malformed."""
    if type(told) is not dict or told.keys() != {"notes", "undefined"}:
        raise Lost("protocol", "The reply is none of the kit's.")
    notes, undefined = told["notes"], told["undefined"]
    if type(notes) not in (list, tuple) or type(undefined) is not list:
        raise Lost("protocol", "The reply is none of the kit's.")
    return CellNotes(
        tuple(_cell_note(note) for note in notes[:50]),
        tuple(_texts(undefined)) if undefined else (),
    )


def _cell_note(note: Any) -> CellNote:
    if type(note) not in (list, tuple) or len(note) != 4:
        raise Lost("protocol", "The reply is none of the kit's.")
    cell, line, kind, text = note
    well_formed = (
        type(cell) is int
        and (line is None or type(line) is int)
        and type(kind) is str
        and type(text) is str
    )
    if not well_formed or kind not in ("error", "time", "forbidden", "absent"):
        raise Lost("protocol", "The reply is none of the kit's.")
    return CellNote(cell, line, kind, clean(text))


@dataclass(frozen=True)
class FoundEdit:
    """A small edit that a process can make: of which file or cell, where, what by what.

    The lower the `rank`, the likelier is it that such a slip was made. The texts are the student's,
    not cleaned yet. `more` are the other lines on which the like is done at the same time.
    """

    file: str
    line: int
    kind: str
    was: str
    becomes: str
    rank: int
    more: tuple[int, ...] = ()


def found_edits(told: Any) -> list[FoundEdit]:
    """The edits that a process tells of, checked before they are used. Raises `Lost`."""
    if type(told) is not list or any(type(one) is not tuple for one in told):
        raise Lost("protocol", "The reply is none of the kit's.")
    kinds = [str, int, str, str, str, int, tuple]
    if any([*map(type, one)] != kinds or {*map(type, one[-1])} - {int} for one in told):
        raise Lost("protocol", "The reply is none of the kit's.")
    return [FoundEdit(*one) for one in told]


def found_trace(told: Any) -> tuple[set[tuple[str, int]], list[Value]]:
    """The lines and values that a process tells of, checked before they are used. Raises `Lost`."""
    if type(told) is not tuple or [*map(type, told)] != [list, list]:
        raise Lost("protocol", "The reply is none of the kit's.")
    lines, values = told
    for some, kinds in ((lines, [str, int]), (values, [int, str, int, int, int, float, float])):
        if any(type(one) is not tuple or [*map(type, one)] != kinds for one in some):
            raise Lost("protocol", "The reply is none of the kit's.")
    return set(lines), values


def _texts(value: Any) -> list[str]:
    if type(value) is not list or not value or any(type(item) is not str for item in value):
        raise Lost("protocol", "The reply is none of the kit's.")
    return [clean(item)[:80] for item in value[:8]]


def clean(text: str, limit: int = 500) -> str:
    """Text from a student's process made fit to show: no control characters, not too long.

    Nor is it too high: of many lines the first are kept, of blank ones none.
    """
    if text.count("\n", 0, limit) >= MAX_LINES:
        text = "\n".join([line for line in text[:limit].split("\n") if line.strip()][:MAX_LINES])
    shown = "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}"
        for character in text[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
