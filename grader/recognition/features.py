"""Features of answers: the marks of their replies to a fixed set of requests.

Wrong answers with the same marks have the same mistake. This module holds plain data only; it
doesn't know who makes the requests, to what code, or in which process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.recognition.canonical_form import (
    ACCEPTED,
    PROJECTIONS,
    RAISED,
    SMALLEST_SIZE,
    Mark,
    Marks,
    marks,
    told,
)
from grader.recognition.configuration import Settings

UNSAID = -1
_DTYPE_WEIGHT = 0.25
_COSTLY = ("new", "call", "backward", "copy", "stay_behind")


@dataclass(frozen=True)
class Branch:
    """A configuration of the student's code: an argument, or the mode, and its value in words.

    `also` are values of other arguments that always occur together with this one.
    """

    argument: str
    value: str
    also: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """Every value that the configuration has, in words."""
        return (self.value, *self.also)

    @property
    def words(self) -> str:
        """The configuration in words."""
        return " and ".join(self.values)


@dataclass(frozen=True)
class Probe:
    """One example of a check: its requests, and the reference's replies to them.

    `settings` holds the configuration of the code in which each request is answered.
    """

    check: str
    requests: Sequence[dict[str, Any]]
    right: Sequence[Any]
    settings: Sequence[Settings] = ()

    @cached_property
    def keys(self) -> list[tuple[int, str]]:
        """All that can be compared: the number of a request, the path of a leaf of its reply."""
        return [(number, path) for number, by_path in self._right_marks for path in by_path]

    @cached_property
    def weights(self) -> list[float]:
        """What every key counts for: a reply as much as another, its leaves together as much."""
        leaves: dict[int, float] = defaultdict(float)
        shares = [_DTYPE_WEIGHT if path.endswith("dtype") else 1.0 for _, path in self.keys]
        for (number, path), share in zip(self.keys, shares, strict=True):
            leaves[number] += share if path else 0.0
        telling = max(1, len(leaves))
        return [
            (share / leaves[number] if path else 1.0) / telling**0.5
            for (number, path), share in zip(self.keys, shares, strict=True)
        ]

    def outside(self, branch: Branch) -> list[bool]:
        """By key, whether its request is answered in another configuration than the branch's."""
        apart = [
            settings.get(branch.argument, branch.value) != branch.value
            for settings in self.settings
        ]
        return [bool(apart) and apart[number] for number, _ in self.keys]

    def without(self, argument: str) -> list[bool]:
        """By key, whether what its request calls does not take this argument."""
        lacks = [argument not in settings for settings in self.settings]
        return [bool(lacks) and lacks[number] for number, _ in self.keys]

    @cached_property
    def entries(self) -> list[str]:
        """By key, the function or class of the student's module that its reply comes from.

        What is read from other objects, such as a gradient, comes from the one used last.
        """
        owners: dict[Any, str] = {}
        used: list[str] = []
        for request in self.requests:
            handle, entry = request.get("target", (request.get("handle"), ""))
            if request["op"] == "new":
                owners[handle] = request["entry"]
            entry = owners.get(handle, "") if handle is not None else entry
            entry = "" if "." in entry else entry  # of another exercise
            used.append(entry or (used[-1] if used else ""))
        return [used[number] for number, _ in self.keys]

    @cached_property
    def cost(self) -> int:
        """How many of its requests make an object or run the code: about what asking it takes."""
        return sum(request["op"] in _COSTLY for request in self.requests)

    @cached_property
    def columns(self) -> dict[int, list[int]]:
        """Which of the keys are those of a reply, by its number."""
        columns: dict[int, list[int]] = defaultdict(list)
        for column, (number, _) in enumerate(self.keys):
            columns[number].append(column)
        return columns

    @cached_property
    def right_prints(self) -> Prints:
        """The marks of the reference's replies."""
        return Prints.of([mark for _, by_path in self._right_marks for mark in by_path.values()])

    def read(self, replies: Iterable[Any]) -> Prints:
        """Return the marks of an answer's replies. What a crash has hidden has none.

        A reply that is the reference's own object is right without comparison.
        """
        columns: list[int] = []
        read: list[Mark | None] = []
        for number, marks_read in self.read_in_turn(replies):
            if marks_read is not None:
                columns += self.columns[number]
                read += marks_read
        return self.right_prints.replaced(columns, Prints.of(read))

    def read_in_turn(
        self, replies: Iterable[Any]
    ) -> Iterator[tuple[int, Sequence[Mark | None] | None]]:
        """For each reply that has keys its number and marks, None if they are the reference's."""
        for number, (reply, says) in enumerate(told(self.requests, replies)):
            keys, right = self.columns.get(number), self.right[number]
            if keys is None:
                continue
            if reply is right and says:
                yield number, None
                continue
            by_path = marks(self.requests[number], reply, right) if says else {}
            yield number, [by_path.get(self.keys[column][1]) for column in keys]

    @cached_property
    def _right_marks(self) -> list[tuple[int, Marks]]:
        replies = enumerate(told(self.requests, self.right))
        return [
            (number, marks(self.requests[number], right, right))
            for number, (right, says) in replies
            if says
        ]


