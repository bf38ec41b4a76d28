"""Public tests of dropout. Run them with: pytest exercises/test_dropout.py."""

import torch

from exercises.dropout import Dropout
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_matches,
    assert_raises,
    assert_shape,
    assert_unchanged,
)

AXES = ("row", "number")


def test_kept_numbers_grow() -> None:
    """With p = 0.75, every number becomes zero or four times as large.

    1 / (1 - 0.75) is 4.
    """
    torch.manual_seed(0)
    x = torch.arange(1.0, 21.0).reshape(5, 4)
    output = Dropout(0.75)(x.clone())
    assert_shape(output, {"row": 5, "number": 4}, "Dropout(0.75) output in training mode")
    kept = output != 0
    assert_matches(
        output,
        torch.where(kept, 4 * x, 0.0),
        "Dropout(0.75) output in training mode",
        axes=AXES,
        help="What are the numbers that stay multiplied by?",
        asks={
            "Nothing is dropped. Does your code check `self.training`, and the right way round?": x,
            "The numbers that stay are unchanged. By what factor should they grow?": x * kept,
            "Does the factor come from the share that is dropped, or from the one that stays?": x
            / 0.75
            * kept,
            "These are the numbers of p = 0.5. Is the argument `p` used?": 2 * x * kept,
        },
    )


def test_how_many_are_dropped() -> None:
    """With p = 0.2, a fifth is dropped, anew in every call and module."""
    torch.manual_seed(0)
    x = torch.ones(100, 100)
    drop = Dropout(0.2)
    first, second = drop(x), drop(x)
    assert_shape(first, {"row": 100, "number": 100}, "Dropout(0.2) output in training mode")
    share = (first == 0).double().mean().item()
    if not 0.17 < share < 0.23:
        help = "What does your code compare with p? `torch.rand` draws evenly between 0 and 1."
        if 0.77 < share < 0.83:
            help = "Is the share p kept instead of dropped?"
        elif 0.47 < share < 0.53:
            help = "That is the share of the default, 0.5. Is the argument `p` used?"
        raise Mismatch(
            f"Of 10000 numbers Dropout(0.2) dropped {share:.0%}, not about 20%.", help=help
        )
    if torch.equal(first, second):
        raise Mismatch("Two calls of Dropout(0.2) in training mode drop the same numbers.")
    if torch.equal(first, Dropout(0.2)(x)):
        raise Mismatch("A second Dropout(0.2) drops the same numbers as the first.")
    whole_rows = (first == first[:, :1]).all() or (first == first[:1]).all()
    if whole_rows:
        raise Mismatch(
            "Dropout(0.2) drops whole rows or columns instead of single numbers.",
            help="What shape do your random numbers have?",
        )


def test_nothing_is_dropped_in_evaluation() -> None:
    """After `eval()` the numbers come out unchanged.

    In evaluation mode nothing is dropped, so there is nothing to make up for.
    """
    x = torch.arange(1.0, 13.0).reshape(3, 4)
    what = "Dropout output in evaluation mode"
    asks = {"In which mode do numbers grow, to make up for those that are dropped?": 2 * x}
    assert_matches(Dropout(0.5).eval()(x.clone()), x, what, axes=AXES, asks=asks)


def test_the_ends() -> None:
    """With p = 0 nothing is dropped, with p = 1 everything.

    With p = 1 the factor 1 / (1 - p) would be 1 / 0, and 0 times infinity is NaN. In evaluation
    mode x comes out unchanged, whatever p is.
    """
    x = torch.arange(1.0, 13.0).reshape(3, 4)
    assert_matches(Dropout(0.0)(x.clone()), x, "Dropout(0.0) output in training mode", axes=AXES)
    nothing = torch.zeros(3, 4)
    what = "Dropout(1.0) output in training mode"
    help = "What is 1 - p for p = 1, and what does your code do with it?"
    assert_matches(Dropout(1.0)(x.clone()), nothing, what, axes=AXES, help=help)
    evaluated = Dropout(1.0).eval()(x.clone())
    assert_matches(evaluated, x, "Dropout(1.0) output in evaluation mode", axes=AXES)
    x.requires_grad_()
    output = Dropout(1.0)(x)
    if output.requires_grad:
        (gradient,) = torch.autograd.grad(output.sum(), x)
        help = "0 / 0 is NaN in a gradient, even in the branch that `where` skips."
        assert_matches(gradient, nothing, "gradient of x for p = 1", axes=AXES, help=help)


def test_a_p_that_is_not_a_probability() -> None:
    """A p of -0.1 or 1.1 raises ValueError."""
    for p in (-0.1, 1.1):
        with assert_raises(ValueError, f"Dropout({p})"):
            Dropout(p)(torch.ones(2, 3))


def test_the_caller_keeps_its_numbers() -> None:
    """The caller's tensor is not modified."""
    x = torch.ones(20, 20)
    Dropout(0.5)(x)
    assert_unchanged(x, torch.ones(20, 20), "x", axes=AXES)


def test_gradients_and_dtype() -> None:
    """The gradient of a dropped number is zero.

    With the default p of 0.5, the gradient of a kept number is 2. And bfloat16 stays bfloat16.
    """
    torch.manual_seed(0)
    x = torch.ones(20, 20, requires_grad=True)
    drop = Dropout()
    output = drop(x)
    output.sum().backward()
    assert_matches(x.grad, output.detach(), "gradient of x", axes=AXES)
    assert_matches(output.max(), torch.tensor(2.0), "largest number in Dropout() of ones")
    half = drop(torch.ones(3, 3).bfloat16())
    help = "Which numbers is x multiplied by, and what dtype do they have?"
    assert_dtype(half, torch.bfloat16, "Dropout output for bfloat16", help=help)
