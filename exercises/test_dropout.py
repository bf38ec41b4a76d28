"""Public tests of dropout. Run them with: pytest exercises/test_dropout.py."""

import torch

from exercises.dropout import Dropout
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_matches,
    assert_raises,
    assert_shape,
)

AXES = ("row", "number")


def test_kept_numbers_grow() -> None:
    """With p = 0.75, a number becomes zero or four times as large.

    1 / (1 - 0.75) is 4.
    """
    torch.manual_seed(0)
    x = torch.arange(1.0, 41.0).reshape(5, 8)
    output = Dropout(0.75)(x)
    assert_shape(output, {"row": 5, "number": 8}, "Dropout(0.75) output in training mode")
    expected = torch.where(output == 0, 0.0, 4 * x)
    assert_matches(output, expected, "Dropout(0.75) output in training mode", axes=AXES)


def test_how_many_are_dropped() -> None:
    """Of 10000 numbers, p = 0.2 drops about 2000, others in every call."""
    torch.manual_seed(0)
    x = torch.ones(100, 100)
    drop = Dropout(0.2)
    first, second = drop(x), drop(x)
    assert_shape(first, {"row": 100, "number": 100}, "Dropout(0.2) output in training mode")
    share = (first == 0).double().mean().item()
    if not 0.17 < share < 0.23:
        raise Mismatch(f"Of 10000 numbers Dropout(0.2) dropped {share:.0%}, not about 20%.")
    if torch.equal(first, second):
        raise Mismatch("Two calls of Dropout(0.2) in training mode drop the same numbers.")
    whole_rows = (first == first[:, :1]).all() or (first == first[:1]).all()
    if whole_rows:
        raise Mismatch("Dropout(0.2) drops whole rows or columns, not each number by itself.")


def test_nothing_is_dropped_in_evaluation() -> None:
    """After `eval()` the numbers come out as they went in."""
    x = torch.arange(1.0, 13.0).reshape(3, 4)
    assert_matches(Dropout(0.5).eval()(x), x, "Dropout output in evaluation mode", axes=AXES)


def test_the_ends() -> None:
    """With p = 0 nothing is dropped, with p = 1 everything."""
    x = torch.arange(1.0, 13.0).reshape(3, 4)
    assert_matches(Dropout(0.0)(x), x, "Dropout(0.0) output in training mode", axes=AXES)
    nothing = torch.zeros(3, 4)
    assert_matches(Dropout(1.0)(x), nothing, "Dropout(1.0) output in training mode", axes=AXES)
    evaluated = Dropout(1.0).eval()(x)
    assert_matches(evaluated, x, "Dropout(1.0) output in evaluation mode", axes=AXES)


def test_what_is_no_probability() -> None:
    """A probability of -0.1 or of 1.1 is a ValueError."""
    for p in (-0.1, 1.1):
        with assert_raises(ValueError, f"Dropout({p})"):
            Dropout(p)(torch.ones(2, 3))


def test_the_caller_keeps_its_numbers() -> None:
    """The tensor that was given is not edited."""
    x = torch.ones(20, 20)
    Dropout(0.5)(x)
    assert_matches(x, torch.ones(20, 20), "x after Dropout(0.5)", axes=AXES)


def test_gradients_and_dtype() -> None:
    """Where a number was dropped, its gradient is zero.

    Elsewhere it is twice as large, with the default of 0.5.

    And bfloat16 comes back as bfloat16.
    """
    torch.manual_seed(0)
    x = torch.ones(20, 20, requires_grad=True)
    drop = Dropout()
    output = drop(x)
    output.sum().backward()
    assert_matches(x.grad, output.detach(), "gradient of x", axes=AXES)
    assert_matches(output.max(), torch.tensor(2.0), "largest number that Dropout() makes of ones")
    assert_dtype(drop(torch.ones(3, 3).bfloat16()), torch.bfloat16, "Dropout output for bfloat16")
