"""The comparison of a student's result with the right one: what it accepts, refuses and says."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.feedback import records
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_differs,
    assert_finite,
    assert_matches,
    assert_parameters,
    assert_parts,
    assert_raises,
    assert_shape,
    assert_zero,
    not_belonging,
)
from grader.feedback.finding import Finding
from grader.feedback.text import grid_texts, plain


def mismatch(check: Callable[..., None], *args: Any, **options: Any) -> Finding:
    """The finding of the `Mismatch` that the check raises, which its text shows too."""
    with pytest.raises(Mismatch) as caught:
        check(*args, **options)
    assert str(caught.value) == plain(caught.value.finding)
    finding = caught.value.finding
    records.read(Finding, json.loads(json.dumps(records.fields(finding))))
    return finding


def normal(seed: int, *shape: int, scale: float = 1.0) -> Tensor:
    """Normally distributed float64 numbers, always the same for a seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator) * scale


# What is right must pass


@given(
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6]),
    swap=st.booleans(),
)
def test_float32_noise_passes_both_ways(seed: int, scale: float, swap: bool) -> None:
    """Rounding to float32 is accepted, whichever of the two is rounded."""
    exact = normal(seed, 3, 4, scale=scale)
    rounded = exact.float()
    assert_matches(*((exact, rounded) if swap else (rounded, exact)))
    assert_matches(rounded.double(), exact)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-3, 1.0, 1e3]), pre=st.booleans())
def test_a_stack_of_six_layers_in_float32_passes(seed: int, scale: float, pre: bool) -> None:
    """Six encoder layers, computed in float32, are near enough.

    Of large numbers only where a norm comes first: two scores of a million each that are nearly
    equal are no softmax that float32 could tell apart.
    """
    assume(pre or scale <= 1.0)
    torch.manual_seed(seed)
    layer = nn.TransformerEncoderLayer(12, 3, 20, 0.0, batch_first=True, norm_first=pre)
    stack = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).double()
    x = normal(seed, 2, 5, 12, scale=scale)
    exact = stack(x)
    assert_matches(stack.float()(x.float()), exact)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-3, 1.0, 3.0, 10.0]))
def test_attention_in_float32_passes(seed: int, scale: float) -> None:
    """Attention computed in float32 is near enough up to inputs x10."""
    query, key, value = (normal(seed + i, 2, n, 8, scale=scale) for i, n in enumerate((5, 7, 7)))
    exact = F.scaled_dot_product_attention(query, key, value)
    scores = query.float() @ key.float().mT / 8**0.5
    assert_matches(scores.softmax(-1) @ value.float(), exact)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_was_asked_for_sets_the_tolerance(dtype: torch.dtype) -> None:
    """Fewer digits than were asked for hide a small mistake, so the message says so."""
    x = normal(0, 30, 40)
    assert_matches(x.to(dtype), x.to(dtype))
    assert_matches(x.to(dtype).double() * (1 + 1e-3), x.to(dtype))
    with pytest.raises(Mismatch, match=f"comes back as {str(dtype)[6:]}, which holds only about"):
        assert_matches(x.to(dtype), x)
    assert_matches(x.to(dtype), x, rtol=0.1)


def test_other_forms_of_the_same_numbers_pass() -> None:
    """A parameter, a view, a gradient-carrying or an empty tensor is as good as any."""
    x = normal(1, 4, 3)
    assert_matches(nn.Parameter(x), x)
    assert_matches(x.T.contiguous().T, x)
    assert_matches(x.clone().requires_grad_() * 1, x.clone().requires_grad_())
    assert_matches(torch.ones(0, 3), torch.zeros(0, 3))
    assert_matches(torch.tensor([float("inf"), 1.0]), torch.tensor([float("inf"), 1.0]))
    assert_matches(torch.tensor(-0.0), torch.tensor(0.0))


# What is wrong must fail


