"""The data of the capstone: dates as people write them, and the same in ISO form.

Everything is generated from a seed. A tenth of all dates is held out: training never sees them, in
any style or language, and the model is measured on them.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from grader.capstone.languages import LANGUAGES, Language

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
HELD_OUT = 10  # one date in this many

PAD, BOS, EOS, UNKNOWN = 0, 1, 2, 3
SPECIALS = 4
LONGEST_SOURCE = 64
OUTPUT_LENGTH = len("2026-11-21") + 2  # with start and end
SMOOTHING = 0.1  # of the labels

_TARGET = "0123456789-"
_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


@dataclass(frozen=True)
class Style:
    """One way to write dates: a template in the words of a language."""

    language: Language
    template: str

    def write(self, day: date) -> str:
        """Return the date in this style, in small letters."""
        words = self.language
        return self.template.format(
            d=day.day,
            dd=f"{day.day:02}",
            th=f"{day.day}{_ORDINALS.get(day.day, 'th')}",
            m=day.month,
            mm=f"{day.month:02}",
            yyyy=day.year,
            yy=f"{day.year % 100:02}",
            month=words.months[day.month - 1],
            mon=words.short_months[day.month - 1],
            weekday=words.weekdays[day.weekday()],
            wd=words.short_weekdays[day.weekday()],
        )

    def writes(self, day: date) -> bool:
        """Return whether the style shows the whole date: two digits are a year of this century."""
        return "{yy}" not in self.template or day.year >= 2000


@dataclass(frozen=True)
class Pair:
    """A date as it was written, its ISO form, and the language it was written in."""

    source: str
    target: str
    language: str


STYLES = tuple(
    Style(language, template) for language in LANGUAGES for template in language.templates
)


class Dates:
    """The dates to learn from and those held out, both drawn from `seed`."""

    def __init__(self, seed: int) -> None:
        days = [FIRST + timedelta(days=number) for number in range((LAST - FIRST).days + 1)]
        self.random = random.Random(f"dates {seed}")
        self.random.shuffle(days)
        cut = len(days) // HELD_OUT
        self.held_out, self.known = days[:cut], days[cut:]

    def training_pairs(self, count: int) -> list[Pair]:
        """Return the next `count` pairs to learn from; they never end."""
        return [self._pair(self.random.choice(self.known), self.random) for _ in range(count)]

    def held_out_pairs(self, count: int) -> list[Pair]:
        """Return a fixed set of pairs that training never sees, the styles in turn."""
        chance = random.Random("held out")
        days = (self.held_out[number % len(self.held_out)] for number in range(10 * count))
        pairs: list[Pair] = []
        for day in days:
            style = STYLES[len(pairs) % len(STYLES)]
            if len(pairs) < count and style.writes(day):
                pairs.append(Pair(style.write(day), day.isoformat(), style.language.name))
        chance.shuffle(pairs)
        return pairs

    def batches(self, size: int) -> Iterator[list[Pair]]:
        """Yield batches to learn from without end, each of sources about equally long."""
        while True:
            pool = sorted(self.training_pairs(size * 16), key=lambda pair: len(pair.source))
            cut = [pool[start : start + size] for start in range(0, len(pool), size)]
            self.random.shuffle(cut)
            yield from cut

    @staticmethod
    def _pair(day: date, chance: random.Random) -> Pair:
        style = chance.choice(STYLES)
        while not style.writes(day):
            style = chance.choice(STYLES)
        return Pair(style.write(day), day.isoformat(), style.language.name)


def tidy(text: str) -> str:
    """Return what somebody typed, as the model reads it: small letters, single spaces."""
    return " ".join(text.lower().split())[:LONGEST_SOURCE]


@cache
def source_characters() -> str:
    """Return all characters of dates in order; an id is an index into them."""
    names = "".join(
        word
        for tongue in LANGUAGES
        for words in (tongue.months, tongue.short_months, tongue.weekdays, tongue.short_weekdays)
        for word in words
    )
    literal = "".join(
        part[0] for style in STYLES for part in string.Formatter().parse(style.template)
    )
    return "".join(sorted({*names, *literal, *string.digits, *"stndrdth"}))


@cache
def _source_ids() -> dict[str, int]:
    return {
        character: SPECIALS + position for position, character in enumerate(source_characters())
    }


_TARGET_IDS = {character: SPECIALS + position for position, character in enumerate(_TARGET)}
_TARGET_CHARACTERS = {token: character for character, token in _TARGET_IDS.items()}


def source_size() -> int:
    """Return how many ids a source may hold."""
    return SPECIALS + len(source_characters())


def target_size() -> int:
    """Return how many ids a target may hold."""
    return SPECIALS + len(_TARGET)


def encode_source(text: str) -> list[int]:
    """Return the ids of a source's characters; one that no date has is `UNKNOWN`."""
    ids = _source_ids()
    return [ids.get(character, UNKNOWN) for character in text]


def encode_target(text: str) -> list[int]:
    """Return the ids of an ISO date, between start and end."""
    return [BOS, *(_TARGET_IDS[character] for character in text), EOS]


def decode_target(ids: Sequence[int]) -> str:
    """Return the text of the ids between start and end; unknown ids show as `?`."""
    written = list(ids[1:])
    if EOS in written:
        written = written[: written.index(EOS)]
    return "".join(_TARGET_CHARACTERS.get(token, "?") for token in written)


def padded(rows: Sequence[Sequence[int]], longest: int = 0) -> list[list[int]]:
    """Return the rows, padded to the longest of them, or to `longest` if that is more."""
    width = max(longest, *map(len, rows))
    return [[*row, *[PAD] * (width - len(row))] for row in rows]
