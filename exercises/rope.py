# Put your code where NotImplementedError is. Then: pytest exercises/test_rope.py
# Not to be used here: torch.onnx.ops.rotary_embedding. Here you turn the pairs yourself; sin,
# cos, stack and complex numbers are fine.
"""Rotary positions: a word's place as an angle.

A sinusoidal table is added once, to the words, and then has to survive every layer. Rotary
positions (RoPE) come in where places matter: in attention, where a query meets a key. Before they
meet, each is turned by an angle that belongs to its place, and what their dot product then sees is
the angle *between* them. So a score depends on how far two words are apart, wherever in the text
they stand. Llama and most models after it work like this; the values are not turned.

## Formula

    angle[pos, i] = pos / base^(2i / head_dim)

    y_2i   = x_2i cos(angle) - x_2i+1 sin(angle)
    y_2i+1 = x_2i sin(angle) + x_2i+1 cos(angle)

Features come in *pairs*, and a pair is a point in the plane: `x_2i` across and `x_2i+1` up. The two
lines turn it counter-clockwise about the origin. The angles are those of the sinusoidal table: the
first pair swings quickly, the last one hardly at all.

Why does that make positions relative? Turning keeps lengths, and the angle between two points stays
what it was if both are turned alike. Turn a query by `m` steps and a key by `n`: their dot product
is the same as if only the key had been turned, by `n - m`.

Which features are a pair? Here `0, 1`, then `2, 3`, as in the paper. Some libraries pair the first
half with the second: `0` with `head_dim / 2`, and so on. That is just as good, but a model that was
trained with one layout talks nonsense with the other; and angles laid out for the one with turns
made for the other are no rotation at all.

## Shapes

    angles                     (L, head_dim // 2)      an angle for every position and pair
    x, result                  (..., L, head_dim)      positions are the last axis but one

The dots stand for any number of axes: none, a batch, or `(B, H)`. All of them share the angles. The
angles given are used as they are: in a model that writes word after word, the next word stands
alone in `x` and its one row of angles is not that of position 0.

## With a pencil

Three positions, four features, and `base = 100`, so that the numbers are friendly. The first pair
has the exponent 0, the second 2 / 4, and 100^(1/2) = 10.

    >>> rotary_angles(head_dim=4, length=3, base=100.0).float()
    tensor([[0.0000, 0.0000],
            [1.0000, 0.1000],
            [2.0000, 0.2000]])

A quarter of a turn brings (2, 1) to (-1, 2), and half a turn brings (3, 4) to (-3, -4):

    >>> apply_rotary(torch.tensor([[2.0, 1.0, 3.0, 4.0]]), torch.tensor([[torch.pi / 2, torch.pi]]))
    tensor([[-1.0000,  2.0000, -3.0000, -4.0000]])

The same word in all places: its score with itself, two places further on, is the same everywhere.

    >>> x = apply_rotary(torch.tensor([1.0, 2.0, 3.0, 4.0]).expand(9, 4), rotary_angles(4, 9))
    >>> (x[0] @ x[2]).item(), (x[5] @ x[7]).item(), (x[0] @ x[1]).item()  # doctest: +ELLIPSIS
    (22.91..., 22.91..., 27.70...)

## What else counts

The hidden checks look at all that is said here, and at this:

- Any base, and any length from one position to thousands.
- Gradients flow back to x.
- What comes out has the dtype and device of x, whatever the angles have.
- Heads that were split by a transpose are views in another order of memory: `reshape` works on
  them, `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "RoFormer: Enhanced Transformer with Rotary Position Embedding" by Su and others (2021):
  section 3.2, and equation (34) for how to compute it.
- PyTorch has no such function. `torch.polar` and `torch.view_as_complex` lead to a second way:
  turning is what multiplying by a complex number of length one does.

## Questions to ask your code

- Does every pair keep its length? `x.norm(dim=-1)` before and after tells.
- Is position 0 left as it was? Is it with angles that begin at position 5?
- Which axis do your angles belong to if `x` is `(B, H, L, head_dim)` and `H` is not `L`? And does
  it work for `(L, head_dim)` as well?
- Which way do you turn? What becomes of (1, 0) after a quarter?
- If `x` is in bfloat16 and the angles are in float32, what is their product? And are numbers in
  float64 as exact afterwards as they were?
- `x[..., 0::2] = …` writes into which tensor?
"""

import torch
from jaxtyping import Float
from torch import Tensor


def rotary_angles(
    head_dim: int, length: int, base: float = 10000.0
) -> Float[Tensor, "length head_dim//2"]:
    """The angle of every position and pair of features.

    To start: make the positions and the even numbers with `torch.arange`, and let broadcasting
    build all angles at once.

    Args:
        head_dim: How many features a query has; an even number.
        length: How many positions, counted from 0.
        base: Sets the slowest turn.

    Returns:
        `(length, head_dim // 2)` in float32 or float64.

    Raises:
        ValueError: `head_dim` is odd, so that a feature would be left without a partner.
    """
    raise NotImplementedError("rope: rotary_angles is not written yet")


def apply_rotary(
    x: Float[Tensor, "... length head_dim"], angles: Float[Tensor, "length head_dim//2"]
) -> Float[Tensor, "... length head_dim"]:
    """Turns each pair of features by the angle of its position.

    To start: a slice with a step takes every other feature. Two tensors that should take turns
    along the last axis can be stacked beside one another and then flattened.

    Args:
        x: Queries or keys, `(..., L, head_dim)`, float32, float64 or bfloat16; it stays as it was.
        angles: `(L, head_dim // 2)`, float32 or float64, from whatever position they start.

    Returns:
        The same shape and dtype as `x`, whatever the dtype of the angles.
    """
    raise NotImplementedError("rope: apply_rotary is not written yet")


# Made by grader stubs, 55557a883b2e
