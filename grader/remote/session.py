"""The judge's end of a conversation with a student's code.

A session carries one request at a time. `Live` asks the student's process, `Recorder` asks a server
in this process and remembers what was asked, `Replay` answers from replies that came earlier.
"""

from __future__ import annotations

import math
import re
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
MAX_CALLS = 300


class StudentError(Exception):
    """The student's code raised. `kinds` names the exception's class and its bases.

    `asked` is the request to which this is the reply, where that is known.
    """

    asked: Request | None = None

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


class Malformed(Lost):
    """The student's process sent something that is not a reply."""

    def __init__(self) -> None:
        super().__init__("protocol", "The reply is malformed.")


@dataclass(frozen=True)
class Use:
    """A call that is ruled out, by its readable name, and the student's line that led to it."""

    name: str
    file: str | None = None
    line: int | None = None


class ForbiddenUse(Interrupted):
    """The student's code called what the exercise forbids."""

    def __init__(self, uses: Sequence[Use]) -> None:
        super().__init__(", ".join(use.name for use in uses))
        self.uses = tuple(uses)


class Diverged(Interrupted):
    """A replayed check asked something that was not recorded."""


class Session(Protocol):
    """Anything that answers requests."""

    def request(self, request: Request) -> Any:
        """Return the reply's value. Raises `StudentError` and `Interrupted`."""


class Channel(Protocol):
    """A way to a student's process that takes a frame of requests and gives back the replies."""

    def exchange(self, frame: bytes, count: int) -> Sequence[Any]:
        """Send the frame and return `count` decoded replies. Raises `Lost`."""


class Live:
    """Asks the student's process, one request at a time."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def request(self, request: Request) -> Any:
        """Send the request and wait for its reply."""
        (reply,) = self.channel.exchange(wire.encode([request]), 1)
        return _answer(reply, request)


class Recorder:
    """Asks a server in this process, over the same wire format, and keeps both sides.

    `waits` are the numbers of those that hand on what came out of an earlier one. They hold what
    the replies to earlier ones have to be, so whoever is asked must have sent these before.
    `shares` is whether whoever asked has drawn random numbers in between, from the generator that
    the server uses: in a process of its own that replies otherwise.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.requests: list[Request] = []
        self.replies: list[Any] = []
        self.waits: set[int] = set()
        self.shares = False
        self._generator: Tensor | None = None
        self._unsent: list[Tensor] = []

    def request(self, request: Request) -> Any:
        """Carry the request out here."""
        out = {tensor.untyped_storage().data_ptr() for tensor in self._unsent}
        if out and any(tensor.untyped_storage().data_ptr() in out for tensor in tensors(request)):
            self.waits.add(len(self.requests))
            self._unsent.clear()
        self.requests.append(request)
        (arrived,) = wire.crossed([request])
        before = self._generator
        self.shares |= before is not None and not before.equal(torch.get_rng_state())
        answer = wire.encode(self.server.answer(arrived))
        # A check may edit what it is given, and what is kept stays as it was.
        kept, given = (wire.decode_trusted(wire.body(answer)) for _ in range(2))
        self.replies.append(kept)
        self._generator = torch.get_rng_state()
        reply = unwrap(given)
        self._unsent += tensors(reply)
        return reply


def tensors(value: Any) -> list[Tensor]:
    """Return all tensors in a request or the value of a reply."""
    return [leaf for leaf in leaves(value) if isinstance(leaf, Tensor)]


