"""Hidden checks of `multi_head`: multi-head attention (Vaswani et al. 2017, section 3.2.2)."""

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
    gradients,
    matches,
)
from grader.checks.framework.inputs import Numbers, random_numbers, transposed
from grader.checks.framework.precision import assert_same_dtype, either_precision
from grader.checks.multi_head_cases import (
    AXES,
    PARAMETERS,
    MultiHeadCase,
    cases,
    layer_of,
    loaded,
    output_of,
    random_case,
)
from grader.feedback.comparison import Mismatch, assert_finite, assert_matches, assert_shape

HEAD_AXES = ("batch", "head", "length", "d_head")


def heads_in_front(x: Tensor, n_heads: int) -> Tensor:
    """Return the features split into heads. (batch, head, length, d_head)"""
    return torch.stack(x.chunk(n_heads, -1), 1)


@check(points=1, inputs=cases(), examples=2)
@either_precision
def test_split_heads_cuts_the_features(student: Any, case: MultiHeadCase) -> None:
    """split_heads gives head h the features h·d_head up to (h+1)·d_head of every token.

    Sees a reshape without a transpose, which mixes tokens, heads that take every n-th feature, and
    `view` on a tensor that is not contiguous.
    """
    turned = transposed(case.key)
    pairs = [(case.query, case.n_heads), *((turned, n) for n in (case.n_heads, 1, case.d_model))]
    for x, n_heads in pairs:
        result, after = student.split_heads.echo(x, n_heads)
        subject = f"split_heads(x, {n_heads})"
        assert_matches(result, heads_in_front(x, n_heads), subject, axes=HEAD_AXES)
        assert_not_edited([x], after[:1], ["x"])


@check(points=1, inputs=cases(), examples=2)
@either_precision
def test_merge_heads_puts_them_back(student: Any, case: MultiHeadCase) -> None:
    """merge_heads is the inverse of split_heads.

    Sees a reshape without the transpose back, which trains well all the same, and `view` on a
    tensor that is not contiguous.
    """
    heads = [heads_in_front(case.query, n_heads) for n_heads in (case.n_heads, 1, case.d_model)]
    for x in (*heads, transposed(heads[0]), heads[0].transpose(1, 2).contiguous().transpose(1, 2)):
        result, after = student.merge_heads.echo(x)
        assert_matches(result, case.query, "merge_heads(x)", axes=AXES)
        assert_not_edited([x], after, ["x"])


@check(points=1, inputs=cases(), examples=1)
@either_precision
def test_has_four_maps(student: Any, case: MultiHeadCase) -> None:
    """The parameters are q_proj, k_proj, v_proj and out_proj, and have no bias with bias=False.

    Sees other names and shapes, one small map shared by all heads, maps kept in a plain list, and
    an ignored `bias`. Wrong values pass if they depend on the keys.
    """
    subject = f"MultiHeadAttention({case.d_model}, {case.n_heads})"
    shapes = {name: tuple(value.shape) for name, value in case.weights.items()}
    module = student.MultiHeadAttention(case.d_model, case.n_heads).to(case.dtype).eval()
    assert_registers(module, shapes, subject)
    loaded(module, case.weights)
    assert_keeps_numbers(module, case.weights)
    output_of(module, case)

    plain = {name: value for name, value in case.weights.items() if name.endswith("weight")}
    module = student.MultiHeadAttention(case.d_model, case.n_heads, bias=False)
    shapes = {name: tuple(value.shape) for name, value in plain.items()}
    assert_registers(module, shapes, subject.replace(")", ", bias=False)"))
    output_of(loaded(module.to(case.dtype).eval(), plain), case)


@check(points=3, inputs=cases(), examples=3)
@either_precision
def test_agrees_with_torch(student: Any, case: MultiHeadCase) -> None:
    """The output is that of nn.MultiheadAttention with the same weights.

    Sees a scale made from d_model, maps that are mixed up or not applied, and heads split or merged
    in another order.
    """
    made = student.MultiHeadAttention(case.d_model, case.n_heads).to(case.dtype).eval()
    module = loaded(made, case.weights)
    assert_matches(module(*case.inputs), case.output, axes=AXES)
    result = module(case.query, case.query, case.query)
    assert_matches(result, case.self_attention, "output of self-attention", axes=AXES)
    result = module(case.query, case.key, case.key)
    subject = "output of cross-attention, in which key and value are one,"
    assert_matches(result, case.cross_attention, subject, axes=AXES)


