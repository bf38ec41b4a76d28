"""Hidden checks of `grouped_query`: attention whose key/value heads are shared (Ainslie 2023)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_changes,
    assert_gradients,
    assert_keeps_numbers,
    assert_not_edited,
    assert_refuses,
    assert_registers,
    assert_same_in_training,
    gradients,
    matches,
)
from grader.checks.framework.inputs import transposed
from grader.checks.framework.precision import (
    assert_same_dtype,
    assert_settings_kept,
    either_precision,
)
from grader.checks.grouped_query_cases import AXES, HEAD_AXES, GroupedCase, cases
from grader.feedback.comparison import Mismatch, assert_finite, assert_matches, assert_shape
from grader.remote.proxy import RemoteModule


def new_cache(student: Any) -> RemoteModule:
    """An empty cache, the reference's."""
    cache: RemoteModule = student.needed("kv_cache", "KVCache")
    return cache


@check(points=1, inputs=cases(), examples=1)
@either_precision
def test_has_four_maps(student: Any, case: GroupedCase) -> None:
    """The parameters are q_proj, k_proj, v_proj and out_proj; they have a bias with bias=True only.

    Sees keys and values that are as wide as queries, other names, a bias by default, and maps of
    which two are one.
    """
    for variant in (case, case.with_bias):
        options = ", bias=True" if variant.bias else ""
        sizes = f"{variant.d_model}, {variant.n_heads}, {variant.n_kv_heads}"
        subject = f"GroupedQueryAttention({sizes}{options})"
        assert_registers(variant.new_layer(student), variant.shapes, subject)
        layer = variant.layer(student)
        assert_keeps_numbers(layer, variant.weights)
        # One token attends to itself whatever the scores are; several don't.
        single = layer(variant.x[:, :1])
        assert_matches(single, variant.output(variant.x[:, :1]), "output for one token", axes=AXES)
        before = layer(variant.x)
        assert_shape(before, dict(zip(AXES, variant.x.shape, strict=True)))
        layer.load({"k_proj.weight": -variant.weights["k_proj.weight"]})
        assert_changes(layer(variant.x), before, "The numbers in `k_proj.weight` change nothing.")


@check(points=2, inputs=cases(), examples=3)
@either_precision
def test_agrees_with_torch(student: Any, case: GroupedCase) -> None:
    """The output is that of torch's grouped attention on the projections.

    Sees heads that are assigned in turn (`repeat`) and not in groups (`repeat_interleave`), heads
    cut by a view without transpose, a scale made of another size, and an axis of heads or tokens
    taken for the other. A wrong rotation passes: there are no angles here.
    """
    for variant in (case, *case.others):
        layer = variant.layer(student)
        subject = f"output with {variant.n_heads} heads and {variant.n_kv_heads} key/value heads"
        help = f"Does query head h read key/value head h // {variant.group}?"
        assert_matches(layer(variant.x), variant.output(), subject, axes=AXES, help=help)
        causal = variant.output(mask=variant.causal)
        result = layer(variant.x, mask=variant.causal)
        assert_matches(result, causal, f"{subject} and a causal mask", axes=AXES, help=help)


@check(points=2, inputs=cases(), examples=2)
@either_precision
def test_queries_and_keys_are_turned(student: Any, case: GroupedCase) -> None:
    """`angles` rotate queries and keys, each token by its own, and not the values.

    Sees values that are rotated, only one of the two rotated, angles along the heads, angles made
    anew from position 0, and x rotated before it is projected.
    """
    layer = case.layer(student)
    for angles in (case.angles, case.angles.float()):
        expected = case.output(angles=angles, mask=case.causal)
        result = layer(case.x, angles, case.causal)
        assert_matches(result, expected, "output with angles", axes=AXES)
    expected = case.output(case.x[:, 1:], case.angles[1:])
    result = layer(case.x[:, 1:], angles=case.angles[1:])
    assert_matches(result, expected, "output for later tokens with their angles", axes=AXES)


@check(points=2, inputs=cases(), examples=2)
@either_precision
def test_in_pieces_through_a_cache(student: Any, case: GroupedCase) -> None:
    """Tokens that arrive in pieces through a cache give the same as all at once; no mask is added.

    Sees a cache that is not used, new keys attended to and old ones not, keys that are rotated
    again each time, cached tensors that are written into, a layer that remembers by itself, and one
    that makes a mask or angles of its own, or ignores the mask of a single token.
    """
    layer = case.layer(student)
    at_once = case.output(angles=case.angles, mask=case.causal)
    for pieces in (case.pieces, (1,) * case.length):
        cache, past = new_cache(student), 0
        for length in pieces:
            end = past + length
            # A single new token attends to everything: it needs no mask.
            mask = None if length == 1 else case.causal[past:end, :end]
            result = layer(case.x[:, past:end], case.angles[past:end], mask, cache)
            subject = f"output for tokens {past} to {end - 1} with {past} in the cache"
            assert_matches(result, at_once[:, past:end], subject, axes=AXES)
            past = end
    _assert_adds_no_mask(student, case)
    # Without a cache it is as if there had been none.
    last = case.length - 1
    result = layer(case.x[:, last:], case.angles[last:])
    expected = case.output(case.x[:, last:], case.angles[last:])
    assert_matches(result, expected, "output without a cache, after calls with one", axes=AXES)


