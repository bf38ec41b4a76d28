"""A shape that is not the wanted one, in words: both sizes, and what may be the cause."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import torch
from torch import Tensor

from grader.feedback.mismatch import Mismatch
from grader.feedback.tolerance import TOLERANCE

# Of the axes of a tensor all orders are tried, to see a transpose: 120 of five.
_MOST_AXES = 5


def shape_mismatch(
    yours: Tensor,
    expected: Tensor | None,
    wanted: tuple[int, ...],
    subject: str,
    axes: Sequence[str],
    help: str,
) -> Mismatch:
    """Return the message where the shape of `yours` is not the `wanted` one.

    With `expected`, the tensor itself, a transpose is only asked about where one helps.
    """
    shape = tuple(yours.shape)
    same_length = len(shape) == len(wanted)
    headline = (
        f"The shape of your {subject} is {sizes_in_words(shape, axes if same_length else ())}; "
        f"it should be {sizes_in_words(wanted, axes)}."
    )
    if not help and shape != wanted and sorted(shape) == sorted(wanted):
        help = "The sizes are right, their order is not"
        if expected is None or _agrees_transposed(yours, expected):
            help += ": is a transpose missing, or one too many?"
            if 1 in shape:
                help += " Or is a `None` or an `unsqueeze` in the wrong place?"
        else:
            help += ", and no transpose makes these numbers the right ones: is the right tensor "
            help += "used?"
    elif not help and [n for n in shape if n != 1] == [n for n in wanted if n != 1]:
        help = (
            "Only axes of size 1 differ: look at `unsqueeze`, `squeeze`, `flatten`, `keepdim` and "
            "indexing with None."
        )
    return Mismatch(headline, None, help)


def _agrees_transposed(yours: Tensor, expected: Tensor) -> bool:
    """Return whether the numbers are right with the axes in some other order."""
    if yours.dim() > _MOST_AXES or yours.is_complex() or expected.is_complex():
        return False
    tolerance = max(TOLERANCE.get(tensor.dtype, 0.0) for tensor in (yours, expected))
    return any(
        turned.shape == expected.shape
        and torch.allclose(turned.double(), expected.double(), tolerance, tolerance)
        for turned in map(yours.permute, permutations(range(yours.dim())))
    )


def sizes_in_words(sizes: tuple[int, ...], axes: Sequence[str] = ()) -> str:
    """Return the sizes of a tensor, with the names of its axes where there is one for each."""
    if len(axes) == len(sizes) and sizes:
        return f"({', '.join(f'{axis} {n}' for axis, n in zip(axes, sizes, strict=True))})"
    return str(tuple(sizes))
