# Put your code where NotImplementedError is. Then: pytest exercises/test_sublayer.py
# Not to be used here: nn.LayerNorm, F.layer_norm, nn.RMSNorm, F.rms_norm, nn.BatchNorm,
# F.batch_norm, nn.GroupNorm, F.group_norm, nn.InstanceNorm, F.instance_norm. The norm here is the
# LayerNorm that you write in layer_norm.
"""The sublayer connection: a straight road past every layer.

A layer of the Transformer has two or three sublayers: attention, perhaps a second attention, and a
feed-forward network. Each is wrapped in the same way. What went in is added to what comes out, so
that a sublayer need only learn what to *change*, and gradients have a straight road back to the
first layer. That is the residual sum. And a layer norm keeps the numbers in range.

## Formula

Two orders are in use. The paper normalises after the sum ("post-norm"):

    y = LayerNorm(x + Dropout(sublayer(x)))

Most models of today normalise what goes into the sublayer ("pre-norm", `norm_first=True`). Nothing
then touches `x` itself on its way, and deep models are easier to train:

    y = x + Dropout(sublayer(LayerNorm(x)))

## Shapes

    x                          (B, L, d_model)
    sublayer(...)              (B, L, d_model)
    y                          (B, L, d_model)

`sublayer` is any function that takes a tensor and returns one of the same shape. A module is such a
function, and so is a `lambda`.

## With a pencil

One token, and a sublayer that doubles whatever it gets. In post-norm the sum is 3, 3, 9, 9, with
mean 6 and variance 9, so the result is -1, -1, 1, 1. In pre-norm the sublayer gets -1, -1, 1, 1 and
makes -2, -2, 2, 2 of it, which is added to `x`.

    >>> import torch
    >>> x = torch.tensor([[[1.0, 1.0, 3.0, 3.0]]])
    >>> post = SublayerConnection(4, dropout=0.0)
    >>> post(x, lambda y: 2 * y).detach()
    tensor([[[-1.0000, -1.0000,  1.0000,  1.0000]]])
    >>> pre = SublayerConnection(4, dropout=0.0, norm_first=True)
    >>> pre(x, lambda y: 2 * y).detach()
    tensor([[[-1.0000, -1.0000,  5.0000,  5.0000]]])

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others. The sublayer belongs to the caller.
- Dropout acts on what the sublayer returns, number by number, while training only.
- Gradients flow back to x and to the norm.
- The numbers are right for a small x, a large one, and one around 1000: take the norm that you have
  written, or mind its accuracy.
- After `.to(dtype)` the module takes and returns that dtype: float32, float64 or bfloat16.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- `copy.deepcopy` of the module works, and the next call may have another batch and another length.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.1 for the residual sum and the norm, 5.4 ("Residual
  Dropout") for the dropout. Both orders are compared in "On Layer Normalization in the Transformer
  Architecture" by Xiong and others (2020).
- PyTorch: the argument `norm_first` of `torch.nn.TransformerEncoderLayer`.

## Questions to ask your code

- In pre-norm, is it `x` that you add, or the normalised `x`?
- If the sublayer returns zeros, what should come out in each of the two orders?
- What exactly is dropped: the result of the sublayer, the sum, or the result of the norm?
- Does `+=` edit the `x` of the caller?
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from exercises.layer_norm import LayerNorm


class SublayerConnection(nn.Module):
    """The residual sum, the dropout and the norm around a sublayer.

    Its parameters are in `norm`, a `LayerNorm`.
    """

    def __init__(self, d_model: int, dropout: float = 0.1, norm_first: bool = False) -> None:
        """Makes the norm.

        To start: three things will be needed in `forward`. Which?

        Args:
            d_model: Features of a token.
            dropout: Probability of dropping a feature of the sublayer's result while training.
            norm_first: Whether to normalise before the sublayer, and not after the sum.
        """
        super().__init__()
        raise NotImplementedError("sublayer: SublayerConnection.__init__ is not written yet")

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch length d_model"]:
        """Applies the sublayer and adds what it finds to `x`.

        To start: write the two formulas above, one for each order.

        Args:
            x: `(B, L, d_model)`.
            sublayer: Takes and returns `(B, L, d_model)`.

        Returns:
            `(B, L, d_model)`; `x` itself stays as it was.
        """
        raise NotImplementedError("sublayer: SublayerConnection.forward is not written yet")


# Made by grader stubs, d64923d6ebcd
