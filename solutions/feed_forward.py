"""The feed-forward network: process each token on its own, between two attentions.

In attention, tokens exchange information, but a weighted average of values is all that attention
computes. The feed-forward network adds what is missing: a non-linear function of each token, and
most of the model's capacity.

It works on every token separately: a linear map widens the token's vector from `d_model` to `d_ff`
features, an **activation** (a non-linear function of each number) is applied, and a second linear
map brings it back to `d_model`. All tokens share the same two maps and none sees another, so the
paper calls the network **position-wise**.

The paper uses `d_ff = 4 * d_model`, and most models have kept that ratio. Then the two maps hold
8 * d_model² weights and attention holds 4 * d_model²: about two thirds of an encoder layer's
parameters are here.

## Formula

    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2

`max(0, …)` is the activation called **ReLU**. BERT and GPT-2 use **GELU** instead,

    GELU(x) = x * Φ(x)

where `Φ(x)` is the probability that a normally distributed random number is below `x` (written out
in `activations`). Here GELU is the exact form, not the tanh approximation. Many of today's models,
such as Llama, use a gated SiLU, which needs a third linear map. During training, dropout acts on
what comes out of the activation.

## Shapes

    x                          (B, L, d_model)
    after linear1              (B, L, d_ff)
    after the activation       (B, L, d_ff)
    after dropout              (B, L, d_ff)
    after linear2              (B, L, d_model)

## With a pencil

One token with two features, and three features inside. The rows of `linear1` compute the first
feature, the second, and their sum: 1, -2 and -1. ReLU leaves 1, 0, 0. The rows of `linear2` turn
that into 1 * 1 = 1 and 4 * 1 = 4, and its bias adds 10 to both.

    >>> import torch
    >>> ffn = FeedForward(d_model=2, d_ff=3, dropout=0.0)
    >>> ffn.linear1.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> ffn.linear1.bias.data = torch.tensor([0.0, 0.0, 0.0])
    >>> ffn.linear2.weight.data = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> ffn.linear2.bias.data = torch.tensor([10.0, 10.0])
    >>> ffn(torch.tensor([[[1.0, -2.0]]])).detach()
    tensor([[[11., 14.]]])

## What the exercise asks

- `linear1` and `linear2` are `nn.Linear`s with biases; there is nothing else with parameters.
- `activation` is `"relu"` or `"gelu"` (the exact one). Any other value raises `ValueError`.
- A token gives the same result alone, at a different position or in a different batch.
- Dropout acts between the activation and `linear2`, during training only, and nowhere else.
- The residual sum and the norm around this network belong to `sublayer`.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 3.3, equation (2). GELU is from "Gaussian Error Linear
  Units" by Hendrycks and Gimpel (2016).
- PyTorch: `linear1`, `dropout` and `linear2` inside `torch.nn.TransformerEncoderLayer`;
  `torch.nn.ReLU` and `torch.nn.GELU`.

## Questions to ask your code

- What would two linear maps amount to, with nothing between them?
- With an activation at the end, what happens to outputs that should be negative?
- With one of the two activations, dropout could just as well come before it; with the other it
  could not. Which is which, and why?
- Which of its two forms does PyTorch's GELU use, if you don't say?
"""

from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    """Apply two linear maps with an activation between them to every token.

    Parts: `linear1` (`d_model` to `d_ff`) and `linear2` (`d_ff` to `d_model`).
    """

    def __init__(
        self, d_model: int, d_ff: int, dropout: float = 0.1, activation: str = "relu"
    ) -> None:
        """Create the two maps and choose the activation.

        To start: `nn.Linear`, `nn.Dropout`, and one of `nn.ReLU` and `nn.GELU`.

        Args:
            d_model: Number of features of a token, before and after.
            d_ff: Number of features inside.
            dropout: Probability of dropping a feature inside, during training.
            activation: `"relu"` or `"gelu"`.

        Raises:
            ValueError: If `activation` is neither of the two.
        """
        super().__init__()
        ### BEGIN SOLUTION
        if activation not in ("relu", "gelu"):
            raise ValueError(f'activation is "relu" or "gelu", not {activation!r}')
        self.linear1 = nn.Linear(d_model, d_ff)
        self.activation = nn.ReLU() if activation == "relu" else nn.GELU()
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(d_ff, d_model)
        ### END SOLUTION

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the network to each token.

        To start: follow the list under "Shapes" above, line by line.

        Args:
            x: `(B, L, d_model)`.

        Returns:
            `(B, L, d_model)`.
        """
        ### BEGIN SOLUTION
        # Why this way: dropout scales what it keeps, and gelu(2x) is not 2 gelu(x).
        hidden = self.dropout(self.activation(self.linear1(x)))
        return self.linear2(hidden)
        ### END SOLUTION
