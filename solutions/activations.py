"""Activations: without a non-linearity, depth buys you nothing.

Two linear maps in a row are again a linear map, so a hundred layers could express no more than one.
A **non-linearity** between them changes that: a function applied to every number on its own, called
the **activation**.

Three of them occur in this course: ReLU, which the paper uses; GELU, used in BERT and GPT; and
tanh, which is part of one form of GELU. ReLU only knows yes or no. GELU lets a number through
gradually, the more the larger it is. (Many of today's models use a gate instead: a product of two
linear maps, one of which passes through SiLU, x σ(x).)

## Formula

    relu(x) = x for x > 0, else 0
    tanh(x) = (eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)
    gelu(x) = x * Φ(x)
    erf(z)  = 2/√π ∫ e^(-t²) dt from 0 to z

`Φ(x)` is the probability that a normally distributed random number is below `x`. There are two
forms, and a model trained with one has to be run with the same one:

    approximate="none"    Φ(x) = (1 + erf(x / √2)) / 2
    approximate="tanh"    Φ(x) ≈ (1 + tanh(√(2/π) * (x + 0.044715 x³))) / 2

The two GELUs differ by up to 0.0005: too little to see in a plot, but enough to change a model's
answer.

A formula is not yet a program. tanh is almost exactly 1 on the far right and -1 on the far left,
but computed as written it fails there, since the largest float32 is about e⁸⁸:

    >>> x = torch.tensor(100.0)
    >>> x.exp(), x.exp() / (x.exp() + (-x).exp())
    (tensor(inf), tensor(nan))

And x³ grows much faster than x, so a GELU made from such a tanh is NaN from 13 on. Look for a form
of the same function in which nothing overflows. Three that people use: divide numerator and
denominator by eˣ, for positive `x` (what about negative ones?); write it with `expm1`; or notice
that tanh is just a rescaled sigmoid,

    tanh(x) = 2 σ(2x) - 1        σ(x) = 1 / (1 + e⁻ˣ), which is torch.sigmoid

Gradients have to stay finite too: a single NaN spreads to all weights in one step. Be careful with
`torch.where` between a form that is good on the left and a form that is good on the right. Both are
computed everywhere, and an infinite gradient times zero is NaN.

## Shapes

    x, result                  any shape, the same for both

## With a pencil

e to the power of ln 2 is 2, so tanh(ln 2) is (2 - 1/2) / (2 + 1/2) = 0.6. For ln 3 it is 0.8. Of
all normally distributed numbers, 84.13 % are below 1 and 15.87 % below -1.

    >>> relu(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([0., 0., 3.])
    >>> tanh(torch.tensor([2.0, 3.0]).log())
    tensor([0.6000, 0.8000])
    >>> gelu(torch.tensor([1.0, -1.0]))
    tensor([ 0.8413, -0.1587])
    >>> gelu(torch.tensor([1.0, -1.0]), approximate="tanh")
    tensor([ 0.8412, -0.1588])

## What the exercise asks

- Three functions, `relu`, `tanh` and `gelu`, the last one in both forms. For any other
  `approximate`, `gelu` raises `ValueError`.
- Results are right and finite for *any* finite number: for 100 and for 1e30, on both sides.
- Gradients are finite and equal to torch's, for large numbers too: 0 or 1 for ReLU and GELU far
  from zero, 0 for tanh.
- Inputs have any shape, including a single number.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 3.3 uses ReLU. GELU is from "Gaussian Error Linear
  Units" by Hendrycks and Gimpel (2016), section 2, with both forms.
- PyTorch: `torch.nn.functional.gelu`, its argument `approximate`; `torch.tanh`; `torch.relu`.

## Questions to ask your code

- What are your tanh and its gradient at 100, at -100, at 1e30 and at 0?
- Which form of GELU contains a third power, and which one a √2 inside erf?
- What is gelu(x) - gelu(-x)? You can work it out with a pencil.
- Does bfloat16 come back as bfloat16? A constant made with `torch.tensor` has its own dtype.
- `x[x < 0] = 0` makes a ReLU. Who else holds that `x`?
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def relu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Replace negative numbers by zero.

    To start: which function of torch takes the larger of two numbers, or keeps numbers in a range?

    Args:
        x: Any shape, float32, float64 or bfloat16; don't modify it.

    Returns:
        The same shape and dtype. The gradient is 1 above zero, 0 below it and finite at zero.
    """
    ### BEGIN SOLUTION
    return x.clamp(min=0)
    ### END SOLUTION


def tanh(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Map every number into the range from -1 to 1.

    To start: write the formula as given and try 100. Then look for a form in which nothing
    overflows.

    Args:
        x: Any shape, float32, float64 or bfloat16; don't modify it.

    Returns:
        The same shape and dtype, right and finite for any finite `x`, with finite gradients.
    """
    ### BEGIN SOLUTION
    # Why this way: sigmoid neither overflows nor has an infinite gradient, on either side.
    return 2 * torch.sigmoid(2 * x) - 1
    ### END SOLUTION


def gelu(x: Float[Tensor, "..."], approximate: str = "none") -> Float[Tensor, "..."]:
    """Multiply every number by Φ of it.

    To start: the exact form needs `torch.erf`. For the other form, you have just written the tanh.

    Args:
        x: Any shape, float32, float64 or bfloat16; don't modify it.
        approximate: `"none"` for the exact form, `"tanh"` for the approximation.

    Returns:
        The same shape and dtype, right and finite for any finite `x`, with finite gradients.

    Raises:
        ValueError: `approximate` is neither `"none"` nor `"tanh"`.
    """
    ### BEGIN SOLUTION
    if approximate == "none":
        return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
    if approximate == "tanh":
        # Beyond ±10 the tanh is ±1 to the last digit. In float32, x³ is infinite from 7e12 on, and
        # then its gradient would be 0 * inf.
        inner = x.clamp(-10, 10)
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3)))
    raise ValueError(f'approximate is {approximate!r}; it should be "none" or "tanh"')
    ### END SOLUTION
