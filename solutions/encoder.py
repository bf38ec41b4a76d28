"""The encoder: reading the sentence, several times over.

All the parts are there; here they are put together. In an encoder layer the tokens first exchange
what they know (self-attention: query, key and value all come from the same sentence), then each of
them works on it alone (the feed-forward network). Both steps are wrapped in a sublayer connection.
The encoder is a stack of such layers, equal in form, each with weights of its own.

## Formula

    EncoderLayer(x):   x = sublayers[0](x, self-attention)
                       x = sublayers[1](x, feed-forward)

    Encoder(x):        x = layer(x)   for each layer
                       x = norm(x)    in pre-norm only

In pre-norm nothing has normalised the sum that leaves the last layer, so the encoder does it once,
at the end. In post-norm that has been done, and `norm` is None.

## Shapes

    x                          (B, L, d_model)
    mask                       broadcasts to (B, n_heads, L, L); True = may be looked at
    result                     (B, L, d_model)

## With a pencil

Set all weights of attention and feed-forward to zero, so that both sublayers find nothing. What is
left is the road past them. In pre-norm the layer then hands back its input, and the encoder the
normalised input: the mean of 1, 1, 5, 5 is 3, and the variance 4.

    >>> import torch
    >>> x = torch.tensor([[[1.0, 1.0, 5.0, 5.0]]])
    >>> encoder = Encoder(2, d_model=4, n_heads=2, d_ff=8, dropout=0.0, norm_first=True)
    >>> for layer in encoder.layers:
    ...     for part in (layer.self_attn, layer.feed_forward):
    ...         for parameter in part.parameters():
    ...             _ = nn.init.zeros_(parameter)
    >>> encoder.layers[0](x).detach()
    tensor([[[1., 1., 5., 5.]]])
    >>> encoder(x).detach()
    tensor([[[-1.0000, -1.0000,  1.0000,  1.0000]]])

And count the numbers that one layer can learn. The attention has 4 maps of 4 * 4 weights and 4
biases, together 80. The feed-forward network has 4 * 8 + 8 + 8 * 4 + 4 = 76. The two norms have
2 * (4 + 4) = 16. That makes 172.

    >>> sum(parameter.numel() for parameter in encoder.layers[0].parameters())
    172

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others.
- The mask may have any shape that broadcasts: `(B, 1, 1, L)` or `(L, L)` for example. It holds in
  every layer. A query that may look at nothing gets finite numbers, not NaN, and changes no other
  row.
- Dropout acts on the attention weights, inside the feed-forward network, and on what each sublayer
  returns before the sum; while training only.
- The numbers are those of torch's layer, also for one token, one head, small or large x, an x
  around 1000, and scores of up to a thousand.
- Gradients flow back to x and to every parameter.
- After `.to(dtype)` the module takes and returns that dtype: float32, float64 or bfloat16.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- `copy.deepcopy` of the module works, and the next call may have another batch and another length.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.1, "Encoder", and the left half of figure 1.
- PyTorch: `torch.nn.TransformerEncoderLayer(batch_first=True)` and `torch.nn.TransformerEncoder`
  give the same with the same weights.

## Questions to ask your code

- Has each sublayer a connection, and so a norm, of its own?
- Do the layers share a parameter? What would `[layer] * num_layers` do?
- Does the optimiser find the layers? What is the difference between a list and an `nn.ModuleList`?
- Do `dropout`, `activation` and `norm_first` reach every part that needs them?
- Does the mask reach every layer?
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from solutions.feed_forward import FeedForward
from solutions.layer_norm import LayerNorm
from solutions.multi_head import MultiHeadAttention
from solutions.sublayer import SublayerConnection


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network.

    Its parts are `self_attn` (a `MultiHeadAttention`), `feed_forward` (a `FeedForward`), and
    `sublayers`, a list of two `SublayerConnection`s, one for each.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        """Makes the parts.

        To start: an `nn.ModuleList` holds the two connections.

        Args:
            d_model: Features of a token.
            n_heads: Heads of the attention.
            d_ff: Features inside the feed-forward network.
            dropout: Probability of dropping, in every part that has a dropout.
            activation: `"relu"` or `"gelu"`, for the feed-forward network.
            norm_first: Whether the connections normalise first.

        Raises:
            ValueError: `d_model` is not divisible by `n_heads`, or `activation` is another.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList(
            SublayerConnection(d_model, dropout, norm_first) for _ in range(2)
        )
        ### END SOLUTION

    def forward(
        self, x: Float[Tensor, "batch length d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch length d_model"]:
        """Lets the tokens exchange what they know, then work on it.

        To start: a connection wants a function of one argument, attention has four. A `lambda` can
        fill in the others.

        Args:
            x: `(B, L, d_model)`.
            mask: Booleans that broadcast to `(B, n_heads, L, L)`, True = may be looked at.

        Returns:
            `(B, L, d_model)`.
        """
        ### BEGIN SOLUTION
        x = self.sublayers[0](x, lambda y: self.self_attn(y, y, y, mask))
        return self.sublayers[1](x, self.feed_forward)
        ### END SOLUTION


class Encoder(nn.Module):
    """A stack of encoder layers.

    Its parts are `layers`, a list of `EncoderLayer`s that share no parameter, and `norm`: a
    `LayerNorm` in pre-norm, None in post-norm.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        """Makes the layers, and the last norm if there is one.

        To start: how do you make `num_layers` *different* layers?

        Args:
            num_layers: How many layers.
            d_model: Features of a token.
            n_heads: Heads of the attention.
            d_ff: Features inside the feed-forward network.
            dropout: Probability of dropping, in every part that has a dropout.
            activation: `"relu"` or `"gelu"`, for the feed-forward network.
            norm_first: Whether the connections normalise first.

        Raises:
            ValueError: `d_model` is not divisible by `n_heads`, or `activation` is another.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first)
            for _ in range(num_layers)
        )
        self.norm = LayerNorm(d_model) if norm_first else None
        ### END SOLUTION

    def forward(
        self, x: Float[Tensor, "batch length d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch length d_model"]:
        """Sends the sentence through all layers.

        To start: a loop. And what is done after it?

        Args:
            x: `(B, L, d_model)`.
            mask: Booleans that broadcast to `(B, n_heads, L, L)`, True = may be looked at.

        Returns:
            `(B, L, d_model)`.
        """
        ### BEGIN SOLUTION
        for layer in self.layers:
            x = layer(x, mask)
        if self.norm is not None:
            x = self.norm(x)
        return x
        ### END SOLUTION
