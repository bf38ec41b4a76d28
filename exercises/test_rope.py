"""Public tests of rope. Run them with: pytest exercises/test_rope.py."""

from math import cos, pi, sin

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.rope import apply_rotary, rotary_angles
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_raises

AXES = ("position", "feature")


def test_angles_by_hand() -> None:
    """With four features, the angles are pos and pos / 100.

    The exponents are 0 and 2/4, and 10000 ** (2/4) is 100. With base = 16 it is 4. With six
    features and base = 8, the exponents are 0, 2/6 and 4/6, and 8 ** (2/6) is 2.
    """
    axes = ("position", "pair")
    expected = torch.tensor([[0.0, 0.0], [1.0, 0.01], [2.0, 0.02]])
    angles = rotary_angles(head_dim=4, length=3)
    help = "Four features form two pairs. What is the angle of each at position 1?"
    assert_matches(angles, expected, "rotary_angles(4, 3)", axes=axes, help=help)
    expected = torch.tensor([[0.0, 0.0], [1.0, 0.25], [2.0, 0.5]])
    assert_matches(rotary_angles(4, 3, 16.0), expected, "rotary_angles(4, 3, 16.0)", axes=axes)
    expected = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.5, 0.25]])
    assert_matches(rotary_angles(6, 2, 8.0), expected, "rotary_angles(6, 2, 8.0)", axes=axes)
    with assert_raises(ValueError, "rotary_angles(5, 3)"):
        rotary_angles(5, 3)


def test_rotations_by_hand() -> None:
    """A quarter turn moves (2, 1) to (-1, 2), a half turn (3, 4) to (-3, -4)."""
    x = torch.tensor([[2.0, 1.0, 3.0, 4.0], [2.0, 1.0, 3.0, 4.0]])
    angles = torch.tensor([[pi / 2, pi], [0.0, pi / 2]])
    expected = torch.tensor([[-1.0, 2.0, -3.0, -4.0], [2.0, 1.0, -4.0, 3.0]])
    assert_matches(
        apply_rotary(x, angles),
        expected,
        "apply_rotary",
        axes=AXES,
        help="Features 0 and 1 form a pair, and so do 2 and 3; each rotates counter-clockwise. "
        "A quarter turn moves (x, y) to (-y, x).",
        asks={
            "Does your second line still use the old features?": torch.tensor(
                [[-1.0, -1.0, -3.0, -4.0], [2.0, 1.0, -4.0, -4.0]]
            ),
            "Which feature of a pair is x, and which is y? Here they are swapped.": torch.tensor(
                [[-2.0, 1.0, -4.0, -3.0], [1.0, 2.0, -3.0, 4.0]]
            ),
            "Here each y is read as x, and each x as y.": torch.tensor(
                [[2.0, -1.0, -3.0, -4.0], [2.0, 1.0, 4.0, -3.0]]
            ),
            "This is clockwise. Which sign does each sine have in the formula?": torch.tensor(
                [[1.0, -2.0, -3.0, -4.0], [2.0, 1.0, 4.0, -3.0]]
            ),
            "Which sign do the two terms of the second line have?": torch.tensor(
                [[1.0, 2.0, -3.0, 4.0], [2.0, -1.0, 4.0, 3.0]]
            ),
            "All first features come before all second ones here. Which order should they have?": (
                torch.tensor([[-1.0, -3.0, 2.0, -4.0], [2.0, -4.0, 1.0, 3.0]])
            ),
            "Your pairs are 0 with 2 and 1 with 3. Which features form a pair here?": torch.tensor(
                [[-3.0, -1.0, 2.0, -4.0], [2.0, -4.0, 3.0, 1.0]]
            ),
        },
    )


def test_the_angles_of_later_positions() -> None:
    """A single token is rotated by the one row of angles that is given.

    `apply_rotary` uses the angles it is given, one row per token, and counts no positions itself.
    """
    output = apply_rotary(torch.tensor([[1.0, 0.0]]), torch.tensor([[7.0]]))
    expected = torch.tensor([[cos(7), sin(7)]])
    assert_matches(output, expected, "apply_rotary at position 7", axes=AXES)


def test_gradients_reach_what_is_rotated() -> None:
    """Gradients flow back to x: each number affects two numbers of the output."""
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    output = apply_rotary(x, torch.tensor([[1.0]]))
    if not output.requires_grad:
        raise Mismatch("No gradient flows back to x.", help="Is the graph cut on the way?")
    (gradient,) = torch.autograd.grad(output.sum(), x)
    expected = torch.tensor([[cos(1) + sin(1), cos(1) - sin(1)]])
    assert_matches(gradient, expected, "gradient of x", axes=AXES)


@given(start=st.integers(0, 20), distance=st.integers(0, 9))
def test_only_the_distance_counts(start: int, distance: int) -> None:
    """Scores depend only on how far apart query and key are.

    Queries and keys are rotated in the same direction, by angles proportional to the position.
    """
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 6, generator=generator)
    angles = rotary_angles(6, 30)
    queries, keys = (apply_rotary(one.expand(30, 6), angles).double() for one in (query, key))
    there = queries[start] @ keys[start + distance]
    here = queries[0] @ keys[distance]
    assert_matches(there, here, f"score at the distance {distance}", sides=("there", "at 0"))


def test_any_number_of_axes() -> None:
    """Every sentence and head is rotated as it would be alone.

    The axes in front of (L, d) are left as they are; the angles belong to the last two.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 5, 4, generator=generator)
    angles = rotary_angles(4, 5)
    output = apply_rotary(x, angles)
    alone = apply_rotary(x[1, 2], angles)
    axes = ("batch", "head", *AXES)
    assert_matches(output[1:, 2:], alone[None, None], "apply_rotary of (B, H, L, d)", axes=axes)


def test_the_dtype_is_kept() -> None:
    """bfloat16 gives bfloat16, float32 float32, whatever the angles' dtype."""
    for dtype in (torch.bfloat16, torch.float32):
        for angles in (torch.ones(3, 2), torch.ones(3, 2, dtype=torch.float64)):
            output = apply_rotary(torch.ones(3, 4, dtype=dtype), angles)
            assert_dtype(output, dtype, f"apply_rotary for {dtype} and angles of {angles.dtype}")
