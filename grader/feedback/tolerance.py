"""How far a number may be from the expected one, and how close comparisons came to that limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

_noted: ContextVar[list[float] | None] = ContextVar("noted", default=None)

# A number is right when |yours - expected| <= tolerance * (|expected| + size), where size is the
# largest |expected| of the whole tensor, so that a result of any magnitude is judged relative to
# it. Measured, as |yours - expected| / (|expected| + size):
#   right, computed in float32:  attention on N(0, 1) 2e-7, on inputs x10 1.4e-5 (the worst of
#                                20000; 8e-6 is the worst of 1000); six encoder layers 8e-7
#                                (the worst of 700; inputs x1e-3 to x1, pre-norm to x1e3);
#                                LayerNorm 1e-7
#   wrong:                       GELU's tanh form 9e-5 (inputs in ±5); eps 1e-6 for 1e-5, or outside
#                                the root, 8e-4 (inputs x0.1) and 9e-2 (inputs x0.01)
# 2e-5 leaves a factor of 4.5 above, and below 1.4 for attention on inputs x10, 25 for all else.
# Attention on inputs x100 in float32 is off by 1e-4, because the scores are: give such a check its
# own tolerance.
TOLERANCE = {
    torch.float64: 2e-5,
    torch.float32: 2e-5,
    torch.float16: 4e-3,  # 4 roundings of 2**-10
    torch.bfloat16: 2e-2,  # 5 roundings of 2**-8
}
# Numbers near zero that are a difference of numbers near one carry float32's noise of about 2e-7;
# a tensor of only such numbers is judged as if the largest were this: 1e-6, five times the noise.
SMALLEST_SIZE = 0.05


@contextmanager
def measured() -> Iterator[list[float]]:
    """Collect how close the comparisons in the block come to their tolerance.

    A number for each: by how many times its tolerance the worst number is off, so that up to 1 is
    right; infinite where it is NaN.
    """
    noted: list[float] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def note(difference: Tensor, limit: Tensor) -> None:
    """Keep, where somebody measures, what a comparison has found."""
    noted = _noted.get()
    if noted is not None:
        shares = torch.where(difference == 0, 0.0, difference / limit)
        noted.append(shares.nan_to_num(nan=torch.inf, posinf=torch.inf).max().item())