def _assert_adds_no_mask(student: Any, case: GroupedCase) -> None:
    """With a cache, new tokens attend to all that the given mask shows, ahead of themselves too."""
    layer = case.layer(student)
    padding = torch.ones(case.batch, 1, 1, case.length, dtype=torch.bool)
    padding[1::2, ..., 1] = False
    for mask, given in ((None, "no mask"), (padding, "a padding mask")):
        cache, past = new_cache(student), 0
        for length in case.pieces:
            end = past + length
            visible = None if mask is None else mask[..., :end]
            result = layer(case.x[:, past:end], mask=visible, cache=cache)
            expected = case.output(case.x[:, :end], mask=visible)[:, past:end]
            subject = f"output for tokens {past} to {end - 1} with {past} in the cache and {given}"
            assert_matches(result, expected, subject, axes=AXES)
            past = end


@check(points=1, inputs=cases(), examples=2)
@either_precision
def test_what_the_cache_holds(student: Any, case: GroupedCase) -> None:
    """The cache holds `n_kv_heads` heads: rotated keys, and values as they are.

    Sees heads that are repeated before they are cached, keys that are cached before they are
    rotated, scaled keys, values that are rotated, keys and values mixed up, and a cache or
    angles that are used only where there are groups, or only together.
    """
    for variant in (case, *case.others):
        _assert_caches(student, variant)
    unturned = new_cache(student)
    case.layer(student)(case.x, mask=case.causal, cache=unturned)
    case.contents(unturned, case.length)


def _assert_caches(student: Any, case: GroupedCase) -> None:
    _, keys, values = case.heads(case.x.double(), case.angles, case.weights)
    layer, cache, past = case.layer(student), new_cache(student), 0
    for length in case.pieces[:2]:
        end = past + length
        mask = case.causal[past:end, :end]
        layer(case.x[:, past:end], angles=case.angles[past:end], mask=mask, cache=cache)
        past = end
    held_keys, held_values = case.contents(cache, past)
    help = "Are the keys rotated before they are cached, and unchanged in between?"
    subject = f"{{}} in the cache with {case.n_heads} heads and {case.n_kv_heads} key/value heads"
    keys, values = keys[:, :, :past], values[:, :, :past]
    assert_matches(held_keys, keys, subject.format("keys"), axes=HEAD_AXES, help=help)
    assert_matches(held_values, values, subject.format("values"), axes=HEAD_AXES)


@check(points=1, inputs=cases(), examples=1)
@either_precision
def test_a_mask_of_any_shape(student: Any, case: GroupedCase) -> None:
    """A mask of any shape that broadcasts hides its keys, and no row becomes NaN.

    Sees a mask that is not passed on, fits one shape only or is read for key/value heads, a fill
    that is too small, the NaN of a row without keys, and of scores of a thousand. Compares your
    layer with itself.
    """
    layer = case.layer(student)
    batch, heads, length = case.batch, case.n_heads, case.length
    plain, moved = layer(case.x), layer(case.other_x)
    assert_shape(plain, dict(zip(AXES, case.x.shape, strict=True)))
    headline = "Without a mask, changing a key does not change your output."
    assert_changes(moved[:, 1:], plain[:, 1:], headline)
    for shape in (
        (length, length),
        (batch, 1, 1, length),
        (1, 1, length, length),
        (batch, 1, length, length),
        (batch, heads, length, length),
        (heads, length, length),
        (1, heads, 1, length),
        (1, length, length),
        (length,),
    ):
        mask = _hiding_key_0(shape)
        sees = mask.broadcast_to(batch, heads, length, length)[..., 0].any(1)
        output, changed = layer(case.x, None, mask), layer(case.other_x, None, mask)
        # The query of token 0 is another one, too.
        sees, output, changed = sees[:, 1:], output[:, 1:], changed[:, 1:]
        if not matches(changed[~sees], output[~sees]):
            raise Mismatch(
                f"With a mask of shape {shape} your output changes when a hidden key does.",
                help="Does the mask reach your attention, and can it have this shape there?",
            )
        sentence = f"With a mask of shape {shape} a visible key does not affect your output."
        if sees.any():
            assert_changes(changed[sees], output[sees], sentence)
    _assert_stays_finite(student, case)


