"""The data of the task `sort`: digits, and the same digits in order.

A sequence is the digits, a separator and the sorted digits. The model reads a prefix of it and
predicts the next token, so that it writes the sorted digits one by one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

COUNT = 8  # digits of a sequence
SEPARATOR = 10
TOKENS = 11
LENGTH = 2 * COUNT  # what the model reads: the digits, the separator, the sorted ones but the last
HELD_OUT = 10  # one sequence in this many is never trained on


def read(typed: str) -> str:
    """Return the digits of what somebody typed. Raises ValueError with a sentence."""
    digits = "".join(typed.split()).replace(",", "")
    if len(digits) != COUNT or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"Type {COUNT} digits, such as 31415926.")
    return digits


def in_order(digits: str) -> str:
    """Return the digits, sorted."""
    return "".join(sorted(digits))


def encode(digits: str) -> list[int]:
    """Return the ids of digits, followed by the separator."""
    return [*map(int, digits), SEPARATOR]


class Sequences:
    """Sequences to learn from, without end, drawn from `seed`.

    All orders of the same digits are held out, or none of them: an unseen sequence is never a
    shuffled seen one.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"sorting {seed}")

    def next(self, count: int) -> list[str]:
        """Return the next so many sequences to learn from."""
        return _chosen(self.random, count, held_out=False)


def unseen(count: int) -> list[str]:
    """Return the same sequences every time; training never sees them."""
    return _chosen(random.Random("held out"), count, held_out=True)


def _chosen(chance: random.Random, count: int, *, held_out: bool) -> list[str]:
    chosen: list[str] = []
    while len(chosen) < count:
        digits = _drawn(chance)
        if _is_held_out(digits) is held_out:
            chosen.append(digits)
    return chosen


def _drawn(chance: random.Random) -> str:
    return "".join(chance.choices("0123456789", k=COUNT))


def _is_held_out(digits: Sequence[str]) -> bool:
    return random.Random("".join(sorted(digits))).randrange(HELD_OUT) == 0
