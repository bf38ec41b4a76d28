"""The reports of the training process, as plain data: read field by field, never unpickled.

Every number has bounds, every text and list a maximum length. The process's own figures are for
pictures and advice; how good its model is, is measured in the parent process, see `exam`.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, get_args

from grader.feedback import records
from grader.feedback.records import Within

LONGEST_LINE = 4 << 20
LONGEST_TEXT = 2000


class ProtocolError(Exception):
    """A message is not one that the training process sends."""


def printable(text: str, length: int = LONGEST_TEXT) -> str:
    """Return the text without control characters, cut to a sensible length."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:length])


def _finite(number: float) -> float:
    return number if math.isfinite(number) else math.nan


@dataclass(frozen=True)
class AtMost:
    """The maximum length of a text or a list. Line breaks are kept if `lines`."""

    length: int
    lines: bool = False

    def __call__(self, value: Any) -> Any:
        """Return the list, or the text made printable. Raises ValueError if it is too long."""
        if len(value) > self.length:
            raise ValueError(f"a {type(value).__name__} is too long")
        if isinstance(value, list):
            return value
        lines = value.split("\n") if self.lines else [value]
        return "\n".join(printable(line, self.length) for line in lines)


@dataclass(frozen=True)
class Rectangular:
    """The limits of a list of equally long rows, and of the numbers in it."""

    numbers: int = 1 << 16

    def __call__(self, rows: list[list[float]]) -> list[list[float]]:
        """Return the rows. Raises ValueError if they are anything else."""
        widths = {len(row) for row in rows}
        if len(widths) > 1 or 0 in widths or sum(map(len, rows)) > self.numbers:
            raise ValueError("the rows are not equally long, empty, or too many")
        return rows


Number = Annotated[float, _finite]  # NaN if it is not finite
Text = Annotated[str, printable]
Count = Annotated[int, Within(0, 10**9)]
Seconds = Annotated[float, Within(0.0, 1e6)]
Share = Annotated[float, Within(0.0, 1.0)]
Word = Annotated[str, AtMost(120)]
Names = Annotated[list[Word], AtMost(2000)]
Weights = Annotated[list[list[Share]], Rectangular()]
Heads = Annotated[list[Annotated[list[Weights], AtMost(16)]], AtMost(8)]
Table = Annotated[list[list[Annotated[float, Within(-1000.0, 1000.0)]]], Rectangular()]
Score = Annotated[float, Within(-1e5, 0.0)]


@dataclass(frozen=True)
class Report:
    """How far the training is.

    `loss` is the mean since the last report, `seconds` the time spent so far. At a look, `answers`
    holds the model's answers to the plan's sample, or `scores` the log-probabilities of the
    sample's tokens.
    """

    step: Count
    seconds: Seconds
    loss: Number
    rate: Number
    answers: Names = field(default_factory=list)
    scores: Annotated[list[Score], AtMost(20_000)] = field(default_factory=list)


@dataclass(frozen=True)
class Fault:
    """A piece that is wrong, and what its public test says, or that of `tested`, which uses it.

    `test` is the test's title; "" if the piece returned something that no training can use.
    """

    exercise: Text
    tested: Text
    test: Text
    told: Text


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of the whole model, trained or not; None where it couldn't be measured.

    future: later tokens of the target change earlier outputs.
    padding: more padding after the source changes the output.
    source_order, target_order: another order of the tokens changes the output.
    source: another source changes the output.
    cached: with caches, the output is the same as without.
    greedy: at temperature 0, `generate` writes the most probable tokens.
    unreached: parameters that receive no gradient.
    teacher_forced: the share of right characters with teacher forcing.
    """

    future: bool | None = None
    padding: bool | None = None
    source_order: bool | None = None
    target_order: bool | None = None
    source: bool | None = None
    cached: bool | None = None
    greedy: bool | None = None
    unreached: Names = field(default_factory=list)
    teacher_forced: Share = 0.0


@dataclass(frozen=True)
class Translation:
    """A text as it was read, the model's output, and its attention.

    `attention` has a row for each character written and a column for each character read, the mean
    over the heads of the last layer; it is empty if it is not available. `heads` has the same for
    each head of each layer. `unknown` are characters that never occur in the training.
    """

    source: Annotated[str, AtMost(LONGEST_TEXT, lines=True)]
    target: Annotated[str, AtMost(20_000, lines=True)]
    attention: Weights = field(default_factory=list)
    unknown: Word = ""
    heads: Heads = field(default_factory=list)


@dataclass(frozen=True)
class Trained:
    """The training is over. Its process describes the model; an exam measures how good it is.

    `positions` is the positional table. `embedding` has two coordinates for each source character,
    or is empty if there are none. `notes` are sentences on how the model was trained.
    """

    step: Count
    seconds: Seconds
    loss: Number
    stopped: bool
    behaviour: Behaviour
    translations: Annotated[list[Translation], AtMost(20)] = field(default_factory=list)
    positions: Table = field(default_factory=list)
    embedding: Table = field(default_factory=list)
    notes: Annotated[list[Annotated[str, AtMost(LONGEST_TEXT)]], AtMost(10)] = field(
        default_factory=list
    )


@dataclass(frozen=True)
class Answers:
    """The model's answers to questions."""

    texts: Names


@dataclass(frozen=True)
class Scored:
    """A text as tokens, and the model's log-probability of each.

    `vocabulary` are the bytes of each token, in hexadecimal.
    """

    ids: Annotated[list[Count], AtMost(200_000)]
    vocabulary: Annotated[list[Annotated[str, AtMost(1000)]], AtMost(20_000)]
    scores: Annotated[list[Score], AtMost(200_000)]


@dataclass(frozen=True)
class Prediction:
    """The log-probabilities of all tokens as the next one."""

    scores: Annotated[list[Score], AtMost(20_000)]


@dataclass(frozen=True)
class Failure:
    """The student's code failed: what it was doing, the error, and the line.

    `faults` is what public tests say about the pieces.
    """

    doing: Text
    said: Text
    file: Text = ""
    line: Count = 0
    source: Text = ""
    inside: Text = ""
    faults: Annotated[list[Fault], AtMost(100)] = field(default_factory=list)


@dataclass(frozen=True)
class Faults:
    """What public tests say about the pieces."""

    faults: Annotated[list[Fault], AtMost(100)]


@dataclass(frozen=True)
class Named:
    """The known mistake that explains a piece: one name, two that look the same, or none."""

    exercise: Word
    mistakes: Annotated[list[Word], AtMost(10)]


Event = Report | Trained | Failure | Translation | Named | Faults | Answers | Scored | Prediction
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}


def line_of(event: Event) -> str:
    """Return the event as a line of JSON."""
    return json.dumps({"event": type(event).__name__, **asdict(event)}) + "\n"


def event_from(line: str) -> Event:
    """Return the inverse of `line_of`. Raises `ProtocolError` for anything else."""
    try:
        data = json.loads(line)
        kind = _KINDS[data.pop("event")]
        if unknown := data.keys() - {each.name for each in fields(kind)}:
            raise ValueError(f"{kind.__name__} has no {sorted(unknown)}")
        event: Event = records.read(kind, data)
    except (
        *(ValueError, KeyError, TypeError, AttributeError, ArithmeticError),
        *(RecursionError, MemoryError),
    ) as error:
        raise ProtocolError(f"{type(error).__name__}: {str(error)[:200]}") from None
    return event