def layer_norm(x: Tensor, eps: float = 1e-5, outside: bool = False, correction: int = 0) -> Tensor:
    """LayerNorm with the mistakes that people make."""
    centred = x - x.mean(-1, keepdim=True)
    variance = x.var(-1, keepdim=True, correction=correction)
    return centred / (variance.sqrt() + eps if outside else (variance + eps).sqrt())


WRONG: dict[str, tuple[Tensor, Tensor]] = {
    "gelu in its tanh form": (
        F.gelu(torch.linspace(-5, 5, 201).double(), approximate="tanh"),
        F.gelu(torch.linspace(-5, 5, 201).double()),
    ),
    "eps 1e-6 at x0.1": (
        layer_norm(normal(2, 5, 6, scale=0.1), eps=1e-6),
        layer_norm(normal(2, 5, 6, scale=0.1)),
    ),
    "eps outside at x0.01": (
        layer_norm(normal(2, 5, 6, scale=0.01), outside=True),
        layer_norm(normal(2, 5, 6, scale=0.01)),
    ),
    "unbiased variance of 512": (
        layer_norm(normal(3, 5, 512), correction=1),
        layer_norm(normal(3, 5, 512)),
    ),
    "one number in 4000": (normal(4, 4000).index_fill(0, torch.tensor(17), 0.5), normal(4, 4000)),
    "a fill of -1e4 that leaks": (torch.tensor([1e-3, 0.999]), torch.tensor([0.0, 1.0])),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_mistake_fails(name: str, dtype: torch.dtype) -> None:
    """The small differences that mistakes make are seen in float32 and in float64."""
    actual, expected = WRONG[name]
    assert "wrong" in mismatch(assert_matches, actual.to(dtype), expected).headline


@given(index=st.integers(0, 11), off=st.floats(1e-3, 1e6))
def test_a_single_wrong_number_is_shown(index: int, off: float) -> None:
    """Wherever one number differs, the grid shows and marks exactly that one."""
    expected = normal(5, 2, 3, 2)
    actual = expected.clone()
    actual.view(-1)[index] += off * expected.abs().max()
    error = mismatch(assert_matches, actual, expected, axes=("batch", "row", "feature"))
    assert "1 of 12 numbers in your output is wrong" in error.headline
    assert error.grid is not None
    assert sum(sum(row) for row in error.grid.differs) == 1
    assert f"batch {index // 6}" in error.grid.where
    assert plain(error).count("*") == 1


# What it says


def test_the_words_for_a_shape() -> None:
    """Axes are named in both shapes."""
    error = mismatch(
        assert_matches,
        torch.ones(3, 5, 6),
        torch.ones(3, 5, 2),
        "attention output",
        axes=("batch", "query", "d_v"),
    )
    assert plain(error) == (
        "The shape of your attention output is (batch 3, query 5, d_v 6); "
        "it should be (batch 3, query 5, d_v 2)."
    )
    turned = mismatch(assert_matches, torch.ones(3, 5), torch.ones(5, 3))
    assert "transpose" in turned.help
    squeezed = mismatch(assert_shape, torch.ones(3), {"batch": 3, "one": 1})
    assert "unsqueeze" in squeezed.help


def test_the_words_for_nan_and_infinity() -> None:
    """NaN is called by its name, with where it comes from."""
    x = normal(6, 5, 6)
    broken = x.clone()
    broken[:, 0] = torch.nan
    error = mismatch(assert_matches, broken, x, "attention output", help="Look here.")
    assert error.headline == "5 of 30 numbers in your attention output are NaN (not a number)."
    assert "softmax" in error.help
    assert error.help.endswith("Look here.")
    assert error.headline == mismatch(assert_finite, broken, "attention output").headline
    error = mismatch(assert_finite, torch.tensor([1.0, -torch.inf]))
    assert error.headline == "1 of 2 numbers in your output is infinite."


def test_the_whole_message() -> None:
    """A message with its grid, word for word."""
    expected = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    actual = torch.tensor([[0.25, 0.75], [1.0, 1.0]])
    error = mismatch(
        assert_matches, actual, expected, "weights", axes=("query", "key"), help="Which axis?"
    )
    assert plain(error).splitlines() == [
        "2 of 4 numbers in your weights are wrong; the largest difference is 0.5.",
        "",
        "            yours            expected",
        "      key      0      1         0      1",
        "  query 0  0.250  0.750     0.250  0.750",
        "  query 1  1.000* 1.000*    0.500  0.500",
        "",
        "Which axis?",
    ]


def test_a_single_number_needs_no_grid() -> None:
    error = mismatch(assert_matches, torch.tensor(2.5), torch.tensor(2.25), "loss")
    assert error.headline == "Your loss is 2.5; it should be 2.25."
    assert error.grid is None


def test_two_answers_of_the_same_student_differ_and_none_is_called_wrong() -> None:
    error = mismatch(
        assert_matches, torch.ones(2, 2), torch.zeros(2, 2), "output", sides=("after", "before")
    )
    assert error.headline.startswith("All 4 numbers in your output are different")


def test_swapped_booleans_are_recognised() -> None:
    """A mask with True and False exchanged is named as such; another dtype comes first."""
    mask = torch.ones(3, 3).tril().bool()
    error = mismatch(assert_matches, ~mask, mask, "causal_mask(3)")
    assert error.headline == "All 9 entries in your causal_mask(3) are wrong."
    assert "swapped" in error.help
    error = mismatch(assert_matches, mask.int(), mask, "causal_mask(3)")
    assert error.headline == (
        "The dtype of your causal_mask(3) is int32 (whole numbers); it should be bool."
    )


def test_a_grid_is_cut_to_the_worst_place() -> None:
    """Of a large tensor, at most 5 rows and 4 columns around the worst number are shown."""
    expected = torch.zeros(2, 30, 40)
    actual = expected.clone()
    actual[1, 20, 39], actual[0, 0, 0] = 9.0, 1.0
    grid = mismatch(assert_matches, actual, expected).grid
    assert grid is not None
    assert (len(grid.rows), len(grid.columns)) == (5, 4)
    assert "row 20" in grid.rows
    assert "col 39" in grid.columns
    assert "the worst of 2 slices; 2 are wrong" in grid.where
    assert "5 of 30 rows" in grid.where


def test_small_differences_get_enough_digits() -> None:
    """Two numbers that differ are never shown alike."""
    grid = mismatch(assert_matches, torch.tensor([1.0002]), torch.tensor([1.0]), atol=1e-6).grid
    assert grid is not None
    yours, expected = grid_texts(grid)
    assert yours != expected


# The rest of the family


def test_zero_means_exactly_zero() -> None:
    """The smallest number is not zero; minus zero is."""
    assert_zero(torch.tensor([0.0, -0.0]))
    error = mismatch(assert_zero, torch.tensor([0.0, 1e-40]), "weight of the hidden key")
    assert "1 of 2 numbers in your weight of the hidden key is not zero" in error.headline


def test_differs() -> None:
    """Two equal results where chance should have been at work are reported."""
    x = normal(8, 2, 3)
    assert_differs(x + 1, x)
    assert "stay the same" in mismatch(assert_differs, x.clone(), x).headline


def test_a_second_name_of_a_parameter_is_no_other_parameter() -> None:
    """A layer may be held by an nn.Sequential as well."""
    module = nn.Module()
    module.linear = nn.Linear(3, 2)
    module.net = nn.Sequential(module.linear)
    shapes = {"linear.weight": (2, 3), "linear.bias": (2,)}
    assert_parameters(module, shapes, "Part()")
    module.net.append(nn.Linear(2, 2, bias=False))
    assert "`net.1.weight`." in mismatch(assert_parameters, module, shapes, "Part()").headline


def test_transposes_are_named_only_where_one_helps() -> None:
    """The sizes alone may be those of another tensor."""
    right = normal(3, 2, 5)
    turned = mismatch(assert_matches, right.mT, right).help
    assert "is a transpose missing, or one too many?" in turned
    other = mismatch(assert_matches, normal(4, 5, 2), right).help
    assert "no transpose makes these numbers the right ones" in other
    assert "transpose missing" in mismatch(assert_shape, right.mT, (2, 5)).help


def test_parameters_by_name() -> None:
    """Missing, misshapen and superfluous parameters are named."""
    linear = nn.Linear(3, 2)
    assert_parameters(linear, {"weight": (2, 3), "bias": (2,)}, "Linear")
    missing = mismatch(assert_parameters, linear, {"gamma": (2,)}, "Linear")
    assert missing.headline == (
        "Linear has no parameter `gamma`. The parameters it has: `weight`, `bias`."
    )
    with pytest.raises(Mismatch) as caught:
        assert_parameters(linear, {"gamma": (2,)}, "Linear")
    assert caught.value.points_at == "__init__"
    turned = mismatch(assert_parameters, linear, {"weight": (3, 2), "bias": (2,)}, "Linear")
    assert "has shape (2, 3); it should have (3, 2)" in turned.headline
    extra = mismatch(assert_parameters, linear, {"weight": (2, 3)}, "Linear")
    assert "`bias`" in extra.headline
    assert "NoneType" in mismatch(assert_parameters, None, {}, "Linear").headline


@pytest.mark.parametrize(
    ("wanted", "raised"),
    [(ValueError, ValueError), (ValueError, AssertionError), (IndexError, ValueError)],
)
def test_raises_accepts_what_the_contract_accepts(
    wanted: type[Exception], raised: type[Exception]
) -> None:
    """AssertionError counts as ValueError, and ValueError as IndexError."""
    with assert_raises(wanted, "the call"):
        raise raised


def test_another_default_is_named() -> None:
    """A default that is not there to be read, or is None, says nothing."""

    def scaled(x: float, by: float = 3.0, past: int | None = None) -> float:
        return x * by + (past or 0)

    assert_defaults(scaled, by=3.0, past=2, base=10.0)
    with pytest.raises(Mismatch, match=r"default of `by` in scaled is 3.0; it should be 2.0\."):
        assert_defaults(scaled, by=2.0)
    assert_defaults(partial(max, key=abs), key=None)


def test_raises_refuses_the_rest() -> None:
    """Another error, or none, is a mismatch; code that is not written yet is not."""

    with pytest.raises(Mismatch) as other, assert_raises(ValueError, "the call"):
        raise RuntimeError
    assert (
        other.value.finding.headline == "the call raised RuntimeError; it should raise ValueError."
    )
    with pytest.raises(Mismatch) as none, assert_raises(ValueError, "the call"):
        pass
    assert none.value.finding.headline == "the call raises nothing; it should raise ValueError."
    with pytest.raises(NotImplementedError), assert_raises(ValueError, "the call"):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (None, "a `return` missing"),
        (torch.ones(2, 3), "only one thing"),
        ((torch.ones(2), torch.ones(2), torch.ones(2)), "3 things"),
    ],
)
def test_what_is_no_pair_is_said_to_be_none(returned: object, says: str) -> None:
    """A call that should return two things returns another number of them."""
    assert_parts((1, 2), ("output", "weights"), "attention")
    wrong = mismatch(assert_parts, returned, ("output", "weights"), "attention")
    assert "attention should return (output, weights)" in str(wrong)
    assert says in str(wrong)


def test_of_many_parameters_some_are_named() -> None:
    extra = [f"layers.{number}.weight" for number in range(20)]
    sentence = not_belonging("Encoder", extra)
    assert "`layers.7.weight` and 12 more." in sentence
    assert "layers.8" not in sentence
