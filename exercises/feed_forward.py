# Put your code where NotImplementedError is. Then: pytest exercises/test_feed_forward.py
# Not to be used here: nn.TransformerEncoderLayer, nn.TransformerDecoderLayer. Here you put the
# two layers together yourself; nn.Linear, nn.Dropout and F.relu are fine.
"""The feed-forward network: each token thinks for itself.

In attention the tokens exchange what they know. Then each of them works on it alone: a linear map
makes its vector wider, an activation bends it, and a second linear map makes it narrow again. All
tokens use the same two maps, and none sees another, so the paper calls it "position-wise". In the
encoder, about two thirds of a layer's parameters are here.

## Formula

    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2

`max(0, …)` is the activation called ReLU. Many later models take GELU instead,

    GELU(x) = x * Φ(x)

where `Φ(x)` is the probability that a normally distributed random number is below `x`. We take this
exact form, not the approximation by a tanh. While training, dropout acts on what comes out of the
activation.

## Shapes

    x                          (B, L, d_model)
    after linear1              (B, L, d_ff)      d_ff is often 4 * d_model
    after the activation       (B, L, d_ff)
    after dropout              (B, L, d_ff)
    after linear2              (B, L, d_model)

## With a pencil

One token with two features, three features inside. The rows of `linear1` say what is computed: the
first feature, the second, and their sum. That makes 1, -2 and -1. ReLU leaves 1, 0, 0. The rows of
`linear2` make 1 * 1 = 1 and 4 * 1 = 4 of it, and its bias adds 10 to both.

    >>> import torch
    >>> ffn = FeedForward(d_model=2, d_ff=3, dropout=0.0)
    >>> ffn.linear1.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> ffn.linear1.bias.data = torch.tensor([0.0, 0.0, 0.0])
    >>> ffn.linear2.weight.data = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> ffn.linear2.bias.data = torch.tensor([10.0, 10.0])
    >>> ffn(torch.tensor([[[1.0, -2.0]]])).detach()
    tensor([[[11., 14.]]])

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others.
- A token comes out the same alone, in another place and in another batch.
- Gradients flow back to x and all four parameters.
- Dropout acts between the activation and `linear2`, while training only, and nowhere else.
- After `.to(dtype)` the module takes and returns that dtype: float32, float64 or bfloat16.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- `copy.deepcopy` of the module works, and the next call may have another batch and another length.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.3, equation (2). GELU is from "Gaussian Error Linear
  Units" by Hendrycks and Gimpel (2016).
- PyTorch: `linear1`, `dropout` and `linear2` inside `torch.nn.TransformerEncoderLayer`; and
  `torch.nn.ReLU`, `torch.nn.GELU`.

## Questions to ask your code

- What would two linear maps with nothing between them amount to?
- What happens to the negative numbers that should come out if there is an activation at the end?
- With one of the two activations, dropout could just as well come before it; with the other it
  could not. Which is which, and why?
- Which of its two forms does PyTorch's GELU take if you do not tell it?
"""

from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    """Two linear maps with an activation between them, the same for every token.

    Its parameters are in `linear1` (`d_model` to `d_ff`) and `linear2` (`d_ff` to `d_model`).
    """

    def __init__(
        self, d_model: int, d_ff: int, dropout: float = 0.1, activation: str = "relu"
    ) -> None:
        """Makes the two maps and chooses the activation.

        To start: `nn.Linear`, `nn.Dropout`, and one of `nn.ReLU` and `nn.GELU`.

        Args:
            d_model: Features of a token, before and after.
            d_ff: Features inside.
            dropout: Probability of dropping a feature inside while training.
            activation: `"relu"` or `"gelu"`.

        Raises:
            ValueError: `activation` is another.
        """
        super().__init__()
        raise NotImplementedError("feed_forward: FeedForward.__init__ is not written yet")

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Widens, bends and narrows each token.

        To start: follow the list under "Shapes" above, line by line.

        Args:
            x: `(B, L, d_model)`.

        Returns:
            `(B, L, d_model)`.
        """
        raise NotImplementedError("feed_forward: FeedForward.forward is not written yet")


# Made by grader stubs, 107bafc9f48e
