"""Layer normalisation: bring the features of every token to mean 0 and variance 1.

From layer to layer, the features of a token can grow or shrink without limit, which makes training
unstable. Layer normalisation stops that: it rescales every token to the same range, whatever the
layers before it did.

Each token is treated by itself. Its features are shifted so that their mean is 0, and scaled so
that their variance is 1. Two learned vectors, `weight` and `bias`, then give every feature a scale
and a shift of its own, so the model can choose another range where it needs one.

No statistics are taken over the batch, so a token comes out the same whatever else is in the batch,
in training and in evaluation. That is the difference from **batch normalisation**.

## Formula

    LayerNorm(x) = weight * (x - mean) / √(variance + eps) + bias

    mean     = (x_1 + … + x_d) / d
    variance = ((x_1 - mean)² + … + (x_d - mean)²) / d

The small number `eps` keeps the root away from zero when all features of a token are equal. This
variance is the **biased** one: it divides by `d`, not by `d - 1`.

## Shapes

    x                          (..., d_model)
    mean, variance             (..., 1)          one of each per token
    weight, bias               (d_model,)
    result                     (..., d_model)

## With a pencil

One token with eight features. Their sum is 32, so the mean is 4. The distances from it are -3, -1,
-1, -1, 0, 0, 2, 4. Their squares sum to 32, so the variance is 32 / 8 = 4, and its root is 2.

    >>> x = torch.tensor([1.0, 3.0, 3.0, 3.0, 4.0, 4.0, 6.0, 8.0])
    >>> LayerNorm(8)(x).detach()
    tensor([-1.5000, -0.5000, -0.5000, -0.5000,  0.0000,  0.0000,  1.0000,  2.0000])

## What the exercise asks

- `LayerNorm(d_model, eps)` computes the formula over the last axis of x. `weight` starts at one and
  `bias` at zero, so that a new layer only normalises.
- A token whose features are all equal, or that has a single feature, gives no NaN.
- In float32, numbers around 1000 keep their accuracy.
- Gradients flow through mean and variance as well, as they do in `nn.LayerNorm`.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 3.1 uses it. It comes from "Layer Normalization" by
  Ba, Kiros and Hinton (2016), equations (3) and (4).
- PyTorch: `torch.nn.LayerNorm` is the same layer.
- A picture of it: exercises/pictures/layer_norm.svg.

## Questions to ask your code

- Over which axis do you take the mean? Does a token change when another one joins the batch?
- What number do `torch.var` and `torch.std` divide by, if you don't say?
- Is `eps` added before or after taking the root? Try `x * 0.01` to see the difference.
- Do mean and variance keep an axis of size 1, so that they broadcast against `x`?
- What values must `weight` and `bias` start with, to change nothing at first?
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class LayerNorm(nn.Module):
    """Normalise each token to mean 0 and variance 1, then scale and shift its features.

    Parameters: `weight` and `bias`, each `(d_model,)`.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Create the scale and the shift.

        To start: `nn.Parameter` makes a tensor trainable.

        Args:
            d_model: Number of features of a token.
            eps: Added to the variance, so that the root is never zero.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalise over the last axis.

        To start: look up `torch.mean` and `torch.var`, and what their arguments `dim`, `keepdim`
        and `correction` do.

        Args:
            x: `(..., d_model)`.

        Returns:
            The same shape and dtype. Numbers far from zero (around 1000, say) keep their accuracy.
        """
        ### BEGIN SOLUTION
        # Why this way: far from zero, E[x²] - E[x]² would lose all its digits.
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, correction=0)
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias
        ### END SOLUTION