def answers(module: Any, requests: Sequence[Request]) -> list[Any]:
    """Return what a module in this process replies to requests."""
    server = Server(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # problems in the code are reported as findings
        return [wire.crossed(server.answer(request)) for request in wire.crossed(list(requests))]


class Replay:
    """Answers from recorded requests and the replies that a student's process gave to them."""

    def __init__(self, requests: Sequence[Request], replies: Sequence[Any]) -> None:
        self.pairs = iter(zip(requests, replies, strict=True))

    def request(self, request: Request) -> Any:
        """Return the reply to the next recorded request. Raises `Diverged` for any other."""
        recorded, reply = next(self.pairs, (None, None))
        if not same(request, recorded):
            raise Diverged
        return _answer(reply, request)


def same(left: Any, right: Any) -> bool:
    """Return whether two requests ask the same.

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


def _answer(reply: Any, request: Request) -> Any:
    """Return the value of the reply to a request, which an error of the student's then knows."""
    try:
        return unwrap(reply)
    except StudentError as error:
        error.asked = request
        raise


def unwrap(reply: Any) -> Any:
    """Return the value of a reply, which is checked before it is used.

    Raises `StudentError` for an exception of the student's, `ForbiddenUse` for a call that the
    exercise rules out, `Malformed` for anything else.
    """
    if type(reply) is not dict or not reply.keys() <= {"ok", "error", "forbidden"}:
        raise Malformed
    if "forbidden" in reply:
        raise ForbiddenUse(_uses(reply["forbidden"]))
    if "ok" in reply:
        return reply["ok"]
    if "error" in reply:
        raise student_error(reply["error"])
    raise Malformed


def student_error(description: Any) -> StudentError:
    """Return the exception that a reply describes. Raises `Lost` for a malformed description."""
    if type(description) is not dict or description.keys() != {"kinds", "text", "file", "line"}:
        raise Malformed
    text, file, line = description["text"], description["file"], description["line"]
    well_formed = (
        type(text) is str
        and (file is None or type(file) is str)
        and (line is None or type(line) is int)
    )
    if not well_formed:
        raise Malformed
    return StudentError(_texts(description["kinds"]), clean(text), file and clean(file), line)


def _uses(value: Any) -> list[Use]:
    if type(value) is not list or not value or any(type(item) is not tuple for item in value):
        raise Malformed
    if any(list(map(type, item)) not in _USE_TYPES for item in value):
        raise Malformed
    return [Use(clean(name)[:80], file and clean(file), line) for name, file, line in value[:8]]


_USE_TYPES = ([str, str, int], [str, type(None), type(None)])


@dataclass(frozen=True)
class CellNote:
    """The outcome of a cell.

    It is an `error`, `time` (it was cut short), `forbidden`, or `absent`: what it made something of
    is not there when it is graded.
    """

    cell: int
    line: int | None
    kind: str
    text: str


@dataclass(frozen=True)
class CellNotes:
    """A process's report on a notebook's cells, and an exercise's missing names."""

    notes: tuple[CellNote, ...] = ()
    undefined: tuple[str, ...] = ()


def cell_notes(reply: Any) -> CellNotes:
    """Return the process's report, validated. Raises `Lost` if it is malformed."""
    if type(reply) is not dict or reply.keys() != {"notes", "undefined"}:
        raise Malformed
    notes, undefined = reply["notes"], reply["undefined"]
    if type(notes) not in (list, tuple) or type(undefined) is not list:
        raise Malformed
    return CellNotes(
        tuple(_cell_note(note) for note in notes[:50]),
        tuple(_texts(undefined)) if undefined else (),
    )


# Of a cell that was cut short, something is said beside full marks, too: no words of the student's.
_TIME = re.compile(r"[\d.e+-]{1,9} seconds (of CPU time|in which it did nothing)")


def _cell_note(note: Any) -> CellNote:
    if type(note) not in (list, tuple) or len(note) != 4:
        raise Malformed
    cell, line, kind, text = note
    well_formed = (
        type(cell) is int
        and cell >= 0
        and (line is None or type(line) is int)
        and type(kind) is str
        and type(text) is str
    )
    if not well_formed or kind not in ("error", "time", "forbidden", "absent"):
        raise Malformed
    if kind == "time" and not _TIME.fullmatch(text):
        raise Malformed
    return CellNote(cell, line, kind, clean(text))


def found_trace(reply: Any) -> tuple[set[tuple[str, int]], list[Value]]:
    """Return the lines and values that a process reports, validated. Raises `Lost`."""
    if type(reply) is not tuple or [*map(type, reply)] != [list, list]:
        raise Malformed
    lines, values = reply
    for rows, kinds in ((lines, [str, int]), (values, [int, str, int, int, int, float, float])):
        if any(type(item) is not tuple or [*map(type, item)] != kinds for item in rows):
            raise Malformed
    return set(lines), values


@dataclass(frozen=True)
class TorchCall:
    """An operator or a function of torch, the student's line that led to it, and how often."""

    name: str
    file: str | None
    line: int | None
    times: int


def torch_calls(reply: Any) -> list[TorchCall]:
    """Return the calls that a process tells of, checked before they are used. Raises `Lost`."""
    if type(reply) is not list or any(type(call) is not tuple or len(call) != 4 for call in reply):
        raise Malformed
    if any([*map(type, call[:3])] not in _USE_TYPES or type(call[3]) is not int for call in reply):
        raise Malformed
    return [
        TorchCall(clean(name, 100), file and clean(file, 100), line, times)
        for name, file, line, times in reply[:MAX_CALLS]
    ]


def _texts(value: Any) -> list[str]:
    if type(value) is not list or not value or any(type(item) is not str for item in value):
        raise Malformed
    return [clean(item)[:80] for item in value[:8]]


def clean(text: str, limit: int = 500) -> str:
    """Return text from a student's process made fit to show: no control characters, not too long.

    Nor is it too high: of many lines the first are kept, of blank ones none.
    """
    if text.count("\n", 0, limit) >= MAX_LINES:
        text = "\n".join([line for line in text[:limit].split("\n") if line.strip()][:MAX_LINES])
    shown = "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}"
        for character in text[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
