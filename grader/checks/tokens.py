"""Hidden checks of `tokens`: words, their ids, and batches of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.checks.framework import Numbers, check
from grader.checks.framework.assertions import (
    assert_not_edited,
    assert_refuses,
    assert_returns,
)
from grader.checks.framework.inputs import random_numbers, transposed
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches
from grader.remote.session import StudentError
from grader.remote.wire import Once

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIALS = ["<pad>", "<UNK>", "<bos>"]


def words(numbers: Numbers, count: int) -> list[str]:
    """Return made-up words of three to six letters, unsorted; up to 26, all different."""
    rows = numbers.ids("words", count, 5, high=len(LETTERS)).tolist()
    last = numbers.permutation("last letters", len(LETTERS)).tolist()
    return [
        "".join(LETTERS[letter] for letter in row[: 2 + index % 4]) + LETTERS[last[index]]
        for index, row in enumerate(rows)
    ]


def tokens_of(text: str) -> list[str]:
    """Return what `tokenize` should return."""
    kept = (letter for letter in text.lower() if letter not in ".,!?")
    return "".join(kept).split()


def vocabulary(tokens: Iterable[str], specials: Sequence[str] = ()) -> dict[str, int]:
    """Return what `build_vocab` should return for texts of these tokens."""
    order = [*specials, *sorted(set(tokens) - set(specials))]
    return dict(zip(order, range(len(order)), strict=True))


def assert_made_of(
    actual: Any,
    expected: Callable[[list[str]], Any],
    student: Any,
    text: str,
    subject: str,
    help: str,
) -> None:
    """What a call gave is what is `expected` of the tokens of a text.

    Those that the student's own `tokenize` returns count as well, so that a mistake there costs
    once, and so does code that makes up for it.
    """
    own = student.tokenize(text)
    if is_list_of_tokens(own):
        with suppress(Mismatch):
            assert_returns(actual, expected(own), subject, help)
            return
    assert_returns(actual, expected(tokens_of(text)), subject, help)


def is_list_of_tokens(result: Any) -> bool:
    """Return whether this could be the tokens of a text."""
    return (
        isinstance(result, list)
        and bool(result)
        and all(isinstance(token, str) for token in result)
    )


@check(points=1, inputs=random_numbers(), examples=3)
def test_cuts_a_text_into_words(student: Any, numbers: Numbers) -> None:
    """Words come out in lower case, without . , ! ? and without empty ones; nothing else is lost.

    Sees a comma that is kept, a split at single spaces, tabs, line breaks or non-breaking spaces
    not taken for white space, a word cut where a full stop was, and deleted characters that should
    stay.
    """
    a, b, c, d = words(numbers, 4)
    for text in (
        f"{a.capitalize()} {b.upper()}",
        f"{a}, {b}.",
        f"{a}! {b}?",
        f"{a}  {b}",
        f" {a}\t{b}\n{c}\r\n{d} ",
        f"{a}.{b} {c},{d}",
        f"{a} . {b} ?! {c}",
        f"{a}\v{b}\f{c}\u00a0{d}",
        f"{a}'{b} {c}-{d}",
        f'"{a}" ({b}): {c}; <{d}> {a}_{b} #{c}',
        f"ÉÜ{a} {numbers.case} 3{b}4",
        f"{a} {b} {a} {a}",
        "",
        " \n",
        "?",
    ):
        assert_returns(student.tokenize(text), tokens_of(text), f"tokenize({text!r})")


@check(points=1, inputs=random_numbers(), examples=3)
def test_numbers_all_tokens(student: Any, numbers: Numbers) -> None:
    """Special tokens come first, in their order, then the sorted tokens; ids have no gaps.

    Sees the order of a set or that of the texts, the most frequent first, specials that are sorted
    or changed, one that gets a second id as a word, and texts that are read twice.
    """
    several = words(numbers, 9)
    texts = [" ".join(several[start:end]) for start, end in ((0, 4), (3, 6), (5, 9))]
    result = " ".join(texts).split()
    assert_returns(student.build_vocab(texts), vocabulary(result), f"build_vocab({texts})")
    # One of the words is special as well, with others before it and after it in the order.
    for specials in (SPECIALS, tuple(reversed(SPECIALS)), [sorted(several)[4], "<pad>"]):
        expected = vocabulary(result, specials)
        subject = f"build_vocab({texts}, specials={specials})"
        assert_returns(student.build_vocab(texts, specials), expected, subject)
        assert_returns(student.build_vocab(texts, specials=specials), expected, subject)
    once = student.build_vocab(Once(tuple(texts)), SPECIALS)
    subject = "build_vocab(<a generator of the same texts>, …)"
    assert_returns(once, vocabulary(result, SPECIALS), subject)
    assert_returns(student.build_vocab([], SPECIALS), vocabulary([], SPECIALS), "build_vocab([])")
    text = f"{several[0].capitalize()}, {several[1]}  {several[0]}!"
    subject = f"build_vocab([{text!r}])"
    help = "Does build_vocab cut the texts with your own tokenize?"
    assert_made_of(student.build_vocab([text]), vocabulary, student, text, subject, help)


@check(points=1, inputs=random_numbers(), examples=3)
def test_turns_words_into_ids(student: Any, numbers: Numbers) -> None:
    """Each token gets its id; an unknown token gets that of `unknown`, or a KeyError names it.

    Sees a made-up id, id 0 treated as "not found", unknown tokens that are left out, a lookup of
    `vocab[unknown]` although no token is unknown, and a vocabulary that grows.
    """
    a, b, c, d, stranger = words(numbers, 5)
    first = int(numbers.ids("first", high=20)) + 1
    vocab = {a: first, b: first + 30, c: 0, d: first + 4}
    text = f"{b} {c} {a} {d}"
    expected = [vocab[token] for token in text.split()]
    assert_returns(student.encode(text, vocab), expected, f"encode({text!r}, {vocab})")
    subject = f"encode({text!r}, {vocab}, unknown='<unk>')"
    with _no_key_error(subject, "although all of its words are in the vocabulary"):
        assert_returns(student.encode(text, vocab, unknown="<unk>"), expected, subject)

    larger = {**vocab, "<unk>": 70}
    mixed = f"{a} {stranger} {c}"
    subject = f"encode({mixed!r}, {larger}, '<unk>')"
    with _no_key_error(subject, "although `unknown` is given"):
        result, after = student.encode.echo(mixed, larger, "<unk>")
        assert_returns(result, [vocab[a], 70, vocab[c]], subject)
        assert_returns(after[1], larger, "After encode, the vocabulary")
    # The id of the second is 0.
    for unknown in (b, c):
        subject = f"encode({mixed!r}, {vocab}, unknown={unknown!r})"
        expected = [vocab[a], vocab[unknown], vocab[c]]
        with _no_key_error(subject, "although `unknown` is in the vocabulary"):
            assert_returns(student.encode(mixed, vocab, unknown=unknown), expected, subject)

    for call in (partial(student.encode, mixed, vocab), partial(student.encode, mixed, larger)):
        subject = f"encode({mixed!r}, …): {stranger!r} is not in the vocabulary"
        assert_refuses(KeyError, call, subject, naming=stranger)
    text = f"{a.capitalize()},  {b}! {a}"
    help = "Does encode cut the text with your own tokenize?"
    subject = f"encode({text!r}, {larger}, '<unk>')"
    result = student.encode(text, larger, "<unk>")

    def ids_of(tokens: list[str]) -> list[int]:
        return [larger.get(token, 70) for token in tokens]

    assert_made_of(result, ids_of, student, text, subject, help)


@contextmanager
def _no_key_error(subject: str, though: str) -> Iterator[None]:
    """Name the call that raised a KeyError."""
    try:
        yield
    except StudentError as error:
        if "KeyError" not in error.kinds:
            raise
        raise Mismatch(f"{subject} raised {error}, {though}.") from None


@check(points=1, inputs=random_numbers(), examples=3)
def test_fills_up_on_the_right(student: Any, numbers: Numbers) -> None:
    """Rows have the length of the longest, short ones end with pad_id, and ids are exact int64.

    Sees padding on the left, zeros whatever pad_id is, a fixed length or that of the first
    sequence, ids that passed through float32, and lists that have grown.
    """
    big = 2**24 + 1 + 2 * int(numbers.ids("big", high=1000))
    rows = [numbers.ids(f"row {size}", size, low=1, high=50).tolist() for size in (2, 5, 1, 4)]
    for sequences, pad_id in (
        (rows, 0),
        (rows, 7),
        (rows, -100),
        ([rows[0], [], rows[2]], 3),
        ([rows[1]], 0),
        ([[0, 0], [5], [0, 9]], 4),
        ([[big], [big + 2, 1]], big + 4),
    ):
        longest = max(map(len, sequences))
        expected = torch.tensor([row + [pad_id] * (longest - len(row)) for row in sequences])
        result, after = student.pad_batch.echo(sequences, pad_id)
        subject = f"pad_batch({sequences}, pad_id={pad_id})"
        assert_dtype(result, torch.int64, subject)
        assert_matches(result, expected, subject, axes=("batch", "length"))
        assert_returns(after[0], sequences, "After pad_batch, the list of sequences")
    short = [rows[0], rows[2]]
    expected = torch.tensor([rows[0], [*rows[2], 0]])
    assert_matches(student.pad_batch(short), expected, f"pad_batch({short})")
    expected[1, 1] = 7
    named = student.pad_batch(short, pad_id=7)
    assert_matches(named, expected, f"pad_batch({short}, pad_id=7)")


@check(points=1, inputs=random_numbers(), examples=3)
def test_one_hot_rows_pick_rows(student: Any, numbers: Numbers) -> None:
    """Each row has a single one, at the position of its id, in float32; times W it is W[ids].

    Sees integers or booleans instead of float32, as many columns as the largest id needs, an axis
    that is lost or added, code for ids of one or two axes only, and ids that are modified.
    """
    settings = student.global_settings()
    vocab_size = 11
    ids = numbers.ids("ids", 3, 4, high=vocab_size - 2)
    ids[1, :2] = torch.tensor([0, 0])
    table = numbers.normal("table", vocab_size, 5, dtype=torch.float32)
    for some in (ids, transposed(ids), ids[0], ids[:, :1], ids[None, :, None], ids[1, 1]):
        result, after = student.one_hot.echo(some, vocab_size)
        subject = f"one_hot of ids of shape {tuple(some.shape)}"
        _assert_one_hot(result, some, vocab_size, subject)
        assert_not_edited([some], after[:1], ["ids"])
        assert_matches(
            result @ table, table[some], f"{subject}, times a matrix of {vocab_size} rows,"
        )
    last = torch.tensor([[vocab_size - 1]])
    _assert_one_hot(student.one_hot(last, vocab_size), last, vocab_size, "one_hot of the last id")
    only = torch.zeros(2, dtype=torch.int64)
    _assert_one_hot(student.one_hot(only, vocab_size=1), only, 1, "one_hot with vocab_size=1")
    assert_settings_kept(settings, student.global_settings())


def _assert_one_hot(actual: Any, ids: Tensor, vocab_size: int, subject: str) -> None:
    expected = torch.zeros(*ids.shape, vocab_size).scatter_(-1, ids[..., None], 1.0)
    axes = ("batch", "length", "id")[-expected.dim() :] if expected.dim() <= 3 else ()
    assert_dtype(actual, torch.float32, subject)
    assert_matches(actual, expected, subject, axes=axes)
    if not torch.equal(actual, expected):
        raise Mismatch(f"{subject} contains numbers that are close to 0 or 1, but not exactly.")
