"""A probe as it is asked: the frame that goes out, and the replies as they come over the line.

Most replies are right, even of code that is wrong. One that came as the very bytes of the
reference's is taken for it, and not taken apart again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any

import torch
from torch import Tensor

from grader.recognition.canonical_form import Mark
from grader.recognition.features import Prints, Probe
from grader.remote import wire
from grader.remote.channel import decoded
from grader.remote.server import Server

# By request: the operation, and whether the reply is right, wrong, or hidden by a crash before.
Outcome = tuple[tuple[str, str], ...]
ROUNDING = 1e-5  # of weights, which come to a few


@dataclass(frozen=True)
class Goal:
    """What is asked for: somebody's marks, `wanted`, as far as they have `weights`.

    An answer is of use if the weights of those that it has come to `least`. What has a weight is
    wrong.
    """

    wanted: Prints
    weights: Sequence[float]
    least: float

    @classmethod
    def of(cls, wanted: Prints, marks: Tensor, weights: Tensor, where: Tensor) -> Goal:
        """That any of these marks come out; `where` are the columns of the probe."""
        return cls(wanted[where], (weights * marks)[where].tolist(), 0.0)

    @property
    def most(self) -> float:
        """The weight of all."""
        return sum(self.weights)

    def at_least(self, weight: float) -> Goal:
        """Require at least this weight, but for rounding."""
        return replace(self, least=weight - ROUNDING)

    def fulfilled(self, prints: Prints) -> float:
        """Return the weight of what comes out in these marks."""
        return sum(compress(self.weights, prints.same(self.wanted).tolist()))

    def lost(self, columns: Sequence[int], marks: Sequence[Mark | None] | None) -> float:
        """Return the weight of what differs from `wanted` in these columns; None: reference."""
        weights = [self.weights[column] for column in columns]
        total = sum(weights)
        if not total or marks is None:
            return total
        same = Prints.of(marks).same(self.wanted[torch.tensor(columns)]).tolist()
        return total - sum(compress(weights, same))


@dataclass(frozen=True)
class Question(Probe):
    """A probe with what is needed to ask it again and again."""

    @cached_property
    def frame(self) -> bytes:
        """The frame that carries the requests."""
        return wire.encode(list(self.requests))

    @cached_property
    def bodies(self) -> list[bytes]:
        """Return the reference's replies as they would arrive over the wire."""
        return [wire.body(wire.encode(reply)) for reply in self.right]

    def replies(self, bodies: Sequence[bytearray]) -> list[Any]:
        """Return the decoded reply, or the reference's own if it is equal. Raises `Lost`."""
        return [
            right if body == known else decoded(body)
            for body, known, right in zip(bodies, self.bodies, self.right, strict=True)
        ]

    @cached_property
    def own(self) -> list[int]:
        """The numbers of the requests, but for the second of two loads of the same weights."""
        return [
            number
            for number, question in enumerate(self.requests)
            if question["op"] != "load" or question.get("strict", True)
        ]

    def outcome(self, prints: Prints) -> Outcome:
        """Return what became of each of its own requests, in somebody's answer with these marks."""
        wrong = prints.differs(self.right_prints).tolist()
        said = prints.said.tolist()
        problems = []
        for number in self.own:
            columns = self.columns.get(number, [])
            state = "wrong" if any(wrong[column] for column in columns) else "right"
            state = state if all(said[column] for column in columns) else "hidden"
            problems.append((self.requests[number]["op"], state))
        return tuple(problems)

    def asked(self, module: Any) -> Prints:
        """Return the marks of what code in this process replies."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # problems in the code are reported as findings
            return self.read(self._answered(module))

    def answered(self, module: Any) -> list[Any]:
        """Return what code in this process replies; the reference's own reply where it is that."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(self._answered(module))

    def tried(self, module: Any, goal: Goal) -> Prints | None:
        """Return `asked`, or None as soon as the goal is out of reach; the rest is not asked."""
        columns: list[int] = []
        marks: list[Mark | None] = []
        open_to = goal.most
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, some in self.read_in_turn(self._answered(module)):
                own = self.columns[number]
                if some is not None:
                    columns += own
                    marks += some
                open_to -= goal.lost(own, some)
                if open_to < goal.least:
                    return None
        return self.right_prints.replaced(columns, Prints.of(marks))

    def _answered(self, module: Any) -> Iterator[Any]:
        """Yield what the module replies to one request after the other, as `replies` gives it."""
        server = Server(module)
        asked = wire.decode_trusted(wire.body(self.frame))
        for request, known, right in zip(asked, self.bodies, self.right, strict=True):
            body = wire.body(wire.encode(server.answer(request)))
            yield right if body == known else wire.decode_trusted(body)