@dataclass(frozen=True)
class Prints:
    """Marks by key, the last axis but for `values`; axes before it are different answers."""

    codes: Tensor
    values: Tensor
    size: Tensor
    rounding: Tensor

    @classmethod
    def of(cls, columns: Sequence[Mark | None]) -> Prints:
        """Return these marks; nothing said where there is none."""
        nothing = Mark(UNSAID)
        cells = [mark or nothing for mark in columns]
        zeros = (0.0,) * PROJECTIONS
        return cls(
            torch.tensor([mark.code for mark in cells], dtype=torch.int64),
            torch.tensor([mark.values or zeros for mark in cells]).reshape(-1, PROJECTIONS),
            torch.tensor([mark.size for mark in cells]),
            torch.tensor([mark.rounding for mark in cells]),
        )

    @classmethod
    def blank(cls, count: int) -> Prints:
        """Nothing said anywhere."""
        zeros = torch.zeros(count)
        codes = torch.full((count,), UNSAID)
        return cls(codes, torch.zeros(count, PROJECTIONS), zeros, zeros)

    @classmethod
    def stack(cls, rows: Sequence[Prints]) -> Prints:
        """Several answers side by side."""
        return cls._of(torch.stack, rows)

    @classmethod
    def join(cls, parts: Sequence[Prints]) -> Prints:
        """Return what one answer says to several probes."""
        return cls._of(torch.cat, parts)

    @classmethod
    def _of(cls, operation: Any, items: Sequence[Prints]) -> Prints:
        fields = ("codes", "values", "size", "rounding")
        return cls(*(operation([getattr(item, name) for item in items]) for name in fields))

    @cached_property
    def raised(self) -> Tensor:
        """Where there is an exception, or none where there should be one."""
        return (self.codes & RAISED != 0) & (self.codes > 0)

    def __getitem__(self, index: Any) -> Prints:
        return Prints(self.codes[index], self.values[index], self.size[index], self.rounding[index])

    def replaced(self, columns: Sequence[int], replacement: Prints) -> Prints:
        """Return these marks with others in some of the columns."""
        if not columns:
            return self
        where = torch.tensor(columns)
        parts = [tensor.clone() for tensor in (self.codes, self.values, self.size, self.rounding)]
        new_parts = (
            replacement.codes,
            replacement.values,
            replacement.size,
            replacement.rounding,
        )
        for part, new in zip(parts, new_parts, strict=True):
            part[where] = new
        return Prints(*parts)

    def without(self, columns: Tensor) -> Prints:
        """Return these marks with nothing said where `columns` is true."""
        return Prints(
            torch.where(columns, UNSAID, self.codes), self.values, self.size, self.rounding
        )

    def coarser(self, rounding: float) -> Prints:
        """These marks, with numbers compared no closer than this share of their size."""
        exact = self.rounding.clamp(min=rounding)
        return replace(self, rounding=torch.where(self.rounding > 0, exact, self.rounding))

    @property
    def said(self) -> Tensor:
        """Where there is something to compare."""
        return self.codes != UNSAID

    def same(self, prints: Prints) -> Tensor:
        """Return where both say the same, but for rounding."""
        size = torch.maximum(self.size, prints.size).clamp(min=SMALLEST_SIZE)
        limit = torch.maximum(self.rounding, prints.rounding) * size
        # Values that one of them has not kept are NaN.
        apart = (self.values - prints.values).abs().nan_to_num(0.0).amax(dim=-1)
        return (self.codes == prints.codes) & self.said & (apart <= limit)

    def identical(self, prints: Prints) -> Tensor:
        """Return where both are the same to the last bit."""
        return (
            (self.codes == prints.codes)
            & (self.values == prints.values).all(dim=-1)
            & (self.size == prints.size)
            & (self.rounding == prints.rounding)
        )

    def equal(self, prints: Prints) -> Tensor:
        """Return where both say the same, or both nothing."""
        return self.same(prints) | (~self.said & ~prints.said)

    def differs(self, prints: Prints) -> Tensor:
        """Return where both say something, and not the same."""
        return self.said & prints.said & ~self.same(prints)

    def rows_like(self, prints: Prints, columns: Tensor, among: Tensor) -> Tensor:
        """Return which rows, `among` these numbers, say the same as `prints` in these columns.

        Where all is equal so are the codes, which are quickly compared.
        """
        alike = among[(self.codes[among[:, None], columns] == prints.codes).all(dim=-1)]
        return alike[self[alike[:, None], columns].equal(prints).all(dim=-1)]


