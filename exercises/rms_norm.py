# Put your code where NotImplementedError is. Then: pytest exercises/test_rms_norm.py
"""RMSNorm: layer normalisation without the mean.

A deep network needs tokens of a steady size, or training becomes unstable. Layer normalisation
subtracts each token's mean and divides by its standard deviation, and in 2019 Zhang and Sennrich
asked which of the two does the work. It is the division: without the subtraction models train just
as well, and the norm is cheaper. Llama and most language models since then use RMSNorm.

Each token is divided by its **root mean square**, the square root of the average of its squared
features. A learned vector `weight` then gives every feature its own scale. There is no bias:
what was not shifted need not be shifted back.

## Formula

    RMSNorm(x) = weight * x / √(mean_square + eps)

    mean_square = (x_1² + … + x_d²) / d

The small number `eps` keeps the root away from zero when all features of a token are zero.

## Shapes

    x                          (..., d_model)
    mean_square                (..., 1)
    weight                     (d_model,)
    result                     (..., d_model)

Every token has its own root mean square, so it does not matter what else is in the batch.

## With a pencil

Four features, 1, -1, 3 and 5. Their squares 1, 1, 9 and 25 sum to 36, the mean square is 9 and its
root 3. The mean of the features is 2, and it stays in: the results sum to 8/3, not to 0.

    >>> RMSNorm(4)(torch.tensor([1.0, -1.0, 3.0, 5.0])).detach()
    tensor([ 0.3333, -0.3333,  1.0000,  1.6667])

## What the exercise asks

- `weight` starts at one and has one number for every feature. There is no bias.
- `eps` is the one passed to the constructor, 1e-6 by default, and is added inside the root. A token
  of zeros gives zeros, not NaN.
- In bfloat16 the result may be off by a few hundredths of its largest entry, so you may square
  bfloat16 numbers as they are. Large models compute in float32 here and convert back; this is fine
  too. Module and input always have the same dtype.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`nn.LayerNorm`, `F.layer_norm`, `nn.RMSNorm`, `F.rms_norm`, `nn.BatchNorm`, `F.batch_norm`,
`nn.GroupNorm`, `F.group_norm`, `nn.InstanceNorm` and `F.instance_norm`. Write the normalisation
yourself; `mean`, `square`, `sqrt` and `rsqrt` are fine.

## Where to read

- Paper: "Root Mean Square Layer Normalization" by Zhang and Sennrich (2019), equation (4).
- PyTorch: `torch.nn.RMSNorm` is the same thing. Its `eps` has another default.

## Questions to ask your code

- Is anything subtracted? What do you get for a token whose features are all 2?
- Over which axis do you average? Does a token change when another one joins the batch?
- Is `eps` added before or after the root is taken? Try `x * 0.001` to see the difference.
- `torch.rsqrt` is one over the root. Do you multiply by it or divide by it?
- What dtype does your result have for bfloat16 if one line converts to float32?
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Divide each token by its root mean square, then scale every feature.

    Its only parameter is `weight`, `(d_model,)`.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        """Create the scale.

        To start: `nn.Parameter` makes a tensor trainable.

        Args:
            d_model: Features of a token.
            eps: Added to the mean square, so that nothing is divided by zero.
        """
        super().__init__()
        raise NotImplementedError("rms_norm: RMSNorm.__init__ is not written yet")

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalise over the last axis.

        To start: look up `square` and `mean`, and what the arguments `dim` and `keepdim` do.

        Args:
            x: `(..., d_model)`.

        Returns:
            The same shape and dtype.
        """
        raise NotImplementedError("rms_norm: RMSNorm.forward is not written yet")


# Made by grader stubs, 70c7e155f82d
