"""Hidden checks of `kv_cache`: keys and values that are kept (Shazeer 2019, section 2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import Numbers, check, inputs
from grader.checks.framework.assertions import (
    assert_gradients,
    assert_not_edited,
    assert_refuses,
    assert_returns,
    gradients,
    parts,
    pull_back,
)
from grader.checks.framework.inputs import distinct_sizes, transposed
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches
from grader.remote.proxy import RemoteModule
from grader.remote.session import StudentError

AXES = ("batch", "head", "token", "feature")
MASK_AXES = ("batch", "head", "query", "key")
NAMES = ("keys", "values")
Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True, repr=False)
class CacheCase:
    """Keys and values in pieces, as a model appends them: a prompt, a token, a few more."""

    sizes: tuple[int, int, int, int]
    lengths: tuple[int, ...]
    numbers: Numbers

    @cached_property
    def pieces(self) -> list[Pair]:
        """The keys (B, H, l, d) and values (B, H, l, d_v) of each piece."""
        return [self.pair(f"piece {number}", length) for number, length in enumerate(self.lengths)]

    def pair(self, purpose: str, length: int, batch: int = 0) -> Pair:
        """Random keys and values of this length, by default of the case's batch."""
        rows, heads, d_key, d_value = self.sizes
        key, value = (
            self.numbers.normal(f"{purpose} {name}", batch or rows, heads, length, width)
            for name, width in zip(NAMES, (d_key, d_value), strict=True)
        )
        return key, value

    @cached_property
    def rows(self) -> Tensor:
        """Row numbers to go on with: the last row twice, the first last, the second not at all."""
        batch = self.sizes[0]
        return torch.tensor([batch - 1, batch - 1, *range(2, batch), 0])

    @cached_property
    def last(self) -> Pair:
        """Keys and values of one token more, in as many rows as `rows`."""
        return self.pair("last", 1, batch=len(self.rows))

    def filled(self, student: Any) -> RemoteModule:
        """A cache of the student's that holds all pieces."""
        cache: RemoteModule = student.KVCache()
        for key, value in self.pieces:
            cache.append(key, value)
        return cache


def joined(pieces: list[Pair]) -> Pair:
    """The pieces one behind the other, along the axis of tokens."""
    keys, values = (torch.cat(some, dim=2) for some in zip(*pieces, strict=True))
    return keys, values


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> CacheCase:
    """Cases whose sizes all differ; the pieces are of three lengths, one of them a single token."""
    batch, heads, d_key, d_value = draw(distinct_sizes(4, low=3, high=8))
    first, last = draw(distinct_sizes(2, low=2, high=4))
    return CacheCase((batch, heads, d_key, d_value), (first, 1, last), numbers)


def assert_holds(actual: Any, expected: Pair, subject: str, help: str = "") -> None:
    """A call of `append` gave back these keys and these values."""
    for name, tensor, wanted in zip(NAMES, parts(actual, NAMES, subject), expected, strict=True):
        assert_matches(tensor, wanted, f"{name} that {subject} returns", axes=AXES, help=help)


def assert_length(cache: RemoteModule, expected: int, when: str) -> None:
    """The cache's `length` is that many."""
    result = cache.length.get()
    if isinstance(result, int):
        help = "It counts the tokens that the cache holds, which are axis 2 of its keys."
    else:
        help = "Is `length` a number that can be read, or a method that has to be called?"
    assert_returns(result, expected, f"cache.length {when}", help)


@check(points=1, inputs=cases(), examples=3)
def test_hands_back_everything_so_far(student: Any, case: CacheCase) -> None:
    """`append` returns the keys and values of all tokens so far, in order; `length` counts them.

    Sees a cache that grows along another axis, returns the new tokens only, puts new ones in
    front, mixes keys and values up, or shares what it holds with the next cache.
    """
    cache = student.KVCache()
    assert_length(cache, 0, "of an empty cache")
    for number, (key, value) in enumerate(case.pieces, start=1):
        expected = joined(case.pieces[:number])
        assert_holds(cache.append(key, value), expected, f"append number {number}")
        assert_length(cache, expected[0].size(2), f"after append number {number}")
    second = student.KVCache()
    assert_length(second, 0, "of a second cache")
    help = "This is a second cache. Does it share what it holds with the first?"
    single, next_pair = case.pieces[1], case.pair("another", 1)
    assert_holds(second.append(*single), single, "append to a new cache", help)
    # Of one length, they can be joined along any axis.
    assert_holds(second.append(*next_pair), joined([single, next_pair]), "append of another token")


