"""Cases of `subwords`: texts on which wrong ways to learn and to apply merges give other results.

What is right is worked out here, and so is what a number of mistakes make of the same text. Texts
are drawn until all of those differ from what is right, and until no two merges make the same bytes,
which the exercise leaves open.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hypothesis import strategies as st

from grader.checks.framework.assertions import assert_returns
from grader.checks.framework.inputs import Numbers, inputs

PIECES = re.compile(r" ?\S+|\s+")

Token = bytes
Merge = tuple[bytes, bytes]
Merges = list[Merge]
Ties = Literal["greater", "smaller", "first", "last", "ids", "joined", "longer"]


def cut(text: str) -> list[str]:
    """The pieces of a text."""
    return PIECES.findall(text)


def single_bytes(piece: str) -> list[Token]:
    """The tokens that a piece begins as."""
    return [bytes([byte]) for byte in piece.encode()]


def learnt(
    text: str,
    count: int,
    *,
    pieces: Callable[[str], Iterable[str]] = cut,
    split: Callable[[str], list[Token]] = single_bytes,
    ties: Ties = "greater",
    apart: bool = False,
    once: bool = False,
    least: int = 1,
    joined: Callable[[list[Token], Merge], list[Token]] | None = None,
) -> Merges:
    """The merges of a text.

    The options are mistakes: a text that is cut in other pieces, or begins as other tokens; of
    equally frequent pairs another; pairs counted only where they lie apart; every piece counted
    once; pairs that have to occur so often; another way to join.
    """
    rows = [split(piece) for piece in (dict.fromkeys(pieces(text)) if once else pieces(text))]
    merges: Merges = []
    known = {bytes([byte]): byte for byte in range(256)}
    while len(merges) < count:
        counts: Counter[Merge] = Counter()
        for row in rows:
            counts.update(_apart(row) if apart else itertools.pairwise(row))
        if not counts or max(counts.values()) < least:
            break
        most = max(counts.values())
        best = _chosen([pair for pair, times in counts.items() if times == most], ties, known)
        merges.append(best)
        known.setdefault(best[0] + best[1], len(known))
        rows = [(joined or joined_from_the_left)(row, best) for row in rows]
    return merges


def pairs_counted(text: str, merges: Merges) -> Counter[Merge]:
    """How often each pair of neighbours occurs once these merges have been applied."""
    rows = [single_bytes(piece) for piece in cut(text)]
    for pair in merges:
        rows = [joined_from_the_left(row, pair) for row in rows]
    return Counter(pair for row in rows for pair in itertools.pairwise(row))


def learnt_from_kept_counts(text: str, count: int) -> Merges:
    """The merges of counts that are updated at each join, between two joins in a row twice."""
    rows = [single_bytes(piece) for piece in cut(text)]
    counts = Counter(pair for row in rows for pair in itertools.pairwise(row))
    merges: Merges = []
    while len(merges) < count and counts:
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        gone: Counter[Merge] = Counter({best: counts[best]})
        for row in rows:
            start = 0
            while start < len(row) - 1:
                if (row[start], row[start + 1]) == best:
                    gone.update(itertools.pairwise(row[max(start - 1, 0) : start + 1]))
                    gone.update(itertools.pairwise(row[start + 1 : start + 3]))
                    start += 1
                start += 1
        rows = [joined_from_the_left(row, best) for row in rows]
        made = best[0] + best[1]
        counts.update(pair for row in rows for pair in itertools.pairwise(row) if made in pair)
        counts -= gone
    return merges


def _apart(row: list[Token]) -> list[Merge]:
    """The pairs of a row, those left out that share a token with an equal one before."""
    result: list[Merge] = []
    taken: dict[Merge, int] = {}
    for position, pair in enumerate(itertools.pairwise(row)):
        if taken.get(pair, -2) < position - 1:
            taken[pair] = position
            result.append(pair)
    return result


def _chosen(tied: list[Merge], ties: Ties, known: dict[Token, int]) -> Merge:
    if ties == "first":
        return tied[0]
    if ties == "last":
        return tied[-1]
    if ties == "smaller":
        return min(tied)
    if ties == "ids":
        return max(tied, key=lambda pair: (known.get(pair[0], 0), known.get(pair[1], 0)))
    if ties == "joined":
        return max(tied, key=lambda pair: pair[0] + pair[1])
    if ties == "longer":
        return max(tied, key=lambda pair: (len(pair[0] + pair[1]), pair))
    return max(tied)


def joined_from_the_left(row: list[Token], pair: Merge) -> list[Token]:
    """The row with every occurrence of the pair made one token."""
    made: list[Token] = []
    for token in row:
        if made and (made[-1], token) == pair:
            made[-1:] = [pair[0] + pair[1]]
        else:
            made.append(token)
    return made


def joined_from_the_right(row: list[Token], pair: Merge) -> list[Token]:
    """A mistake: where occurrences overlap, the last is joined and not the first."""
    turned = [token[::-1] for token in reversed(row)]
    made = joined_from_the_left(turned, (pair[1][::-1], pair[0][::-1]))
    return [token[::-1] for token in reversed(made)]


def joined_once(row: list[Token], pair: Merge) -> list[Token]:
    """A mistake: only the first occurrence in a piece is joined."""
    for position, neighbours in enumerate(itertools.pairwise(row)):
        if neighbours == pair:
            return [*row[:position], pair[0] + pair[1], *row[position + 2 :]]
    return row


Order = Literal["earliest", "latest", "leftmost", "frequent"]


def encoded(
    text: str,
    merges: Merges,
    *,
    pieces: Callable[[str], Iterable[str]] = cut,
    order: Order = "earliest",
    passes: int | None = None,
) -> list[int]:
    """The ids of a text. The options are mistakes: other pieces, another order, too few rounds."""
    ids = _ids(merges)
    return [
        ids[token]
        for piece in pieces(text)
        for token in _applied(single_bytes(piece), merges, order, passes)
    ]


def longest_match(text: str, merges: Merges) -> list[int]:
    """A mistake: the longest token that fits, from the left."""
    ids = _ids(merges)
    result = []
    for piece in cut(text):
        left = piece.encode()
        while left:
            size = max(size for size in range(1, len(left) + 1) if left[:size] in ids)
            result.append(ids[left[:size]])
            left = left[size:]
    return result


def _ids(merges: Merges) -> dict[Token, int]:
    tokens = [bytes([byte]) for byte in range(256)] + [left + right for left, right in merges]
    return {token: number for number, token in enumerate(tokens)}


def _applied(row: list[Token], merges: Merges, order: Order, passes: int | None) -> list[Token]:
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    while passes is None or passes > 0:
        present = [pair for pair in itertools.pairwise(row) if pair in ranks]
        if not present:
            break
        if order == "leftmost":
            pair = present[0]
        elif order == "frequent":
            pair = Counter(present).most_common(1)[0][0]
        else:
            pair = (min if order == "earliest" else max)(present, key=ranks.__getitem__)
        row = joined_from_the_left(row, pair)
        passes = None if passes is None else passes - 1
    return row


@dataclass(frozen=True)
class Corpus:
    """A text to learn from, how many merges to learn, the right ones, and a text to encode."""

    text: str
    count: int
    merges: Merges
    other: str = ""

    @property
    def ids(self) -> list[int]:
        """The right ids of the other text."""
        return encoded(self.other, self.merges)

    def learns_otherwise(self, **mistake: Any) -> bool:
        """Whether this mistake learns other merges."""
        return learnt(self.text, self.count, **mistake) != self.merges

    def is_whole(self) -> bool:
        """Whether there are as many merges as were asked for."""
        return len(self.merges) == self.count

    def has_ties(self) -> bool:
        """Whether it matters which of equally frequent pairs is taken."""
        return any(self.learns_otherwise(ties=ties) for ties in ("smaller", "first", "last"))


def _words(numbers: Numbers, letters: str, count: int, longest: int) -> list[str]:
    """Words of no language, of these letters, of two or more."""
    rows = numbers.ids("letters", count, longest, high=len(letters)).tolist()
    sizes = numbers.ids("sizes", count, low=2, high=longest + 1).tolist()
    return [
        "".join(letters[letter] for letter in row[:size])
        for row, size in zip(rows, sizes, strict=True)
    ]


def _sentence(numbers: Numbers, purpose: str, words: Sequence[str], count: int, odd: str) -> str:
    """So many of these words, the first ones most often, with a space or `odd` between two."""
    picks = (numbers.ids(purpose, 2, count, high=len(words)).min(0).values).tolist()
    gaps = numbers.ids(f"{purpose} gaps", count, high=2).tolist()
    parts = [
        words[pick] + (odd if gap == 0 else " ") for pick, gap in zip(picks, gaps, strict=True)
    ]
    start = "" if odd == " " else odd
    return start + "".join(parts).removesuffix(" ")


@inputs
def corpora(
    draw: st.DrawFn,  # noqa: ARG001
    numbers: Numbers,
    accepts: Callable[[Corpus], bool],
    letters: str = "aeht",
    words: int = 7,
    longest: int = 5,
    length: int = 24,
    count: int = 9,
    odd: str = " ",
) -> Corpus:
    """Corpora that `accepts` accepts, in which no two merges make the same bytes."""
    for attempt in itertools.count():
        drawn = replace(numbers, run=numbers.run + attempt)
        known = _words(drawn, letters, words, longest)
        text = _sentence(drawn, "text", known, length, odd)
        new_text = _sentence(drawn, "other", [*known, known[0] + known[1]], 6, odd)
        corpus = Corpus(text, count, learnt(text, count), new_text)
        made = {left + right for left, right in corpus.merges}
        if len(made) == len(corpus.merges) and accepts(corpus):
            return corpus
    raise AssertionError  # there is always another


def assert_merges(actual: Any, expected: Merges, call: str, why: str = "") -> None:
    """These merges came back, in this order. `call` is as a student would write it."""
    right = 0
    if isinstance(actual, list):
        pairs = zip(actual, expected, strict=False)
        right = sum(1 for _ in itertools.takewhile(lambda two: _is(*two), pairs))
    help = ""
    if 0 < right < len(expected):
        first = "The first merge is" if right == 1 else f"The first {right} merges are"
        help = f"{first} right; the next should be {expected[right]}."
    assert_returns(actual, expected, call, "\n".join(filter(None, (help, why))))


def _is(actual: Any, expected: Merge) -> bool:
    return (
        type(actual) is tuple and list(map(type, actual)) == [bytes, bytes] and actual == expected
    )
