"""What the process that trains reports, as plain data: read field by field, never unpickled."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

LONGEST_LINE = 4 << 20
_LONGEST_TEXT = 2000
_MOST_ITEMS = 100_000


class ProtocolError(Exception):
    """What came is not what the training process says."""


@dataclass(frozen=True)
class Progress:
    """How far the training is. `exact` is the share of unseen dates translated without a fault.

    `loss` is the mean since the last report, `seconds` the time spent so far.
    """

    step: int
    seconds: float
    loss: float
    rate: float
    exact: float


@dataclass(frozen=True)
class Fault:
    """Something that a probe measured of a piece and that should be otherwise."""

    exercise: str
    probe: str
    told: str


@dataclass(frozen=True)
class Behaviour:
    """What was measured of the whole model, trained or not; None where it could not be.

    future: what stands later in the target changes what the model says before.
    padding: more padding behind the source changes what the model says.
    source_order, target_order: another order of the words changes what the model says.
    source: another source changes what the model says.
    unreached: parameters that no gradient reaches.
    reshuffled: the share of translations with the right characters in a wrong order.
    teacher_forced: the share of characters that are right after a right beginning.
    """

    future: bool | None = None
    padding: bool | None = None
    source_order: bool | None = None
    target_order: bool | None = None
    source: bool | None = None
    unreached: list[str] = field(default_factory=list)
    reshuffled: float = 0.0
    teacher_forced: float = 0.0


@dataclass(frozen=True)
class Translation:
    """A date as it was read, what the model made of it, and how it looked at the source.

    `attention` has a row for each character written and a column for each character read, the
    mean over the heads of the last layer; empty if it could not be had. `unknown` are characters
    that no date of the training has.
    """

    source: str
    target: str
    attention: list[list[float]] = field(default_factory=list)
    unknown: str = ""


@dataclass(frozen=True)
class Example:
    """An unseen date, its ISO form and what the model made of it."""

    source: str
    expected: str
    got: str
    language: str


@dataclass(frozen=True)
class Learnt:
    """What came of the training: measured on `count` unseen dates.

    `languages` has the share of exact translations by language.
    """

    step: int
    seconds: float
    loss: float
    exact: float
    count: int
    languages: dict[str, float]
    wrong: list[Example]
    translations: list[Translation]
    positions: list[list[float]]
    behaviour: Behaviour
    faults: list[Fault]
    stopped: bool


@dataclass(frozen=True)
class Failure:
    """The student's code could not go on: what it was doing, what it said, and the line.

    `faults` is what the probes found in the pieces.
    """

    doing: str
    said: str
    file: str = ""
    line: int = 0
    source: str = ""
    inside: str = ""
    faults: list[Fault] = field(default_factory=list)


Event = Progress | Learnt | Failure | Translation
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Progress, Learnt, Failure, Translation)
}
_PARTS: dict[str, type[Any]] = {
    "Fault": Fault,
    "Example": Example,
    "Translation": Translation,
    "Behaviour": Behaviour,
}
T = TypeVar("T")


def line_of(event: Event) -> str:
    """The event as a line of JSON."""
    return json.dumps({"event": type(event).__name__, **asdict(event)}) + "\n"


def event_from(line: str) -> Event:
    """The inverse of `line_of`. Raises `ProtocolError` for anything else."""
    try:
        found = json.loads(line)
        kind = _KINDS[found.pop("event")]
        event: Event = _made(kind, found)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ProtocolError(f"{type(error).__name__}: {error}") from None
    return event


def _made(kind: type[T], values: Any) -> T:
    if not isinstance(values, dict):
        raise TypeError(f"{kind.__name__} is an object")
    types = {one.name: str(one.type) for one in fields(kind)}  # type: ignore[arg-type]
    if unknown := values.keys() - types.keys():
        raise TypeError(f"{kind.__name__} has no {sorted(unknown)}")
    return kind(**{name: _read(types[name], value) for name, value in values.items()})


def _read(wanted: str, value: Any) -> Any:
    """A value of the type that its annotation names, with texts made printable."""
    if wanted == "bool | None" and value is None:
        return None
    if wanted.startswith("bool"):
        return _instance(value, bool)
    if wanted == "int":
        return _instance(value, int)
    if wanted == "float":
        number = float(_instance(value, (int, float)))
        return number if math.isfinite(number) else math.nan
    if wanted == "str":
        return printable(_instance(value, str))
    if wanted.startswith("list["):
        if len(_instance(value, list)) > _MOST_ITEMS:
            raise ValueError("a list is too long")
        return [_read(wanted[5:-1], one) for one in value]
    if wanted.startswith("dict["):
        pairs = _instance(value, dict).items()
        return {printable(name): _read("float", one) for name, one in pairs}
    return _made(_PARTS[wanted], value)


def _instance(value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{kind} is wanted, not {type(value).__name__}")
    return value


def printable(text: str) -> str:
    """The text without control characters, cut to a sensible length."""
    return "".join(one if one.isprintable() else " " for one in text[:_LONGEST_TEXT])
