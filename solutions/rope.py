"""Rotary positions: a token's position as an angle.

A sinusoidal table is added once, to the tokens, and then has to survive every layer. Rotary
position embeddings (**RoPE**) act where positions matter: in attention, where a query meets a key.

Before they meet, each is rotated by an angle that belongs to its position, and their dot product
then depends on the angle *between* them. So a score depends on how far apart two tokens are,
wherever in the text they occur. The values are not rotated. Llama and most models after it work
like this.

Why does that make positions relative? A rotation keeps lengths, and the angle between two points
stays the same if both are rotated alike. Rotate a query by `m` steps and a key by `n`: their dot
product is the same as if only the key had been rotated, by `n - m`.

## Formula

    angle[pos, i] = pos / base^(2i / head_dim)

    y_2i   = x_2i cos(angle) - x_2i+1 sin(angle)
    y_2i+1 = x_2i sin(angle) + x_2i+1 cos(angle)

Features come in *pairs*, and a pair is a point in the plane: `x_2i` is its horizontal coordinate,
`x_2i+1` the vertical one. The two lines rotate it counter-clockwise about the origin. The angles
are those of the sinusoidal table: the first pair rotates quickly, the last one hardly at all.

Which features form a pair? Here `0, 1`, then `2, 3`, as in the paper. Some libraries pair the first
half with the second: `0` with `head_dim / 2`, and so on. That is just as good, but a model trained
with one layout gives nonsense with the other, and combining the angles of one layout with the
rotation of the other is not a rotation at all.

## Shapes

    angles                     (L, head_dim // 2)      an angle for every position and pair
    x, result                  (..., L, head_dim)      positions are the second-to-last axis

The dots stand for any number of axes: none, a batch, or `(B, H)`. All of them share the angles. The
angles are used as given. When a model generates token by token, the next token is alone in `x`, and
its single row of angles is not that of position 0.

## With a pencil

Three positions, four features, and `base = 100`, so that the numbers are easy. The first pair has
the exponent 0, the second 2 / 4, and 100^(1/2) = 10.

    >>> rotary_angles(head_dim=4, length=3, base=100.0).float()
    tensor([[0.0000, 0.0000],
            [1.0000, 0.1000],
            [2.0000, 0.2000]])

A quarter turn moves (2, 1) to (-1, 2), and a half turn moves (3, 4) to (-3, -4):

    >>> apply_rotary(torch.tensor([[2.0, 1.0, 3.0, 4.0]]), torch.tensor([[torch.pi / 2, torch.pi]]))
    tensor([[-1.0000,  2.0000, -3.0000, -4.0000]])

The same vector at nine positions: its score with itself two positions later is the same everywhere.

    >>> x = apply_rotary(torch.tensor([1.0, 2.0, 3.0, 4.0]).expand(9, 4), rotary_angles(4, 9))
    >>> (x[0] @ x[2]).item(), (x[5] @ x[7]).item(), (x[0] @ x[1]).item()  # doctest: +ELLIPSIS
    (22.91..., 22.91..., 27.70...)

## What the exercise asks

- Two functions, `rotary_angles` and `apply_rotary`.
- `rotary_angles` works for any base and any length, from one position to thousands, and raises
  `ValueError` for an odd `head_dim`.
- `apply_rotary` uses the angles as given, from whatever position they start, for any number of axes
  in front.
- The result has the dtype and device of `x`, whatever the dtype of the angles is.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "RoFormer: Enhanced Transformer with Rotary Position Embedding" by Su and others (2021):
  section 3.2, and equation (34) for how to compute it.
- PyTorch has no such function. `torch.polar` and `torch.view_as_complex` lead to a second way:
  multiplying by a complex number of length one is a rotation.
- A picture of it: exercises/pictures/rope.svg.

## Questions to ask your code

- Does every pair keep its length? Compare `x.norm(dim=-1)` before and after.
- Is the token at position 0 unchanged? And with angles that start at position 5?
- Along which axis are your angles if `x` is `(B, H, L, head_dim)` and `H` is not `L`? And does your
  code work for `(L, head_dim)` as well?
- In which direction do you rotate? What does (1, 0) become after a quarter turn?
- If `x` is bfloat16 and the angles are float32, what dtype does their product have? And is float64
  still as accurate afterwards?
- Which tensor does `x[..., 0::2] = …` write into?
"""

import torch
from jaxtyping import Float
from torch import Tensor


def rotary_angles(
    head_dim: int, length: int, base: float = 10000.0
) -> Float[Tensor, "length head_dim//2"]:
    """Return the angle of every position and pair of features.

    To start: create the positions and the even numbers with `torch.arange`, and let broadcasting
    compute all angles at once.

    Args:
        head_dim: How many features a query has; an even number.
        length: How many positions, counted from 0.
        base: Sets the slowest rotation.

    Returns:
        `(length, head_dim // 2)` in float32 or float64.

    Raises:
        ValueError: `head_dim` is odd, so one feature would have no partner.
    """
    ### BEGIN SOLUTION
    if head_dim % 2:
        raise ValueError(f"{head_dim} features cannot be put in pairs")
    position = torch.arange(length, dtype=torch.float64)[:, None]
    exponent = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    return position / base**exponent
    ### END SOLUTION


def apply_rotary(
    x: Float[Tensor, "... length head_dim"], angles: Float[Tensor, "length head_dim//2"]
) -> Float[Tensor, "... length head_dim"]:
    """Rotate each pair of features by the angle of its position.

    To start: a slice with a step takes every other feature. To interleave two tensors along the
    last axis, stack them along a new last axis and flatten.

    Args:
        x: Queries or keys, `(..., L, head_dim)`, float32, float64 or bfloat16; don't modify it.
        angles: `(L, head_dim // 2)`, float32 or float64, from whatever position they start.

    Returns:
        The same shape and dtype as `x`, whatever the dtype of the angles.
    """
    ### BEGIN SOLUTION
    # Why this way: sine and cosine are taken at the angles' precision and only then converted: an
    # angle in the thousands, rounded to bfloat16 first, would be off by several radians.
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    across, up = x[..., 0::2], x[..., 1::2]
    turned = across * cos - up * sin, across * sin + up * cos
    return torch.stack(turned, dim=-1).flatten(-2)
    ### END SOLUTION
