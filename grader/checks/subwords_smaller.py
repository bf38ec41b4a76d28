"""The smallest part of a text, and the fewest merges, for which a student's result is still wrong.

A text of twenty words doesn't show what went wrong in it; a piece of three letters does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from grader.checks.subwords_cases import Corpus, Merges, cut, encoded, learnt, pairs_counted
from grader.remote.session import StudentError

# So many calls of the student's function at most.
CALLS = 120

Item = TypeVar("Item")


def smaller_to_encode(student: Any, text: str, merges: Merges) -> tuple[str, Merges]:
    """A smaller text, and fewer merges, for which `encode` is wrong; the same if there are none."""

    def is_wrong(some: list[str], merges: Merges) -> bool:
        text = "".join(some)
        return _is_complete(merges) and bool(student.encode(text, merges) != encoded(text, merges))

    limited = _at_most(is_wrong)
    piece = "".join(_shortest(cut(text), lambda some: limited(some, merges)))
    few = _shortest(merges, lambda some: limited([piece], some))
    letters = _shortest(piece, lambda some: limited(some, few))
    return "".join(letters), _shortest(few, lambda some: limited(letters, some))


def smaller_to_learn(student: Any, corpus: Corpus) -> Corpus:
    """A smaller text, and fewer merges to learn, for which `train_merges` is wrong.

    It has no ties if the whole text has none, and is the same if there is no smaller one.
    """
    has_ties = corpus.has_ties()

    def is_wrong(some: list[str], count: int = corpus.count) -> bool:
        text = "".join(some)
        right = learnt(text, count)
        if not has_ties and Corpus(text, count, right).has_ties():
            return False
        return bool(student.train_merges(text, count) != right)

    limited = _at_most(is_wrong)
    text = "".join(_shortest("".join(_shortest(cut(corpus.text), limited)), limited))
    counts = (count for count in range(1, corpus.count) if limited([text], count))
    count = next(counts, corpus.count)
    return Corpus(text, count, learnt(text, count))


def how_often(yours: Any, corpus: Corpus) -> str:
    """How often the first wrong merge and the right one occur, in words."""
    pairs = zip(yours, corpus.merges, strict=False) if isinstance(yours, list) else ()
    number, wrong, best = next(
        ((number, *pair) for number, pair in enumerate(pairs) if pair[0] != pair[1]),
        (0, None, (b"", b"")),
    )
    if type(wrong) is not tuple or list(map(type, wrong)) != [bytes, bytes]:
        return ""
    counts = pairs_counted(corpus.text, corpus.merges[:number])
    before = f"After {corpus.merges[:number]}" if number else "Here"
    if counts[best] == counts[wrong]:
        return f"{before} {best} and {wrong} are equally frequent; the greater is {best}."
    return f"{before} {best} occurs {_times(counts[best])}, {wrong} {_times(counts[wrong])}."


def _times(count: int) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _at_most(is_wrong: Callable[..., bool]) -> Callable[..., bool]:
    """The same, but False where the student's code fails, and once it was asked so often."""
    asked = 0

    def limited(*arguments: Any) -> bool:
        nonlocal asked
        asked += 1
        try:
            return asked <= CALLS and is_wrong(*arguments)
        except StudentError:
            return False

    return limited


def _shortest(items: Sequence[Item], is_wrong: Callable[[list[Item]], bool]) -> list[Item]:
    """Leave out as many items as possible, halves first, as long as it is wrong."""
    left = list(items)
    size = len(left) // 2
    while size:
        start = 0
        while start < len(left):
            fewer = left[:start] + left[start + size :]
            if fewer and is_wrong(fewer):
                left = fewer
            else:
                start += size
        size //= 2
    return left


def _is_complete(merges: Merges) -> bool:
    """Whether every token of a merge is a byte or made by an earlier merge."""
    made: set[bytes] = set()
    for left, right in merges:
        if any(len(token) > 1 and token not in made for token in (left, right)):
            return False
        made.add(left + right)
    return True
