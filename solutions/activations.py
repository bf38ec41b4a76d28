"""Activations: the bend without which depth is for nothing.

Two linear maps one after the other are again a linear map: a hundred layers could say no more than
one. What makes them say more is a bend in between, a function that is applied to every number by
itself. Three of them come up in Transformers: ReLU in the paper, GELU in BERT, GPT and most of
what came later, and tanh inside of one form of GELU.

## Formula

    relu(x) = x for x > 0, else 0
    tanh(x) = (eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)
    gelu(x) = x * Φ(x)

`Φ(x)` is the probability that a normally distributed random number is below `x`. So GELU lets a
number through in the measure in which it is large, where ReLU knows only yes and no. There are two
forms of it, and models trained with one are run with that one:

    approximate="none"    Φ(x) = (1 + erf(x / √2)) / 2
    approximate="tanh"    Φ(x) ≈ (1 + tanh(√(2/π) * (x + 0.044715 x³))) / 2

They differ by up to 0.0005, too little to see in a plot and enough to change a model's answer.

## A formula is not yet a program

Both tails of tanh are dull: it is 1 on the right and -1 on the left. But as it stands the formula
fails there, since float32 ends at about e⁸⁸:

    >>> x = torch.tensor(100.0)
    >>> x.exp(), x.exp() / (x.exp() + (-x).exp())
    (tensor(inf), tensor(nan))

And x³ gets large far sooner than x does, so that a GELU made of such a tanh is NaN from 13 on. Look
for a form of the same function in which nothing grows. Three that people use: divide both lines of
the fraction by eˣ, for positive `x` (what about the negative ones?); write it with `expm1`; or note
that tanh is an old acquaintance that was stretched,

    tanh(x) = 2 σ(2x) - 1        σ(x) = 1 / (1 + e⁻ˣ), which is torch.sigmoid

Yours has to be right and finite for *any* finite number: for 100 and for 1e30, on both sides. The
gradients have to be finite too, or else one large number makes all weights NaN. Beware of choosing
with `torch.where` between a form that is good on the left and one that is good on the right: each
is computed everywhere, and a gradient of infinity, times zero, is NaN.

## Shapes

    x, result                  any shape, both the same

## With a pencil

e to the power of ln 2 is 2, so tanh(ln 2) is (2 - 1/2) / (2 + 1/2) = 0.6. For ln 3 it is 0.8. Of
all normally distributed numbers 84.13 % are below 1 and 15.87 % below -1.

    >>> relu(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([0., 0., 3.])
    >>> tanh(torch.tensor([2.0, 3.0]).log())
    tensor([0.6000, 0.8000])
    >>> gelu(torch.tensor([1.0, -1.0]))
    tensor([ 0.8413, -0.1587])
    >>> gelu(torch.tensor([1.0, -1.0]), approximate="tanh")
    tensor([ 0.8412, -0.1588])

## What else counts

The hidden checks look at all that is said here, and at this:

- Gradients are torch's, also where numbers are large: 0 or 1 for ReLU and GELU far away, 0 for
  tanh.
- float32, float64 and bfloat16 come back as they came. Numbers made in your code take their dtype
  and device from the input. Any shape will do, a single number too.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## What may not be used

`torch.tanh`, `torch.relu`, `F.relu`, `F.gelu`, their modules `nn.Tanh`, `nn.ReLU`, `nn.GELU` and
the methods of a tensor would do it for you; here they cost the exercise, and so does a ReLU by
another name, such as `F.threshold` or `F.leaky_relu` with a zero in it. `exp`, `expm1`, `erf`,
`erfc`, `sigmoid`, `clamp`, `maximum` and `where` are fine.

## Where to read

- Paper, "Attention Is All You Need": section 3.3 takes ReLU. GELU is from "Gaussian Error Linear
  Units" by Hendrycks and Gimpel (2016), section 2, with both forms.
- PyTorch: `torch.nn.functional.gelu`, its argument `approximate`; `torch.tanh`; `torch.relu`.

## Questions to ask your code

- What are your tanh and its gradient at 100, at -100, at 1e30 and at 0?
- In which of the two forms of GELU is there a power of 3, and in which a root of 2 inside erf?
- What is gelu(x) - gelu(-x)? It can be done with a pencil.
- Does bfloat16 come back as bfloat16? A constant made with `torch.tensor` has a dtype of its own.
- `x[x < 0] = 0` makes a ReLU. Who else holds that `x`?
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def relu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Cuts off what is negative.

    To start: which function of torch takes the larger of two numbers, or keeps numbers in a range?

    Args:
        x: Any shape, float32, float64 or bfloat16; it stays as it was.

    Returns:
        The same shape and dtype. The gradient is 1 above zero, 0 below it and finite at zero.
    """
    ### BEGIN SOLUTION
    return x.clamp(min=0)
    ### END SOLUTION


def tanh(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Squeezes any number between -1 and 1.

    To start: begin with the formula as it stands and try 100. Then look for a form in which nothing
    grows.

    Args:
        x: Any shape, float32, float64 or bfloat16; it stays as it was.

    Returns:
        The same shape and dtype, right and finite for any finite `x`, with finite gradients.
    """
    ### BEGIN SOLUTION
    return 2 * torch.sigmoid(2 * x) - 1
    ### END SOLUTION


def gelu(x: Float[Tensor, "..."], approximate: str = "none") -> Float[Tensor, "..."]:
    """Lets each number through in the measure Φ(x).

    To start: `torch.erf` is the function of the exact form. For the other form, you have just
    written the tanh.

    Args:
        x: Any shape, float32, float64 or bfloat16; it stays as it was.
        approximate: `"none"` for the exact form, `"tanh"` for the other.

    Returns:
        The same shape and dtype, right and finite for any finite `x`, with finite gradients.

    Raises:
        ValueError: `approximate` is neither of the two.
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