@check(points=1, inputs=cases(), examples=2)
def test_goes_on_with_other_rows(student: Any, case: CacheCase) -> None:
    """After `reorder`, the cache holds the chosen rows; a row may occur twice or not at all.

    Sees the wrong axis, a permutation taken the other way round, keys or values that are left out,
    the first of two choices forgotten, and an empty cache that cannot be reordered.
    """
    cache = student.KVCache()
    cache.reorder(case.rows)
    assert_length(cache, 0, "after reorder of an empty cache")
    assert_holds(cache.append(*case.pieces[0]), case.pieces[0], "append after that")

    cache = case.filled(student)
    held, rows = joined(case.pieces), case.rows
    # First as many rows as before, which a wrong choice fits too, then one more, three, and one,
    # chosen twice in a row.
    longer = torch.cat([rows[1:-1], rows[-1:], rows[:1]])
    for choices in ([rows[:-1]], [longer], [[1, 0, 1]], [[1, 2], [1]]):
        for chosen in map(torch.as_tensor, choices):
            held = (held[0][chosen], held[1][chosen])
            cache.reorder(chosen)
        calls = " and ".join(f"reorder({torch.as_tensor(chosen).tolist()})" for chosen in choices)
        assert_length(cache, held[0].size(2), "after reorder")
        new = case.pair(f"after {calls}", 1, batch=len(held[0]))
        held = joined([held, new])
        assert_holds(cache.append(*new), held, f"append after {calls}")


@check(points=1, inputs=cases(), examples=2)
def test_what_was_handed_in_or_out_stays(student: Any, case: CacheCase) -> None:
    """Later calls change no tensor that was appended or returned before.

    Sees rows that are exchanged in place, a buffer that is written over, and a list that still
    grows after it was returned.
    """
    caching, cache = student.give("Caching"), student.KVCache()
    rows = case.rows[:-1]  # as many as before, so that they fit into the tensors returned
    last = case.pair("last", 1, batch=len(rows))
    pieces = [*case.pieces, last]
    flat = [tensor for pair in pieces for tensor in pair]
    results, after = caching.echo(cache, rows, *flat)
    names = [f"{name} of append number {n}" for n in range(1, len(pieces) + 1) for name in NAMES]
    assert_not_edited([rows, *flat], after[1:], ["rows", *names])
    held = [joined(case.pieces[:number]) for number in range(1, len(pieces))]
    keys, values = held[-1]
    held.append(joined([(keys[rows], values[rows]), last]))
    result = parts(results, names[::2], "append")
    for number, (actual, expected) in enumerate(zip(result, held, strict=True), start=1):
        subject = f"append number {number}"
        help = "These were right when they were returned, and were compared again later."
        assert_holds(actual, expected, subject, "" if number == len(pieces) else help)


@check(points=1, inputs=(st.integers(2, 5), st.integers(1, 6)), examples=4)
def test_the_mask_knows_the_past(student: Any, length: int, past: int) -> None:
    """New token i may attend to all `past` tokens and to the new ones up to itself.

    Sees a square mask, a mask that hides the past, a diagonal that starts at the first key, one
    that is off by one, and a `device` that is not used.
    """
    for new, before in ((length, past), (1, past), (length, 0), (1, 0), (length, length)):
        expected = torch.ones(new, before + new, dtype=torch.bool).tril(before)[None, None]
        result = student.causal_mask_with_past(new, before)
        subject = f"causal_mask_with_past({new}, {before})"
        assert_matches(result, expected, subject, axes=MASK_AXES)
    result = student.causal_mask_with_past(length=length, past=past, device="cpu")
    expected = torch.ones(length, past + length, dtype=torch.bool).tril(past)[None, None]
    assert_matches(result, expected, "causal mask on the device 'cpu'", axes=MASK_AXES)
    try:
        student.causal_mask_with_past(length, past, device="nowhere")
    except StudentError:
        return
    raise Mismatch(
        "A mask comes back for device='nowhere', although there is no such device.",
        help="Which of your calls says on which device a new tensor is created?",
    )