class Fingerprints:
    """The replies of the reference and of every known mistake to the probes of an exercise."""

    def __init__(
        self, probes: Sequence[Probe], names: Sequence[str], rows: Prints, failed: Tensor
    ) -> None:
        """Take `rows` of the reference, then of each answer with a mistake in it.

        `names` are the mistakes of these answers; a mistake known in several forms has a row for
        each. `failed` says, by answer and probe, whether the answer fails the probe's check. The
        marks of a mistake in a check that it passes are differences that the check allows.
        """
        self.probes = probes
        self.names = names
        self._outside: dict[Branch, Tensor] = {}
        self._compared: tuple[Prints | None, Tensor] = (None, torch.empty(0))
        self.right, self.known, self.failed = rows[0], rows[1:], failed
        self.weights = torch.tensor([weight for probe in probes for weight in probe.weights])
        self.checks = torch.tensor(
            [number for number, probe in enumerate(probes) for _ in probe.keys]
        )
        # Whether a key is of a check, by key and check: a product with it sums by check.
        self.columns = torch.nn.functional.one_hot(self.checks, len(probes)).float()
        self.as_right = self.known.same(self.right)
        self.differs = self.known.said & self.right.said & ~self.as_right
        self.shown = self.differs & failed[:, self.checks]

    def same(self, student: Prints) -> Tensor:
        """Return where each mistake leaves the student's marks.

        Most of these are the very ones of the reference, which it was compared with before. The
        same marks are asked for again and again.
        """
        if student is not self._compared[0]:
            new = student.said & ~student.identical(self.right)
            same = self.as_right & student.said
            same[:, new] = self.known[:, new].same(student[new])
            self._compared = (student, same)
        return self._compared[1].clone()

    @cached_property
    def calls(self) -> Tensor:
        """Which of the keys are of what a call returned."""
        return torch.tensor(
            [probe.requests[n]["op"] == "call" for probe in self.probes for n, _ in probe.keys]
        )

    @cached_property
    def whole(self) -> Tensor:
        """Which of the keys are the form of a whole reply, or its exception."""
        return torch.tensor([path == "" for probe in self.probes for _, path in probe.keys])

    @cached_property
    def owners(self) -> Tensor:
        """By key, the number of the student's function or class that its reply comes from."""
        owners = [entry for probe in self.probes for entry in probe.entries]
        numbers = {entry: number for number, entry in enumerate(dict.fromkeys(owners))}
        return torch.tensor([numbers[entry] for entry in owners])

    @cached_property
    def functions(self) -> list[Tensor]:
        """For each function of the student's that is called by itself, which keys are of a call."""
        named = [
            request["target"][1] if request["op"] == "call" and request["target"][0] is None else ""
            for probe in self.probes
            for request in (probe.requests[number] for number, _ in probe.keys)
        ]
        names = sorted({*named} - {""})
        return [torch.tensor([each == name for each in named]) for name in names]

    @cached_property
    def last_runs(self) -> Tensor:
        """By key that is read from an object, the key of the call before it; -1 for all others.

        Objects of the kit that are passed to a student's function are read by calls.
        """
        found: list[int] = []
        for probe in self.probes:
            start, last = len(found), -1
            given = {request["handle"] for request in probe.requests if request["op"] == "give"}
            for column, (number, path) in enumerate(probe.keys):
                request = probe.requests[number]
                runs = request["op"] in _COSTLY and request.get("target", [None])[0] not in given
                if runs and not path:
                    last = start + column
                found.append(-1 if runs else last)
        return torch.tensor(found)

    @cached_property
    def last_loads(self) -> Tensor:
        """By key of a call, the key of the weights put in before; -1 if none were."""
        loads: list[int] = []
        for probe in self.probes:
            start, last = len(loads), -1
            for column, (number, path) in enumerate(probe.keys):
                request = probe.requests[number]
                if request["op"] == "load" and request.get("strict", True) and not path:
                    last = start + column
                loads.append(last if request["op"] in _COSTLY else -1)
        return torch.tensor(loads)

    @cached_property
    def plain(self) -> Tensor:
        """Which of the keys are numbers or words in a reply of the right form, no tensors."""
        paths = [path for probe in self.probes for _, path in probe.keys]
        return torch.tensor([path != "" and not path.endswith("dtype") for path in paths]) & (
            self.right.rounding == 0
        )

    def outside(self, branch: Branch) -> Tensor:
        """Return which of the keys are of requests in another configuration than the branch's."""
        if branch not in self._outside:
            outside = [out for probe in self.probes for out in probe.outside(branch)]
            self._outside[branch] = torch.tensor(outside)
        return self._outside[branch]

    def without(self, argument: str) -> Tensor:
        """Return which of the keys are of calls of what does not take this argument."""
        lacks = [lack for probe in self.probes for lack in probe.without(argument)]
        return torch.tensor(lacks) & self.calls

    @cached_property
    def branches(self) -> list[list[Branch]]:
        """By argument, the configurations that there are, of each at least two."""
        values: dict[str, dict[str, Branch]] = defaultdict(dict)
        for probe in self.probes:
            for number in {number for number, _ in probe.keys}:
                for argument, value in (probe.settings[number] if probe.settings else {}).items():
                    values[argument].setdefault(value, Branch(argument, value))
        return [list(by_value.values()) for by_value in values.values() if len(by_value) > 1]

    @property
    def rows(self) -> Prints:
        """The marks of the reference, and then of each answer with a mistake in it."""
        return Prints.join([self.right[None], self.known])

    def forms(self, name: str) -> list[int]:
        """Return the rows of a mistake, one for each form in which it is known."""
        return [row for row, feature in enumerate(self.names) if feature == name]

    def accepts(self, name: str) -> bool:
        """Return whether a mistake returns something where an error is due."""
        rows = self.forms(name)
        return bool((self.known.codes[rows] == ACCEPTED)[self.shown[rows]].any())

    def only_accepts(self, name: str) -> bool:
        """Return whether a mistake does nothing but return something where an error is due."""
        rows = self.forms(name)
        return bool((self.known.codes[rows] == ACCEPTED)[self.shown[rows]].all())

    def entries(self, name: str) -> set[str]:
        """Return the student's functions and classes whose replies a mistake changes."""
        shown = self.shown[self.forms(name)].any(0).tolist()
        entries = (entry for probe in self.probes for entry in probe.entries)
        return {entry for entry, shows in zip(entries, shown, strict=True) if shows and entry}
