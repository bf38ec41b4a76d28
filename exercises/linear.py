# Put your code where NotImplementedError is. Then: pytest exercises/test_linear.py
"""Linear maps: the layer that nearly all weights of a Transformer live in.

A linear layer makes new features out of old ones. Each new feature is a weighted sum of all old
ones, plus a number of its own. Queries, keys, values, both halves of the feed-forward network and
the last step to the vocabulary are such layers, and nothing else in the model mixes features. From
here on you take PyTorch's; this once you write your own.

## Formula

    y = x Wᵀ + b                 y_o = x_1 W_o1 + … + x_in W_o,in + b_o

Row `o` of `W` holds the weights of output `o`, as in PyTorch. A token is a *row* of `x`, and that
is why `W` is transposed: its rows must meet the row `x`.

How to start? If all weights were zero, all outputs would be alike, and so would their gradients:
they would stay alike for ever. So the weights are drawn at random, and how large they are matters.
A sum of `in` random terms grows like `√in`. Taking weights that are smaller by that factor, here
uniformly distributed between `-1/√in` and `1/√in`, makes up for it, so that a layer with many
inputs gives numbers of about the same size as one with few.

## Shapes

    x                          (..., in_features)
    weight                     (out_features, in_features)
    bias                       (out_features,)
    result                     (..., out_features)

The dots stand for any number of axes, none included. All tokens share one map.

## With a pencil

Two features become three: the first one, the second one, and their sum. The bias adds 10 to the
last.

    >>> linear = Linear(2, 3)
    >>> linear.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> linear.bias.data = torch.tensor([0.0, 0.0, 10.0])
    >>> linear(torch.tensor([[3.0, 4.0], [5.0, 6.0]])).detach()
    tensor([[ 3.,  4., 17.],
            [ 5.,  6., 21.]])

And why `1/√in`: with 100 inputs of size one, every weight is at most 0.1, and the result has about
the size that it has with 4 inputs and weights up to 0.5.

    >>> _ = torch.manual_seed(0)
    >>> many, few = Linear(100, 1000, bias=False), Linear(4, 1000, bias=False)
    >>> round(many(torch.ones(100)).std().item(), 1), round(few(torch.ones(4)).std().item(), 1)
    (0.6, 0.6)

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others.
- Two layers start with different numbers: set no seed.
- Gradients flow back to x, weight and bias.
- After `.to(dtype)` the module takes and returns that dtype: float32, float64 or bfloat16.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- `copy.deepcopy` of the module works, and the next call may have another batch and another length.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## What may not be used

`nn.Linear`, `F.linear`, `nn.Bilinear` and `F.bilinear` would do it for you; here they cost the
exercise. `@`, `matmul` and `einsum` are fine, and so is `nn.init`.

## Where to read

- Paper, "Attention Is All You Need": the maps W of sections 3.2.2, 3.3 and 3.4. For the start, see
  "Efficient BackProp" by LeCun, Bottou, Orr and Müller (1998), section 4.6.
- PyTorch: `torch.nn.Linear` is the same thing. Its source asks for `kaiming_uniform_` with
  `a = √5`, which is the same `1/√in`, in disguise.

## Questions to ask your code

- Would you notice a missing transpose if `in_features` were equal to `out_features`?
- What is in a tensor that `torch.empty` made, before somebody fills it?
- Does the bound of the bias come from the number of inputs or from that of outputs?
- Without a bias, what does `linear.bias` give: None, or an error?
- You may write `y += bias`, and it is right. Of which tensors would `x += …` not be?
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Linear(nn.Module):
    """A linear map of the last axis, the same for all tokens.

    Its parameters are `weight`, `(out_features, in_features)`, and `bias`, `(out_features,)`.
    Without a bias, the attribute `bias` is None.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        """Draws weight and bias from the uniform distribution within ±1/√in_features, both.

        To start: `torch.empty` makes a tensor of a shape, its method `uniform_` fills it, and
        `nn.Parameter` makes it trainable.

        Args:
            in_features: Features that come in.
            out_features: Features that go out.
            bias: Whether a number is added to each output.
        """
        super().__init__()
        raise NotImplementedError("linear: Linear.__init__ is not written yet")

    def forward(self, x: Float[Tensor, "... in_features"]) -> Float[Tensor, "... out_features"]:
        """Maps the last axis.

        To start: a matrix product works on the last axis of `x` and leaves all others alone.

        Args:
            x: `(..., in_features)`, of the dtype of the weights; it stays as it was.

        Returns:
            `(..., out_features)` of the same dtype.
        """
        raise NotImplementedError("linear: Linear.forward is not written yet")


# Made by grader stubs, 5dac238b66da