@check(points=1, inputs=cases(), examples=2)
@either_precision
def test_each_head_minds_its_own_features(student: Any, case: MultiHeadCase) -> None:
    """The output of a head depends on its own share of the features only.

    Sees heads that read each other's features, and a single large head instead of several. A wrong
    scale passes.
    """
    share = slice(case.d_head, 2 * case.d_head)
    outside = torch.ones(case.d_model, dtype=torch.bool)
    outside[share] = False
    weights = dict(case.weights)
    weights["out_proj.weight"] = weights["out_proj.weight"].masked_fill(outside, 0.0)

    def replaced(names: tuple[str, ...], rows: Tensor) -> dict[str, Tensor]:
        fresh = {name: weights[name].clone() for name in names}
        for name, weight in fresh.items():
            weight[rows] = case.other_weights[name][rows]
        return {**weights, **fresh}

    module = student.MultiHeadAttention(case.d_model, case.n_heads).to(case.dtype).eval()
    output = loaded(module, weights)(*case.inputs)
    assert_shape(output, dict(zip(AXES, case.query.shape, strict=True)))
    maps = ("q_proj.weight", "k_proj.weight", "v_proj.weight")
    same = module.load(replaced(maps, outside))(*case.inputs)
    assert_matches(
        same,
        output,
        "output of head 1 with other weights in the other heads",
        axes=AXES,
        sides=("with", "without"),
    )
    moved = module.load(replaced(maps[:1], ~outside))(*case.inputs)
    headline = "The output of head 1 is the same when other weights are set in q_proj."
    assert_changes(moved, output, headline)


@check(points=2, inputs=cases(), examples=1)
@either_precision
def test_hidden_keys_have_no_say(student: Any, case: MultiHeadCase) -> None:
    """A mask of any shape that broadcasts hides keys from the queries for which it is False.

    Sees a mask that is not passed on, is negated, or fits one shape only, and a fill that does not
    hide: 0, -1e-9, or -100 for large scores. Wrong values pass if they depend on the keys.
    """
    batch, queries, _ = case.query.shape
    keys = case.key.size(1)
    key, value = case.key.clone(), case.value.clone()
    key[:, 0] = case.other_key[:, 0]
    value[:, 0] = case.other_value[:, 0]
    module = layer_of(student, case)
    for shape in (
        (batch, 1, 1, keys),
        (1, 1, queries, keys),
        (queries, keys),
        (batch, 1, queries, keys),
        (batch, case.n_heads, queries, keys),
        (case.n_heads, queries, keys),
    ):
        mask = _hiding_key_0(shape)
        sees = mask.broadcast_to(batch, case.n_heads, queries, keys)[:, -1, :, 0]
        output = module(*case.inputs, mask)
        changed = module(case.query, key, value, mask)
        assert_shape(output, dict(zip(AXES, case.query.shape, strict=True)))
        assert_shape(changed, tuple(output.shape))
        if not matches(changed[~sees], output[~sees]):
            raise Mismatch(
                f"With a mask of shape {shape} your output changes when a hidden key does.",
                help="Does the mask reach the scores, and may it have this shape there?",
            )
        sentence = f"With a mask of shape {shape} a visible key does not affect your output."
        assert_changes(changed[sees], output[sees], sentence)
    # All scores are about -1000 here. A fill that is not lower than that does not hide.
    low = layer_of(student, case, case.low_scores)
    mask = _hiding_key_0((queries, keys))
    output, changed = low(*case.inputs, mask), low(case.query, case.key, value, mask)
    subject = "output, with scores around -1000, when a hidden value changes"
    assert_matches(changed[:, 1::2], output[:, 1::2], subject, sides=("after", "before"))


def _hiding_key_0(shape: tuple[int, ...]) -> Tensor:
    """Return a mask under which, in the last head, every second query or sentence misses key 0."""
    mask = torch.ones(shape, dtype=torch.bool)
    if len(shape) == 4 and shape[2] == 1:
        mask[1::2, ..., 0] = False
    else:
        mask[..., 1::2, 0] = False
    if len(shape) > 2:
        mask[..., :-1, :, 0] = False
    return mask


