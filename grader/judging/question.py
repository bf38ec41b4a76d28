"""A probe as it is asked: the frame that goes out, and the replies as they come over the line.

Most replies are right, even of code that is wrong. One that came as the very bytes of the
reference's is taken for it, and not taken apart again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.feedback.prints import Prints, Probe
from grader.remote import wire
from grader.remote.channel import decoded
from grader.remote.server import Server

# By request: the operation, and whether the reply is right, wrong, or hidden by a crash before.
Outcome = tuple[tuple[str, str], ...]


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
        return self._replies(bodies, decoded)

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
        server = Server(module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong in the code is told in other words
            found = [
                wire.body(wire.encode(server.answer(one)))
                for one in wire.decode_trusted(wire.body(self.frame))
            ]
        return self.read(self._replies(found, wire.decode_trusted))

    def _replies(self, bodies: Sequence[Any], decode: Callable[[Any], Any]) -> list[Any]:
        return [
            right if body == known else decode(body)
            for body, known, right in zip(bodies, self.bodies, self.right, strict=True)
        ]
