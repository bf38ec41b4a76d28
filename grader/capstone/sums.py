"""The data of the task `sums`: sums such as `345+678=`, answered from the last digit.

All numbers have three digits and all sums four, so that a digit always has the same position. The
last digit comes first, as in adding by hand, where the carry moves to the left. The model reads the
question in this order as well, as `543+876=`. Each digit of the answer is then always equally far
from the two digits that it depends on, and rotary positions encode distances. With the first digit
first, some seeds didn't learn to add within minutes.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

DIGITS = 3
BELOW = 10**DIGITS
CHARACTERS = "0123456789+="
ANSWER = DIGITS + 1
QUESTION = 2 * DIGITS + 2
LENGTH = QUESTION + ANSWER
UNSEEN = 500
_TYPED = re.compile(r"\s*(\d+)\s*\+\s*(\d+)\s*=?\s*")


@dataclass(frozen=True)
class Sum:
    """Two numbers to add."""

    left: int
    right: int

    @property
    def total(self) -> int:
        """What they make together."""
        return self.left + self.right

    @property
    def question(self) -> str:
        """As it is asked, such as `345+678=`."""
        return f"{self.left:0{DIGITS}}+{self.right:0{DIGITS}}="

    @property
    def answer(self) -> str:
        """As the model writes it, the last digit first, such as `3201`."""
        return f"{self.total:0{ANSWER}}"[::-1]

    @property
    def carries(self) -> int:
        """How many times a one is carried."""
        digits = sum(map(int, f"{self.left}{self.right}"))
        return (digits - sum(map(int, self.answer))) // 9


class Sums:
    """Sums to learn from and sums held out, both drawn from `seed`."""

    def __init__(self, seed: int, unseen: int) -> None:
        self.random = random.Random(f"sums {seed}")
        numbers = self.random.sample(range(BELOW * BELOW), unseen)
        self.held_out = [Sum(*divmod(number, BELOW)) for number in numbers]
        self._is_held_out = frozenset(numbers)

    def next(self, count: int) -> list[Sum]:
        """Return the next sums to learn from; they never end, and none is held out."""
        drawn: list[Sum] = []
        while len(drawn) < count:
            number = self.random.randrange(BELOW * BELOW)
            if number not in self._is_held_out:
                drawn.append(Sum(*divmod(number, BELOW)))
        return drawn


def from_last_digit(question: str) -> str:
    """Return a question as the model reads it, each number from its last digit: `543+876=`."""
    return re.sub(r"\d+", lambda number: number[0][::-1], question)


def encode(text: str) -> list[int]:
    """Return the ids of the characters of questions and answers."""
    return [CHARACTERS.index(character) for character in text]


def decode(ids: list[int]) -> str:
    """Return the characters of these ids; an id that has none shows as `?`."""
    return "".join(CHARACTERS[token] if 0 <= token < len(CHARACTERS) else "?" for token in ids)


def read(typed: str) -> Sum:
    """Return the sum that somebody typed. Raises ValueError with a sentence if it is none."""
    match = _TYPED.fullmatch(typed)
    numbers = [int(number[-9:]) for number in match.groups()] if match else [BELOW]
    if max(numbers) >= BELOW:
        raise ValueError(f"It adds two numbers below {BELOW}. For example: 345+678")
    return Sum(*numbers)
