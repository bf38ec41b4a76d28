# Put your code where NotImplementedError is. Then: pytest exercises/test_encoder.py
"""The encoder: turn the source sentence into one vector per token that knows its context.

All the parts are there; now they are put together. The encoder reads the whole source at once, and
what it returns, the **memory**, is all that the rest of the model ever sees of the source.

An encoder layer has two sublayers. In **self-attention** the tokens of the sentence exchange
information: query, key and value all come from the same tokens. Then the feed-forward network
processes each token on its own. Each sublayer is wrapped in a sublayer connection of its own.

The encoder is a stack of such layers, equal in form, each with weights of its own. One layer mixes
each token with all others; the next can build on that mixture.

## Formula

    EncoderLayer(x):   x = connection 0 around self-attention
                       x = connection 1 around the feed-forward network

    Encoder(x):        x = layer(x)   for each layer
                       x = norm(x)    in pre-norm only

In post-norm every layer has normalised its output already, so `norm` is None. In pre-norm nothing
has normalised the sum that leaves the last layer, so the encoder does it once, at the end.

## Shapes

    x                          (B, L, d_model)
    mask                       broadcasts to (B, n_heads, L, L); True = may be attended to
    result                     (B, L, d_model)

## With a pencil

Set all weights of attention and feed-forward network to zero, so that both sublayers output zero.
Only the residual path remains. In pre-norm the layer then returns its input, and the encoder the
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

And count the parameters of one layer. Attention has 4 maps of 4 * 4 weights and 4 biases, together
80. The feed-forward network has 4 * 8 + 8 + 8 * 4 + 4 = 76. The two norms have 2 * (4 + 4) = 16.
That makes 172.

    >>> sum(parameter.numel() for parameter in encoder.layers[0].parameters())
    172

## What the exercise asks

- With the same weights, the values are those of `nn.TransformerEncoderLayer`, even for a single
  token, a single head, a small or large x, an x around 1000, and scores of up to a thousand.
- The mask may have any shape that broadcasts, such as `(B, 1, 1, L)`, `(L, L)` or
  `(n_heads, L, L)`, and it holds in every layer. A query with nothing to attend to gets finite
  numbers, not NaN, and affects no other row.
- Dropout acts on the attention weights, inside the feed-forward network, and on what each sublayer
  returns, before the sum; during training only.
- The layers share no parameters.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`F.scaled_dot_product_attention`, `F.multi_head_attention_forward`, `nn.MultiheadAttention`,
`nn.TransformerEncoderLayer`, `nn.TransformerDecoderLayer`, `nn.TransformerEncoder`,
`nn.TransformerDecoder` and `nn.Transformer`. Build the layer from your own `MultiHeadAttention`;
`nn.Linear` is fine.

## Where to read

- Paper, "Attention Is All You Need": section 3.1, "Encoder", and the left half of figure 1.
- PyTorch: `torch.nn.TransformerEncoderLayer(batch_first=True)` and `torch.nn.TransformerEncoder`
  return the same with the same weights.
- A picture of it: exercises/pictures/encoder.svg.

## Questions to ask your code

- Does each sublayer have its own connection, and so its own norm?
- Do the layers share a parameter? What would `[layer] * num_layers` do?
- Does the optimiser find the layers? What is the difference between a list and an `nn.ModuleList`?
- Do `dropout`, `activation` and `norm_first` reach every part that needs them?
- Does the mask reach every layer?
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


class EncoderLayer(nn.Module):
    """Apply self-attention, then the feed-forward network, each in its connection.

    Parts: `self_attn` (a `MultiHeadAttention`), `feed_forward` (a `FeedForward`), and `sublayers`,
    a list of two `SublayerConnection`s, one around each.
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
        """Create the parts.

        To start: an `nn.ModuleList` holds the two connections.

        Args:
            d_model: Number of features of a token.
            n_heads: Number of attention heads.
            d_ff: Number of features inside the feed-forward network.
            dropout: Dropout probability of every part that has a dropout.
            activation: `"relu"` or `"gelu"`, for the feed-forward network.
            norm_first: Whether the connections use pre-norm.

        Raises:
            ValueError: If `d_model` is not divisible by `n_heads`, or `activation` is unknown.
        """
        super().__init__()
        raise NotImplementedError("encoder: EncoderLayer.__init__ is not written yet")

    def forward(
        self, x: Float[Tensor, "batch length d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the two sublayers, one after the other.

        To start: a connection expects a function of one argument, attention has four. A `lambda`
        can fill in the others.

        Args:
            x: `(B, L, d_model)`.
            mask: Booleans that broadcast to `(B, n_heads, L, L)`; True = may be attended to.

        Returns:
            `(B, L, d_model)`.
        """
        raise NotImplementedError("encoder: EncoderLayer.forward is not written yet")


class Encoder(nn.Module):
    """Apply a stack of encoder layers.

    Parts: `layers`, a list of `EncoderLayer`s that share no parameter, and `norm`: a `LayerNorm` in
    pre-norm, None in post-norm.
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
        """Create the layers, and in pre-norm the norm after them.

        To start: how do you make `num_layers` *different* layers?

        Args:
            num_layers: Number of layers.
            d_model: Number of features of a token.
            n_heads: Number of attention heads.
            d_ff: Number of features inside the feed-forward network.
            dropout: Dropout probability of every part that has a dropout.
            activation: `"relu"` or `"gelu"`, for the feed-forward network.
            norm_first: Whether the connections use pre-norm.

        Raises:
            ValueError: If `d_model` is not divisible by `n_heads`, or `activation` is unknown.
        """
        super().__init__()
        raise NotImplementedError("encoder: Encoder.__init__ is not written yet")

    def forward(
        self, x: Float[Tensor, "batch length d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply all layers in turn.

        To start: a loop. And what comes after it?

        Args:
            x: `(B, L, d_model)`.
            mask: Booleans that broadcast to `(B, n_heads, L, L)`; True = may be attended to.

        Returns:
            `(B, L, d_model)`.
        """
        raise NotImplementedError("encoder: Encoder.forward is not written yet")


# Made by grader stubs, 5cfd97ebc25c
