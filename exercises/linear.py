# Put your code where NotImplementedError is. Then: pytest exercises/test_linear.py
"""Linear maps: the layers that hold nearly all weights of a Transformer.

A linear layer computes new features from old ones. Queries, keys and values, the output of
multi-head attention, both halves of the feed-forward network and the last step to the vocabulary
are such layers.

Each new feature is a weighted sum of all old features plus a number of its own, the **bias**. The
other exercises take PyTorch's layer; here you write your own.

How should the weights start? If all of them were zero, all outputs would be equal, and so would
their gradients: the outputs would stay equal forever. So the weights are drawn at random, and their
size matters. A sum of `in` random terms grows like `√in`. Weights drawn uniformly between `-1/√in`
and `1/√in` make up for that, so a layer with many inputs gives numbers of about the same size as a
layer with few.

## Formula

    y = x Wᵀ + b                 y_o = x_1 W_o1 + … + x_in W_o,in + b_o

    at the start                 W and b uniform between -1/√in and 1/√in

Row `o` of `W` holds the weights of output `o`, as in PyTorch. A token is a *row* of `x`, so `W` is
transposed: the product pairs the row of `x` with a row of `W`.

## Shapes

    x                          (..., in_features)
    weight                     (out_features, in_features)
    bias                       (out_features,)
    result                     (..., out_features)

The dots stand for any number of axes, including none. All tokens share the same map.

## With a pencil

Two features become three: the first one, the second one, and their sum. The bias adds 10 to the
last.

    >>> linear = Linear(2, 3)
    >>> linear.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> linear.bias.data = torch.tensor([0.0, 0.0, 10.0])
    >>> linear(torch.tensor([[3.0, 4.0], [5.0, 6.0]])).detach()
    tensor([[ 3.,  4., 17.],
            [ 5.,  6., 21.]])

And why `1/√in`: with 100 inputs, every weight is at most 0.1 in size; with 4 inputs, at most 0.5.
The results have about the same size.

    >>> _ = torch.manual_seed(0)
    >>> many, few = Linear(100, 1000, bias=False), Linear(4, 1000, bias=False)
    >>> round(many(torch.ones(100)).std().item(), 1), round(few(torch.ones(4)).std().item(), 1)
    (0.6, 0.6)

## What the exercise asks

- A module `Linear` with the parameters `weight` and `bias`, in the shapes above. With `bias=False`
  the attribute `bias` is None and `weight` is the only parameter.
- Weight and bias are both drawn uniformly within ±1/√in_features. Two layers start with different
  numbers, so don't set a seed.
- Inputs have any number of axes, including a single token of shape `(in_features,)`.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`nn.Linear`, `F.linear`, `nn.Bilinear` and `F.bilinear`. Write the product and the bias yourself;
`@`, `matmul`, `einsum` and `nn.init` are fine.

## Where to read

- Paper, "Attention Is All You Need": the matrices W of sections 3.2.2, 3.3 and 3.4. For the
  initial weights, see "Efficient BackProp" by LeCun, Bottou, Orr and Müller (1998), section 4.6.
- PyTorch: `torch.nn.Linear` is the same layer. Its source calls `kaiming_uniform_` with `a = √5`,
  which is `1/√in` in disguise.

## Questions to ask your code

- Would you notice a missing transpose if `in_features` were equal to `out_features`?
- What does a tensor from `torch.empty` contain before you fill it?
- Is the bias drawn within a bound made from the number of inputs, or of outputs?
- Without a bias, what does `linear.bias` give: None, or an error?
- `y += bias` is fine when `y` is a tensor that you have just created. For which tensors would `+=`
  be a mistake?
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
        """Draw weight and bias from the uniform distribution within ±1/√in_features.

        To start: `torch.empty` creates a tensor of a given shape, its method `uniform_` fills it,
        and `nn.Parameter` makes it trainable.

        Args:
            in_features: Number of input features.
            out_features: Number of output features.
            bias: Whether a number is added to each output.
        """
        super().__init__()
        raise NotImplementedError("linear: Linear.__init__ is not written yet")

    def forward(self, x: Float[Tensor, "... in_features"]) -> Float[Tensor, "... out_features"]:
        """Map the last axis.

        To start: a matrix product acts on the last axis of `x` and leaves all others alone.

        Args:
            x: `(..., in_features)`, in the dtype of the weights; don't modify it.

        Returns:
            `(..., out_features)` in the same dtype.
        """
        raise NotImplementedError("linear: Linear.forward is not written yet")


# Made by grader stubs, 818ce30c6eb6
