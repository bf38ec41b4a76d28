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

from grader.feedback.normal_form import Mark
from grader.feedback.prints import Prints, Probe
from grader.remote import wire
from grader.remote.channel import decoded
from grader.remote.server import Server

# By request: the operation, and whether the reply is right, wrong, or hidden by a crash before.
Outcome = tuple[tuple[str, str], ...]
ROUNDING = 1e-5  # of weights, which come to a few


@dataclass(frozen=True)
class Hope:
    """What is asked for: somebody's marks, `theirs`, as far as they have `weights`.

    An answer is of use if the weights of those that it has come to `least`. What has a weight is
    wrong.
    """

    theirs: Prints
    weights: Sequence[float]
    least: float

    @classmethod
    def of(cls, theirs: Prints, marks: Tensor, weights: Tensor, where: Tensor) -> Hope:
        """That any of these marks come out; `where` are the columns of the probe."""
        return cls(theirs[where], (weights * marks)[where].tolist(), 0.0)

    @property
    def most(self) -> float:
        """The weight of all."""
        return sum(self.weights)

    def at_least(self, weight: float) -> Hope:
        """That so much comes out, but for rounding."""
        return replace(self, least=weight - ROUNDING)

    def fulfilled(self, found: Prints) -> float:
        """The weight of what comes out in these marks."""
        return sum(compress(self.weights, found.same(self.theirs).tolist()))

    def lost(self, columns: Sequence[int], found: Sequence[Mark | None] | None) -> float:
        """The weight of what in these columns is not theirs; None are the reference's marks."""
        weights = [self.weights[column] for column in columns]
        total = sum(weights)
        if not total or found is None:
            return total
        same = Prints.of(found).same(self.theirs[torch.tensor(columns)]).tolist()
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
        """The reference's replies as they would come over the line."""
        return [wire.body(wire.encode(reply)) for reply in self.right]

    def replies(self, bodies: Sequence[bytearray]) -> list[Any]:
        """What came, taken apart; the reference's own reply where it is that. Raises `Lost`."""
        return [
            right if body == known else decoded(body)
            for body, known, right in zip(bodies, self.bodies, self.right, strict=True)
        ]

    @cached_property
    def own(self) -> list[int]:
        """The numbers of the requests, but for the second of two loads of the same weights."""
        return [
            number
            for number, one in enumerate(self.requests)
            if one["op"] != "load" or one.get("strict", True)
        ]

    def outcome(self, prints: Prints) -> Outcome:
        """What became of each of its own requests, in somebody's answer with these marks."""
        wrong = prints.differs(self.right_prints).tolist()
        said = prints.said.tolist()
        found = []
        for number in self.own:
            columns = self.columns.get(number, [])
            state = "wrong" if any(wrong[column] for column in columns) else "right"
            state = state if all(said[column] for column in columns) else "hidden"
            found.append((self.requests[number]["op"], state))
        return tuple(found)

    def asked(self, module: Any) -> Prints:
        """The marks of what code in this process replies."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong in the code is told in other words
            return self.read(self._answered(module))

    def tried(self, module: Any, hope: Hope) -> Prints | None:
        """`asked`, or None as soon as there is no hope any more; the rest is not asked then."""
        columns: list[int] = []
        found: list[Mark | None] = []
        open_to = hope.most
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, some in self.read_in_turn(self._answered(module)):
                own = self.columns[number]
                if some is not None:
                    columns += own
                    found += some
                open_to -= hope.lost(own, some)
                if open_to < hope.least:
                    return None
        return self.right_prints.replaced(columns, Prints.of(found))

    def _answered(self, module: Any) -> Iterator[Any]:
        """What the module replies to one request after the other, as `replies` gives it."""
        server = Server(module)
        asked = wire.decode_trusted(wire.body(self.frame))
        for request, known, right in zip(asked, self.bodies, self.right, strict=True):
            body = wire.body(wire.encode(server.answer(request)))
            yield right if body == known else wire.decode_trusted(body)
