"""SwiGLU: a feed-forward network with a gate.

The feed-forward network of 2017 takes each token through a linear map, a ReLU and a second linear
map. In 2020 Shazeer tried one with *two* maps at the start, whose outputs are multiplied: one
decides, feature by feature, how much of the other passes. Such a **gate** makes models better at
the same size, and Llama and most language models since then use it.

`gate_proj` computes the gate and `up_proj` what is to pass through it. The gate goes through
**SiLU** (also called Swish), the number times its own sigmoid: nearly zero for large negative
numbers, nearly the number itself for large positive ones, and smooth in between. `down_proj` brings
the product back to `d_model` features. There are three matrices instead of two, so models with such
a network often take two thirds of the usual `d_ff`.

## Formula

    SwiGLU(x)  = down_proj(silu(gate_proj(x)) * up_proj(x))

    silu(z)    = z * sigmoid(z)
    sigmoid(z) = 1 / (1 + e⁻ᶻ)

The star is the product number by number.

## Shapes

    x, result                                       (..., d_model)
    gate_proj(x), up_proj(x)                        (..., d_ff)
    gate_proj.weight, up_proj.weight                (d_ff, d_model)
    down_proj.weight                                (d_model, d_ff)

PyTorch keeps the weight of a linear map as (out, in).

## With a pencil

e to the power of ln 3 is 3, so sigmoid(ln 3) is 1 / (1 + 1/3) = 3/4, and silu(ln 3) is 0.75 times
1.0986, which is 0.8240. One feature x = ln 3, a gate of x itself, up_proj doubling and down_proj
multiplying by 10: 0.8240 * 2.1972 * 10 = 18.104.

    >>> network = SwiGLU(1, 1)
    >>> for part, number in ((network.gate_proj, 1), (network.up_proj, 2), (network.down_proj, 10)):
    ...     part.weight = nn.Parameter(torch.tensor([[float(number)]]))
    >>> network(torch.tensor([3.0]).log()).detach()
    tensor([18.1042])

## What the exercise asks

- The three parts are `nn.Linear`, called `gate_proj`, `up_proj` and `down_proj`. They have no bias,
  or with `bias=True` each has one.
- The result and all gradients stay finite when the gate's numbers are up to 1000 in size, on either
  side. `torch.sigmoid` does that by itself; a formula with `exp` in it may not.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper: "GLU Variants Improve Transformer" by Shazeer (2020), equations (5) and (6).
- PyTorch: `torch.nn.functional.silu` has the function's formula, `torch.nn.Linear` the shapes.

## Questions to ask your code

- Which of the two goes through SiLU? Swap the weights of `gate_proj` and `up_proj`: the result
  should change.
- What is the result if `up_proj` gives zeros? What if `gate_proj` does?
- How does SiLU differ from its sigmoid? What are both for a gate of 10?
- How many biases does your module have, with `bias=False` and with `bias=True`?
- What is e to the power of 1000 in float32, and what does it do to your gradients?
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class SwiGLU(nn.Module):
    """Let one linear map of each token decide how much of another comes through.

    Its parts are `gate_proj`, `up_proj` and `down_proj`.
    """

    def __init__(self, d_model: int, d_ff: int, bias: bool = False) -> None:
        """Create the three linear maps.

        To start: between which sizes does each of them go? `nn.Linear` takes first the size that
        comes in.

        Args:
            d_model: Features of a token.
            d_ff: Features inside.
            bias: Whether the three maps have biases.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Take every token through the gated network, on its own.

        To start: give the gate's numbers a name of their own; the formula needs them twice.

        Args:
            x: `(..., d_model)`.

        Returns:
            The same shape and dtype.
        """
        ### BEGIN SOLUTION
        gate = self.gate_proj(x)
        return self.down_proj(gate * torch.sigmoid(gate) * self.up_proj(x))
        ### END SOLUTION