@check(points=1, inputs=cases(), examples=1)
@either_precision
def test_a_query_without_keys_stays_finite(student: Any, case: MultiHeadCase) -> None:
    """A query that may attend to nothing gets finite numbers, and other queries are unaffected.

    Sees the NaN of a softmax over a row of -inf, and, where attention is written anew, of a softmax
    that subtracts no maximum or the wrong one.
    """
    module = layer_of(student, case)
    output = output_of(module, case)
    mask = torch.ones(case.query.size(1), case.key.size(1), dtype=torch.bool)
    mask[0] = False
    result = module(*case.inputs, mask)
    assert_finite(result, axes=AXES)
    assert_shape(result, tuple(output.shape))
    assert_matches(result[:, 1:], output[:, 1:], "output for the other queries", axes=AXES)
    # Whatever the scores are, equal keys get equal weights from each query.
    even = layer_of(student, case, case.low_scores)(*case.inputs)
    uneven = layer_of(student, case, case.uneven_scores)(*case.inputs)
    assert_shape(even, tuple(output.shape))
    assert_matches(uneven, even, "output for scores from -1000 to 1000", axes=AXES)


@check(points=1, inputs=cases(), examples=2)
@either_precision
def test_order_and_neighbours_do_not_matter(student: Any, case: MultiHeadCase) -> None:
    """The order of the keys does not matter, and a sentence alone gives the same as in a batch.

    Sees reshapes that mix sentences or tokens, and lengths taken from the wrong tensor. A wrong
    scale passes.
    """
    module = layer_of(student, case)
    output = output_of(module, case)
    result = module(case.query, case.key[:, case.order], case.value[:, case.order])
    assert_matches(result, output, "output with the keys in another order", axes=AXES)
    result = module(case.query.flip(1), case.key, case.value)
    assert_matches(result, output.flip(1), "output with the queries in reverse order", axes=AXES)
    result = module(*(tensor[1:2] for tensor in case.inputs))
    assert_matches(result, output[1:2], "output for the second sentence alone", axes=AXES)
    result = module(case.query[:, :1], case.key, case.value)
    assert_matches(result, output[:, :1], "output for the first query alone", axes=AXES)


@check(points=1, inputs=random_numbers(), examples=1)
def test_dropout_acts_on_the_weights(student: Any, numbers: Numbers) -> None:
    """In training mode dropout removes attention weights, and in evaluation mode nothing.

    Sees a dropout that is missing, with a mask or without, stays on in evaluation, has a fixed
    probability, or acts on the scores or the output, instead of the weights or besides.
    """
    batch, heads, length, d_head, p = 4, 4, 8, 3, 0.2
    d_model = heads * d_head
    # Every score is the same, so every weight is 1/length, and every value 1: the output counts the
    # weights that were kept.
    weights = {
        name: torch.zeros(d_model, d_model) if name.endswith("weight") else torch.zeros(d_model)
        for name in PARAMETERS
    }
    for name in ("q_proj.bias", "k_proj.bias", "v_proj.bias"):
        weights[name] += 1.0
    weights["out_proj.weight"] += torch.eye(d_model)
    x = torch.ones(batch, length, d_model)

    module = loaded(student.MultiHeadAttention(d_model, heads, p), weights)
    shows_all = torch.ones(length, length, dtype=torch.bool)
    first, second = (
        _kept(module.train()(x, x, x, mask), heads, length, p) for mask in (None, shows_all)
    )
    if torch.equal(first, second):
        raise Mismatch("Two calls in training mode drop the same weights.")
    # 2048 weights: 0.15 is fifteen standard deviations.
    share = 1 - torch.stack((first, second)).mean().item() / length
    if abs(share - p) > 0.15:
        raise Mismatch(f"Your layer drops {share:.0%} of the weights, not about {p:.0%}.")
    assert_matches(module.eval()(x, x, x), x, "output in evaluation mode", axes=AXES)
    without = loaded(student.MultiHeadAttention(d_model, heads), weights)
    assert_matches(without(x, x, x), x, "output in training mode without dropout", axes=AXES)
    case = random_case(numbers, (1, heads, d_head, 2, 3), torch.float32)
    output_of(loaded(without, case.weights), case)


def _kept(output: Any, heads: int, length: int, p: float) -> Tensor:
    """Count the weights that were kept for each query and head. (batch, query, head)"""
    assert_shape(output, {"batch": 4, "length": length, "d_model": heads * 3})
    counts: Tensor = (output.double() * length * (1 - p)).unflatten(-1, (heads, -1))
    off = (counts - counts.round()).abs().max().item()
    if not off < 1e-3:
        raise Mismatch(
            "In training mode your output is not a sum of values whose weights were dropped or "
            f"divided by {1 - p}.",
            help="Where does your dropout act: on the weights, and on nothing else?",
        )
    if counts.max().item() > length + 0.5:
        raise Mismatch(f"In training mode your weights are divided by less than {1 - p}.")
    if (counts - counts[..., :1]).abs().max().item() > 1e-3:
        raise Mismatch(
            "With values that are all equal, dropout on the weights leaves all features of a head "
            "equal. In training mode yours differ.",
            help="Does dropout act on the weights, and does each head keep its own features?",
        )
    if counts.min().item() > length - 0.5:
        raise Mismatch("No attention weight is dropped in training mode.")
    return counts[..., 0].round()


