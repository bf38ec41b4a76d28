"""Hidden checks of `subwords`: byte-pair encoding of texts that tell its mistakes apart."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from grader.checks.framework import check
from grader.checks.framework.assertions import assert_refuses, assert_returns
from grader.checks.subwords_cases import (
    Corpus,
    Merges,
    Order,
    Ties,
    assert_merges,
    corpora,
    encoded,
    joined_from_the_right,
    joined_once,
    learnt,
    learnt_from_kept_counts,
    longest_match,
)
from grader.checks.subwords_smaller import how_often, smaller_to_encode, smaller_to_learn
from grader.feedback.comparison import Mismatch

# Of characters of three bytes, the first two pairs would always be equally frequent.
ACCENTS = "aeÉü"
LINES = "\n\n"
MANY = 1000


def _without_white_space(text: str) -> list[str]:
    return re.findall(r" ?\S+", text)


def _words_and_spaces(text: str) -> list[str]:
    return re.findall(r"\S+|\s+", text)


def _without_punctuation(text: str) -> list[str]:
    return re.findall(r" ?\w+| ?[^\s\w]+|\s+", text)


def _one_piece(text: str) -> list[str]:
    return [text]


def _characters(piece: str) -> list[bytes]:
    return [character.encode() for character in piece]


def _tells_counting(corpus: Corpus) -> bool:
    """No ties, and it matters how the text is cut, and how often a piece occurs."""
    return (
        corpus.is_whole()
        and not corpus.has_ties()
        and corpus.learns_otherwise(pieces=_one_piece)
        and corpus.learns_otherwise(pieces=str.split)
        and corpus.learns_otherwise(once=True)
    )


def _tells_ties(corpus: Corpus) -> bool:
    """It matters which of equally frequent pairs is joined, and by what they are compared."""
    alternatives: tuple[Ties, ...] = ("smaller", "first", "last", "ids", "joined", "longer")
    result = [learnt(corpus.text, corpus.count, ties=ties) for ties in alternatives]
    return corpus.is_whole() and corpus.merges not in result


def _tells_repeats(corpus: Corpus) -> bool:
    """It matters how pairs are counted and joined that overlap or occur twice in a piece."""
    return (
        corpus.is_whole()
        and not corpus.has_ties()
        and corpus.learns_otherwise(apart=True)
        and corpus.learns_otherwise(joined=joined_from_the_right)
        and corpus.learns_otherwise(joined=joined_once)
    )


def _tells_kept_counts(corpus: Corpus) -> bool:
    """It matters how counts change where a pair is joined twice in a row."""
    return corpus.is_whole() and learnt_from_kept_counts(corpus.text, corpus.count) != corpus.merges


def _tells_bytes(corpus: Corpus) -> bool:
    """It matters that characters are bytes, and that white space is not left out."""
    return (
        corpus.is_whole()
        and not corpus.has_ties()
        and corpus.learns_otherwise(split=_characters)
        and corpus.learns_otherwise(pieces=_without_white_space)
    )


def _tells_order(corpus: Corpus) -> bool:
    """It matters in which order merges are applied, and that it goes on until none applies."""
    orders: tuple[Order, ...] = ("latest", "leftmost")
    alternatives = [encoded(corpus.other, corpus.merges, order=order) for order in orders]
    rounds = [encoded(corpus.other, corpus.merges, passes=passes) for passes in (1, 2)]
    longest = longest_match(corpus.other, corpus.merges)
    return corpus.is_whole() and corpus.ids not in (*alternatives, *rounds, longest)


def _tells_frequency(corpus: Corpus) -> bool:
    """It matters that the earliest merge comes first, and not that of the most frequent pair."""
    result = encoded(corpus.other, corpus.merges, order="frequent")
    return corpus.is_whole() and corpus.ids != result


def _tells_pieces(corpus: Corpus) -> bool:
    """It matters that the text to encode is cut as in training, white space included."""
    alternatives = (_one_piece, _words_and_spaces, _without_white_space, _without_punctuation)
    result = [encoded(corpus.other, corpus.merges, pieces=pieces) for pieces in alternatives]
    return corpus.is_whole() and corpus.ids not in result and not _tells_any_order(corpus)


def _tells_any_order(corpus: Corpus) -> bool:
    """It matters in which order merges are applied. Where it does not, that costs points once."""
    orders: tuple[Order, ...] = ("latest", "leftmost", "frequent")
    return any(
        encoded(text, corpus.merges, order=order) != encoded(text, corpus.merges)
        or longest_match(text, corpus.merges) != encoded(text, corpus.merges)
        for text in _texts(corpus)
        for order in orders
    )


def _texts(corpus: Corpus) -> tuple[str, ...]:
    """The texts to encode of a corpus: its own, and one with bytes that were never seen."""
    return (corpus.other, f"Ω\r\n{corpus.other}\x00 🙂", corpus.text)


def _splits_characters(corpus: Corpus) -> bool:
    """The text is in several tokens a character, and in some tokens of several bytes."""
    tokens = [left + right for left, right in corpus.merges]
    broken = [token for token in tokens if "\ufffd" in token.decode(errors="replace")]
    return corpus.is_whole() and bool(broken) and max(corpus.ids) > 255


def _assert_learns(student: Any, corpus: Corpus) -> None:
    """The merges of a corpus are right; where they are not, those of a smaller one are shown."""

    def learns(corpus: Corpus) -> None:
        result = student.train_merges(corpus.text, corpus.count)
        call = f"train_merges({corpus.text!r}, {corpus.count})"
        assert_merges(result, corpus.merges, call, how_often(result, corpus))

    try:
        learns(corpus)
    except Mismatch:
        learns(smaller_to_learn(student, corpus))
        raise


def _assert_encodes(student: Any, result: Any, text: str, merges: Merges) -> None:
    """The ids of a text are right; where they are not, those of a smaller one are shown."""

    def encodes(result: Any, text: str, merges: Merges) -> None:
        assert_returns(result, encoded(text, merges), f"encode({text!r}, {merges})")

    try:
        encodes(result, text, merges)
    except Mismatch:
        smaller = smaller_to_encode(student, text, merges)
        encodes(student.encode(*smaller), *smaller)
        raise


@check(
    points=2,
    inputs=corpora(_tells_counting, length=60, count=4),
    examples=3,
)
def test_joins_the_most_frequent_pair(student: Any, corpus: Corpus) -> None:
    """Each merge joins the most frequent pair of neighbours, counted within all pieces.

    Sees pairs that are counted across pieces, every different piece counted once, the space in
    front of a word left out, ids or joined tokens in place of pairs, and one merge too many. No two
    pairs are equally frequent here.
    """
    _assert_learns(student, corpus)


@check(points=1, inputs=corpora(_tells_ties, words=9, length=16), examples=3)
def test_takes_the_greater_of_equally_frequent_pairs(student: Any, corpus: Corpus) -> None:
    """Of equally frequent pairs the greatest is joined; pairs compare as tuples of bytes.

    Sees the first pair or the last, the smaller, the one of the larger ids, and pairs that are
    compared by their joined bytes or by their length.
    """
    _assert_learns(student, corpus)


@check(
    points=1,
    inputs=(
        corpora(_tells_repeats, letters="ab", words=9, length=20, count=4),
        corpora(_tells_kept_counts, letters="ab", words=9, longest=9, length=20),
    ),
    examples=2,
)
def test_repeats_and_the_end(student: Any, corpus: Corpus, joined_twice: Corpus) -> None:
    """Overlapping pairs count as they stand and are joined from the left, until none is left.

    Sees `aaa` counted as one pair, counts that are updated at each join and between two joins in a
    row twice, occurrences joined from the right or only the first of a piece,
    pairs of one occurrence left out, an error or an endless loop where no pair is left, and merges
    for no text and for a count of 0.
    """
    for learned in (corpus, joined_twice):
        _assert_learns(student, learned)
    first, second = corpus.merges[0]
    for text in ((first + second).decode(), "xxx", "xxxx", "x", ""):
        result = student.train_merges(text, MANY)
        assert_merges(result, learnt(text, MANY), f"train_merges({text!r}, {MANY})")
    assert_merges(student.train_merges(corpus.text, 0), [], f"train_merges({corpus.text!r}, 0)")


@check(
    points=1,
    inputs=corpora(_tells_bytes, letters=ACCENTS, length=30, count=4, odd=LINES),
    examples=2,
)
def test_learns_from_any_text(student: Any, corpus: Corpus) -> None:
    """Accents, other alphabets and white space are bytes like all others.

    Sees characters in place of bytes, white space that is left out or joined to words, and a text
    that is changed before it is cut, such as by `strip`.
    """
    _assert_learns(student, corpus)
    result = student.train_merges(LINES, 1)
    assert_merges(result, learnt(LINES, 1), f"train_merges({LINES!r}, 1)")


@check(
    points=2,
    inputs=(
        corpora(_tells_order, length=40, count=12),
        corpora(_tells_frequency, letters="ab", longest=8, length=20, count=7),
    ),
    examples=2,
)
def test_applies_the_earliest_merge_first(student: Any, order: Corpus, often: Corpus) -> None:
    """In each piece the merge learned earliest is applied first, until none applies.

    Sees the longest token that fits, the leftmost pair, the latest merge or the most frequent pair
    first, a single round, ids that start elsewhere than at 256, and merges that are used up.
    """
    for corpus in (order, often):
        result, after = student.encode.echo(corpus.other, corpus.merges)
        _assert_encodes(student, result, corpus.other, corpus.merges)
        assert_returns(after[1], corpus.merges, "After encode, the list of merges")


@check(
    points=1,
    inputs=corpora(_tells_pieces, letters="aÉ. ", words=6, length=40, count=6, odd="   \n"),
    examples=2,
)
def test_encodes_any_text(student: Any, corpus: Corpus) -> None:
    """The text is cut into the same pieces, and bytes that were never seen have their own ids.

    Sees merges across pieces, words cut from punctuation, white space that is lost, characters for
    bytes, and a `KeyError` for what training did not contain. Without merges, a text is its bytes.
    """
    for text in _texts(corpus):
        result = student.encode(text, corpus.merges)
        _assert_encodes(student, result, text, corpus.merges)
    assert_returns(student.encode("", corpus.merges), [], f"encode('', {corpus.merges})")
    assert_returns(student.encode("aÉ", []), [97, 195, 137], "encode('aÉ', [])")


@check(points=1, inputs=corpora(_tells_order, length=40, count=12), examples=2)
def test_decodes_what_was_encoded(student: Any, corpus: Corpus) -> None:
    """Ids become the text again; an unknown id raises KeyError or IndexError.

    Sees tokens that are joined by spaces or stripped, merges that are off by one, merges of merges
    that are spelt out wrongly, and an unknown id that is passed over.
    """
    known = len(corpus.merges)
    for ids in (corpus.ids, corpus.ids[::-1], list(range(256, 256 + known)), [32, 256, 32]):
        call = f"decode({ids}, {corpus.merges})"
        assert_returns(student.decode(ids, corpus.merges), _text(ids, corpus), call)
    assert_returns(student.decode([], corpus.merges), "", f"decode([], {corpus.merges})")
    ids = [97, 256 + known]
    reason = f"decode({ids}, …): with {known} merges there is no id {ids[1]}"
    assert_refuses(LookupError, partial(student.decode, ids, corpus.merges), reason)


@check(
    points=1,
    inputs=corpora(_splits_characters, letters="aÉ☃", length=20, count=5),
    examples=2,
)
def test_decodes_bytes_that_are_no_text(student: Any, corpus: Corpus) -> None:
    """A character may be spread over tokens; bytes that are not valid UTF-8 become `�`.

    Sees tokens that are decoded one by one, an error for malformed bytes, and malformed bytes that
    are left out or read in another encoding.
    """
    merged = list(range(256, 256 + len(corpus.merges)))
    for ids in (corpus.ids, corpus.ids[1:], merged, [195], [104, 240, 159, 105, *merged, 255]):
        call = f"decode({ids}, {corpus.merges})"
        assert_returns(student.decode(ids, corpus.merges), _text(ids, corpus), call)


@check(points=0, inputs=corpora(_tells_order, length=40, count=12), examples=1)
def test_refuses_negative_ids(student: Any, corpus: Corpus) -> None:
    """An id of -1 raises an error too, and is not the last token of a list.

    It carries no points: no encoder produces such an id.
    """
    reason = "decode([-1], …): no token has the id -1"
    assert_refuses(LookupError, partial(student.decode, [-1], corpus.merges), reason)


def _text(ids: list[int], corpus: Corpus) -> str:
    tokens = [bytes([byte]) for byte in range(256)] + [a + b for a, b in corpus.merges]
    return b"".join(tokens[token] for token in ids).decode("utf-8", errors="replace")