@check(points=1, inputs=cases(), examples=2)
def test_refuses_what_does_not_fit(student: Any, case: CacheCase) -> None:
    """Other batch sizes, heads or features raise ValueError; gradients flow, dtypes are kept.

    Sees the RuntimeError of `torch.cat`, one token for all rows, keys that are checked and values
    that are not, a graph that is cut by detach or `.data`, and numbers that are rounded.
    """
    settings = student.global_settings()
    _assert_refuses_misfits(student, case)
    _assert_gradients_flow(student, case)
    for dtype in (torch.float32, torch.bfloat16):
        cache = student.KVCache()
        pieces = [(transposed(key.to(dtype)), value.to(dtype)) for key, value in case.pieces]
        for number, pair in enumerate(pieces, start=1):
            result = cache.append(*pair)
            subject = f"append number {number} in {dtype}"
            assert_holds(result, joined(pieces[:number]), subject)
            for name, tensor in zip(NAMES, result, strict=True):
                assert_dtype(tensor, dtype, f"{name} that {subject} returns")
    assert_settings_kept(settings, student.global_settings())


def _assert_refuses_misfits(student: Any, case: CacheCase) -> None:
    batch, heads, d_key, d_value = case.sizes
    for misfit, rows, head_count, key_width, value_width in (
        ("another batch", 1, heads, d_key, d_value),
        ("another batch", batch + 1, heads, d_key, d_value),
        ("another number of heads", batch, 1, d_key, d_value),
        ("other features of the keys", batch, heads, d_key + 1, d_value),
        ("other features of the values", batch, heads, d_key, 1),
    ):
        key = case.numbers.normal("key", rows, head_count, 1, key_width)
        value = case.numbers.normal("value", rows, head_count, 1, value_width)
        shapes = f"append of keys {tuple(key.shape)} and values {tuple(value.shape)}"
        held = f"to a cache of {joined(case.pieces)[0].shape[0]} rows, {heads} heads"
        held += f", {d_key} and {d_value} features: {misfit}"
        cache = case.filled(student)
        assert_refuses(ValueError, partial(cache.append, key, value), f"{shapes} {held}")
    cache = case.filled(student)
    cache.reorder(case.rows)
    pair = case.pair("of the batch before", 1)
    reason = f"append of {batch} rows to a cache that holds {len(case.rows)} since reorder"
    assert_refuses(ValueError, partial(cache.append, *pair), reason)


def _assert_gradients_flow(student: Any, case: CacheCase) -> None:
    """Results lead back to every key and value that went in before them."""
    pieces = [*case.pieces, case.last]
    leaves = [tensor.clone().requires_grad_() for pair in pieces for tensor in pair]
    caching = student.give("Caching")
    results = caching(student.KVCache(), case.rows, *leaves)
    held = joined(list(zip(leaves[:-2:2], leaves[1:-2:2], strict=True)))
    last = joined([(held[0][case.rows], held[1][case.rows]), (leaves[-2], leaves[-1])])
    *_, before, after = parts(results, [f"append {n}" for n in range(len(pieces))], "Caching")
    assert_holds(before, held, "the last append before reorder")
    assert_holds(after, last, "the last append")
    # The student's graph can be gone through once, so all results are one output.
    actual, expected_output = (
        torch.cat([tensor.flatten() for pair in pairs for tensor in pair])
        for pairs in ((before, after), (held, last))
    )
    cotangent = case.numbers.normal("cotangent", *expected_output.shape)
    names = [f"{name} of append number {n}" for n in range(1, len(pieces) + 1) for name in NAMES]
    expected = pull_back(expected_output, leaves, cotangent)
    assert_gradients(gradients(actual, leaves, cotangent), expected, names)