def _hiding_key_0(shape: tuple[int, ...]) -> Tensor:
    """Every second query or sentence does not see key 0, and the others with their last head.

    A mask of one axis hides it from all.
    """
    mask = torch.ones(shape, dtype=torch.bool)
    if len(shape) == 1:
        mask[0] = False
    elif shape[-2] > 1:
        mask[..., 1::2, 0] = False
    else:
        mask[1::2, ..., 0] = False
    if len(shape) == 4 and shape[1] > 1:
        mask[:, :-1, :, 0] = False
    return mask


def _assert_stays_finite(student: Any, case: GroupedCase) -> None:
    layer = case.layer(student)
    mask = case.causal.clone()
    mask[2] = False
    result, plain = layer(case.x, None, mask), layer(case.x, None, case.causal)
    assert_finite(result, "output where a query may attend to nothing", axes=AXES)
    attending = [row for row in range(case.length) if row != 2]
    assert_shape(result, tuple(plain.shape))
    subject = "output for the queries beside one that may attend to nothing"
    assert_matches(result[:, attending], plain[:, attending], subject, axes=AXES)
    # All scores are -1000 here. A fill that is no lower than that does not hide.
    biased = case.with_bias
    low = biased.layer(student, biased.with_scores(-1000.0))
    output, changed = (
        low(x, None, _hiding_key_0((case.length,) * 2)) for x in (case.x, case.other_x)
    )
    subject = "output, with scores around -1000, when a hidden token changes"
    assert_matches(changed[:, 1::2], output[:, 1::2], subject, sides=("after", "before"))
    loud = case.layer(student, case.loud)(case.x)
    subject = "output for scores of up to a thousand"
    assert_matches(loud, case.output(weights=case.loud), subject, axes=AXES, rtol=1e-2, atol=1e-2)


@check(points=1, inputs=cases(), examples=1)
def test_works_on_any_input(student: Any, case: GroupedCase) -> None:
    """Gradients agree with torch's, sizes have to divide evenly, any memory layout and dtype works.

    Sees a graph that is cut, group sizes that are rounded down in silence, `view` on a tensor that
    is not contiguous, in-place changes of x or the angles, a dropout in training, and changed
    global settings of torch.
    """
    settings = student.global_settings()
    for sizes, why in (
        ((10, 4, 2), "10 features cannot be shared equally by 4 heads"),
        ((8, 4, 3), "4 query heads do not form 3 equal groups"),
        ((12, 4, 3), "4 query heads do not form 3 equal groups"),
        ((12, 2, 4), "2 query heads do not form 4 groups"),
    ):
        reason = f"GroupedQueryAttention{sizes}: {why}"
        assert_refuses(ValueError, partial(student.GroupedQueryAttention, *sizes), reason)
    _assert_gradients(student, case)
    _assert_any_layout_and_dtype(student, case)
    assert_settings_kept(settings, student.global_settings())


@either_precision
def _assert_gradients(student: Any, case: GroupedCase) -> None:
    x = case.x.clone().requires_grad_()
    weights = {name: value.clone().requires_grad_() for name, value in case.weights.items()}
    for caches in ((), (new_cache(student),)):
        output = case.layer(student, weights)(x, case.angles, case.causal, *caches)
        result = gradients(output, [x, *weights.values()], case.cotangent)
        assert_gradients(result, list(case.gradients.values()), list(case.gradients))


@either_precision
def _assert_any_layout_and_dtype(student: Any, case: GroupedCase) -> None:
    layer = case.layer(student)
    plain = layer(case.x, case.angles, case.causal)
    assert_shape(plain, dict(zip(AXES, case.x.shape, strict=True)))
    unmasked = layer(case.x, case.angles)
    assert_same_in_training(layer, unmasked, case.x, case.angles)
    arguments = [transposed(case.x), transposed(case.angles), case.causal]
    result, after = layer.echo(*arguments)
    assert_matches(result, plain, "output for tensors that are not contiguous", axes=AXES)
    assert_not_edited(arguments, after, ("x", "angles", "mask"))
    twin = layer.copy()
    layer.load({name: -value for name, value in case.weights.items()})
    result = twin(case.x[1:2], case.angles, case.causal)
    assert_matches(result, plain[1:2], "output of a deep copy for one row", axes=AXES)

    def in_dtype(dtype: torch.dtype) -> Any:
        converted = layer.to(dtype).load(case.weights)
        return converted(case.x.to(dtype), case.angles, case.causal, new_cache(student))

    assert_same_dtype(in_dtype, plain)


@check(points=0, inputs=cases(), examples=1)
def test_keeps_float64(student: Any, case: GroupedCase) -> None:
    """In float64 the output has the accuracy of float64.

    Sees a `.float()` on the way. It carries no points: float32 is accurate enough here.
    """
    output = case.layer(student)(case.x, None, case.causal)
    expected = case.output(mask=case.causal)
    if matches(output, expected):
        assert_matches(output, expected, axes=AXES, rtol=1e-9, atol=1e-9)
