"""What is wrong, as data: a headline, a small grid of numbers, a helping sentence, places in code.

Nothing here is made of words that a reader would see laid out: `feedback.text` and `feedback.html`
show a finding, on a terminal, a page, in a notebook and on the board.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What became of a check, an exercise or a public test. The values stand in the JSON."""

    PASSED = "passed"
    FAILED = "failed"
    TODO = "todo"
    MISSING = "missing"
    ERROR = "error"
    TIMEOUT = "timeout"
    DIED = "died"
    PROTOCOL = "protocol"
    NOT_RUN = "not_run"
    GRADER_ERROR = "grader_error"


SIDES = ("yours", "expected")  # of a grid: an answer, and the right one


@dataclass(frozen=True)
class Place:
    """A line of the student's code: the file or cell it is in, and what stands there.

    `line` counts from 1 and is 0 where it is not known; `inside` is the function or class around.
    """

    file: str
    line: int = 0
    source: str = ""
    inside: str = ""


@dataclass(frozen=True)
class Grid:
    """A piece of two tensors, cut to a size that fits a terminal.

    `yours` and `expected` hold plain floats, row by row (1.0 and 0.0 for True and False);
    `expected` is empty where there is nothing to compare with. `differs` marks the wrong cells.
    `rows` and `columns` name the axis and the index of each ("query 0"), `where` says which slice
    this is and what was left out, `kind` is "float", "int" or "bool".
    """

    yours: tuple[tuple[float, ...], ...]
    expected: tuple[tuple[float, ...], ...]
    differs: tuple[tuple[bool, ...], ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    where: str = ""
    sides: tuple[str, str] = SIDES
    kind: str = "float"


@dataclass(frozen=True)
class Finding:
    """What is told to the person who wrote the code: what is wrong, the numbers, what leads on."""

    headline: str
    grid: Grid | None = None
    help: str = ""
    places: tuple[Place, ...] = ()


def finding_fields(finding: Finding | None) -> dict[str, Any] | None:
    """The finding as JSON can hold it. Numbers that JSON has no word for become "nan", "-inf"."""
    return None if finding is None else _jsonable(asdict(finding))


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def finding_from(fields: dict[str, Any] | None) -> Finding | None:
    """The inverse of `finding_fields`."""
    if fields is None:
        return None
    grid = fields["grid"] and _grid_from(fields["grid"])
    places = tuple(Place(**place) for place in fields["places"])
    return Finding(fields["headline"], grid, fields["help"], places)


def _grid_from(fields: dict[str, Any]) -> Grid:
    return Grid(
        yours=tuple(tuple(map(float, row)) for row in fields["yours"]),
        expected=tuple(tuple(map(float, row)) for row in fields["expected"]),
        differs=tuple(map(tuple, fields["differs"])),
        rows=tuple(fields["rows"]),
        columns=tuple(fields["columns"]),
        where=fields["where"],
        sides=(fields["sides"][0], fields["sides"][1]),
        kind=fields["kind"],
    )
