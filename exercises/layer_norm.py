# Put your code where NotImplementedError is. Then: pytest exercises/test_layer_norm.py
# Not to be used here: nn.LayerNorm, F.layer_norm, nn.RMSNorm, F.rms_norm, nn.BatchNorm,
# F.batch_norm, nn.GroupNorm, F.group_norm, nn.InstanceNorm, F.instance_norm. Here you write the
# normalisation yourself; mean, var, sqrt and rsqrt are fine.
"""Layer normalisation: keeping the numbers in a healthy range.

After many layers the features of a token can become very large or very small, and then training
goes badly. Layer normalisation takes each token by itself, shifts its features so that their mean
is 0, and stretches them so that their variance is 1. Two vectors that are learned, `weight` and
`bias`, let the model choose another scale and shift for each feature if it wants to.

## Formula

    LayerNorm(x) = weight * (x - mean) / √(variance + eps) + bias

    mean     = (x_1 + … + x_d) / d
    variance = ((x_1 - mean)² + … + (x_d - mean)²) / d

The small number `eps` keeps the root away from zero when all features of a token are equal. The
variance here is the *biased* one: it is divided by `d`, not by `d - 1`.

## Shapes

    x                          (..., d_model)
    mean, variance             (..., 1)
    weight, bias               (d_model,)
    result                     (..., d_model)

Every token has its own mean and variance. So what else is in the batch makes no difference.

## With a pencil

One token with eight features. Their sum is 32, so the mean is 4. The differences from it are -3,
-1, -1, -1, 0, 0, 2, 4, their squares sum to 32, so the variance is 32 / 8 = 4 and its root is 2.

    >>> x = torch.tensor([1.0, 3.0, 3.0, 3.0, 4.0, 4.0, 6.0, 8.0])
    >>> LayerNorm(8)(x).detach()
    tensor([-1.5000, -0.5000, -0.5000, -0.5000,  0.0000,  0.0000,  1.0000,  2.0000])

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others.
- Equal features, or a single one, give no NaN. `eps` is the argument's.
- Gradients flow back to x, weight and bias as through `nn.LayerNorm`, mean and variance included.
- float32, float64 and bfloat16 come back as they came. Numbers made in your code take their dtype
  and device from the input.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- `copy.deepcopy` of the module works, and the next call may have another batch and another length.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.1 uses it. It comes from "Layer Normalization" by
  Ba, Kiros and Hinton (2016), equations (3) and (4).
- PyTorch: `torch.nn.LayerNorm` is the same thing.

## Questions to ask your code

- Over which axis do you take the mean? Is a token changed when another one joins the batch?
- By which number do `torch.var` and `torch.std` divide if you do not tell them?
- Is `eps` added before or after the root is taken? Try `x * 0.01` to see the difference.
- Do mean and variance keep an axis of size 1, so that they broadcast against `x`?
- With which values must `weight` and `bias` start, so that at first they change nothing?
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class LayerNorm(nn.Module):
    """Gives the features of each token mean 0 and variance 1, then scales and shifts them.

    Its parameters are `weight` and `bias`, each `(d_model,)`.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Makes the scale and the shift.

        To start: `nn.Parameter` makes a tensor trainable.

        Args:
            d_model: Features of a token.
            eps: Added to the variance, so that nothing is divided by zero.
        """
        super().__init__()
        raise NotImplementedError("layer_norm: LayerNorm.__init__ is not written yet")

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalises over the last axis.

        To start: look up `mean` and `var`, and what their arguments `dim`, `keepdim` and
        `correction` do.

        Args:
            x: `(..., d_model)`.

        Returns:
            The same shape and dtype. Numbers far from zero, around 1000 say, keep their accuracy.
        """
        raise NotImplementedError("layer_norm: LayerNorm.forward is not written yet")


# Made by grader stubs, f27481a77734