@check(points=1, inputs=cases(masked=True), examples=2)
@either_precision
def test_gradients_agree_with_torch(student: Any, case: MultiHeadCase) -> None:
    """Gradients reach query, key, value and all eight parameters as in torch's own layer.

    Sees a `detach`, a `.data`, a frozen map, and one mask per head taken for one for all heads.
    """
    inputs = [tensor.clone().requires_grad_() for tensor in case.inputs]
    weights = {name: value.clone().requires_grad_() for name, value in case.weights.items()}
    made = student.MultiHeadAttention(case.d_model, case.n_heads)
    module = loaded(made.to(case.dtype).eval(), weights)
    output = module(*inputs, case.mask)
    names = ["query", "key", "value", *weights]
    result = gradients(output, [*inputs, *weights.values()], case.cotangent)
    assert_gradients(result, [case.gradients[name] for name in names], names)


@check(points=1, inputs=cases(masked=True), examples=1)
@either_precision
def test_takes_tensors_as_they_come(student: Any, case: MultiHeadCase) -> None:
    """Any memory layout and floating dtype works, and no input is modified.

    Sees `view` on a tensor that is not contiguous, in-place changes, tensors of a fixed dtype, and
    changed global settings of torch.
    """
    settings = student.global_settings()
    module = layer_of(student, case)
    plain = output_of(module, case)

    arguments = [transposed(tensor) for tensor in case.inputs]
    output, after = module.echo(*arguments, case.mask)
    assert_matches(output, plain, "output for tensors that are not contiguous", axes=AXES)
    assert_not_edited(arguments, after[:3], ("query", "key", "value"))
    if case.mask is not None:
        assert_not_edited([case.mask], after[3:], ["mask"])

    unmasked = module(*case.inputs)
    assert_same_dtype(
        lambda dtype: module.to(dtype)(*(tensor.to(dtype) for tensor in case.inputs)), unmasked
    )
    if student.global_settings() != settings:
        raise Mismatch("Your code changes a global setting of torch.")


@check(points=1, inputs=random_numbers(), examples=1)
def test_heads_divide_the_features(student: Any, numbers: Numbers) -> None:
    """A d_model that n_heads does not divide raises ValueError; one head or d_model heads are fine.

    Sees a d_head that is silently rounded down, and axes of size 1 that get lost.
    """
    for d_model, n_heads in ((10, 3), (4, 8)):
        assert_refuses(
            ValueError,
            partial(student.MultiHeadAttention, d_model, n_heads),
            f"MultiHeadAttention({d_model}, {n_heads}): {d_model} features cannot be split into "
            f"{n_heads} equal heads",
        )
    for sizes in ((1, 1, 4, 1, 2), (1, 3, 1, 3, 2), (1, 2, 3, 1, 5)):
        case = random_case(numbers, sizes, torch.float32)
        output_of(layer_of(student, case), case)


@check(points=0, inputs=cases(masked=True), examples=1)
def test_keeps_float64(student: Any, case: MultiHeadCase) -> None:
    """In float64 the output has the accuracy of float64.

    Sees a `.float()` on the way. It carries no points: float32 is accurate enough here.
    """
    output = layer_of(student, case)(*case.inputs, case.mask)
    if matches(output, case.output):
        assert_matches(output, case.output, axes=AXES, rtol=1e-9, atol=1e-9)


@check(points=0, inputs=cases(), examples=1)
@either_precision
def test_can_be_copied(student: Any, case: MultiHeadCase) -> None:
    """A deep copy gives the same output, and keeps giving it when the original changes.

    Sees functions that hold on to the original. It carries no points, but a stack whose layers are
    copies of one layer needs it.
    """
    module = layer_of(student, case)
    output = output_of(module, case)
    twin = module.copy()
    loaded(module, {name: -value for name, value in case.weights.items()})
    assert_matches(twin(*case.inputs), output, "output of the copy", axes=AXES)
