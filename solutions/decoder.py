"""The decoder: predict the target token by token, attending to the source.

The encoder has read the source. The decoder works on the target, and at each position it needs two
things: what has been written before that position, and what the source says.

So a decoder layer has three sublayers. In **self-attention** each target token attends to the
target tokens up to itself; a causal mask hides the future. In **cross-attention** each target token
attends to the source: the queries come from the target, keys and values from the encoder's output,
the **memory**. Then the feed-forward network processes each token on its own. Each sublayer has a
sublayer connection of its own.

The decoder is a stack of such layers. Every layer attends to the same memory, and none changes it.

## Formula

    DecoderLayer(x, memory):   x = connection 0 around self-attention
                               x = connection 1 around cross-attention to the memory
                               x = connection 2 around the feed-forward network

    Decoder(x, memory):        x = layer(x, memory)   for each layer
                               x = norm(x)            in pre-norm only

## Shapes

    x                          (B, Lt, d_model)   the target: what is being written
    memory                     (B, Ls, d_model)   the source: what the encoder has read
    tgt_mask                   broadcasts to (B, n_heads, Lt, Lt); True = may be attended to
    memory_mask                broadcasts to (B, n_heads, Lt, Ls); True = may be attended to
    result                     (B, Lt, d_model)

## With a pencil

Set all weights to zero, then let cross-attention pass its values on unchanged. Queries and keys are
zero, so all scores are equal, and each target token receives the plain average of the memory tokens
it may attend to. The third one is hidden, and the mean of (2, 0) and (4, 6) is (3, 3). In pre-norm
this is added to `x`.

    >>> import torch
    >>> layer = DecoderLayer(d_model=2, n_heads=1, d_ff=4, dropout=0.0, norm_first=True)
    >>> for part in (layer.self_attn, layer.cross_attn, layer.feed_forward):
    ...     for parameter in part.parameters():
    ...         _ = nn.init.zeros_(parameter)
    >>> _ = nn.init.eye_(layer.cross_attn.v_proj.weight)
    >>> _ = nn.init.eye_(layer.cross_attn.out_proj.weight)
    >>> x = torch.tensor([[[1.0, 1.0]]])
    >>> memory = torch.tensor([[[2.0, 0.0], [4.0, 6.0], [100.0, 100.0]]])
    >>> memory_mask = torch.tensor([[[[True, True, False]]]])
    >>> layer(x, memory, memory_mask=memory_mask).detach()
    tensor([[[4., 4.]]])

## What the exercise asks

- With the same weights, the values are those of `nn.TransformerDecoderLayer`, even for a single
  token, a single head, a small or large x, an x around 1000, and scores of up to a thousand.
- Each mask may have any shape that broadcasts, such as `(B, 1, 1, Lt)`, `(Lt, Lt)` or
  `(n_heads, Lt, Lt)`, and it holds in every layer. A query with nothing to attend to gets finite
  numbers, not NaN, and affects no other row.
- Dropout acts on the weights of both attentions, inside the feed-forward network, and on what each
  sublayer returns, before the sum; during training only.
- The layers share no parameters. Gradients flow back to the memory as well, or the encoder could
  not learn.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 3.1, "Decoder", section 3.2.3, and the right half of
  figure 1.
- PyTorch: `torch.nn.TransformerDecoderLayer(batch_first=True)` and `torch.nn.TransformerDecoder`
  return the same with the same weights.
- A picture of it: exercises/pictures/decoder.svg.

## Questions to ask your code

- In cross-attention, which of query, key and value come from `x`, and which from `memory`?
- Which mask belongs to which attention? Would you notice a mix-up if both sentences had the same
  length?
- In pre-norm, what is normalised before cross-attention: `x`, `memory`, or both?
- How many norms does a layer have? Is each of them used exactly once?
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from solutions.feed_forward import FeedForward
from solutions.layer_norm import LayerNorm
from solutions.multi_head import MultiHeadAttention
from solutions.sublayer import SublayerConnection


class DecoderLayer(nn.Module):
    """Apply self-attention, cross-attention and the feed-forward network, each in its connection.

    Parts: `self_attn` and `cross_attn` (each a `MultiHeadAttention`), `feed_forward` (a
    `FeedForward`), and `sublayers`, a list of three `SublayerConnection`s, one around each.
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

        To start: what does a decoder layer have that an encoder layer doesn't?

        Args:
            d_model: Number of features of a token, in `x` and in the memory.
            n_heads: Number of heads of both attentions.
            d_ff: Number of features inside the feed-forward network.
            dropout: Dropout probability of every part that has a dropout.
            activation: `"relu"` or `"gelu"`, for the feed-forward network.
            norm_first: Whether the connections use pre-norm.

        Raises:
            ValueError: If `d_model` is not divisible by `n_heads`, or `activation` is unknown.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.cross_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList(
            SublayerConnection(d_model, dropout, norm_first) for _ in range(3)
        )
        ### END SOLUTION

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        tgt_mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Apply the three sublayers, one after the other.

        To start: three lines, one per sublayer, as in the encoder layer.

        Args:
            x: `(B, Lt, d_model)`.
            memory: `(B, Ls, d_model)`, the output of the encoder.
            tgt_mask: For self-attention; broadcasts to `(B, n_heads, Lt, Lt)`.
            memory_mask: For cross-attention; broadcasts to `(B, n_heads, Lt, Ls)`.

        Returns:
            `(B, Lt, d_model)`.
        """
        ### BEGIN SOLUTION
        # Why this way: a connection normalises only `y`; the memory is used as it comes.
        x = self.sublayers[0](x, lambda y: self.self_attn(y, y, y, tgt_mask))
        x = self.sublayers[1](x, lambda y: self.cross_attn(y, memory, memory, memory_mask))
        return self.sublayers[2](x, self.feed_forward)
        ### END SOLUTION


class Decoder(nn.Module):
    """Apply a stack of decoder layers.

    Parts: `layers`, a list of `DecoderLayer`s that share no parameter, and `norm`: a `LayerNorm` in
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

        To start: this works as in the encoder.

        Args:
            num_layers: Number of layers.
            d_model: Number of features of a token, in `x` and in the memory.
            n_heads: Number of heads of both attentions.
            d_ff: Number of features inside the feed-forward network.
            dropout: Dropout probability of every part that has a dropout.
            activation: `"relu"` or `"gelu"`, for the feed-forward network.
            norm_first: Whether the connections use pre-norm.

        Raises:
            ValueError: If `d_model` is not divisible by `n_heads`, or `activation` is unknown.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            DecoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first)
            for _ in range(num_layers)
        )
        self.norm = LayerNorm(d_model) if norm_first else None
        ### END SOLUTION

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        tgt_mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Apply all layers in turn, each with the same memory and masks.

        To start: what changes from layer to layer, and what stays the same?

        Args:
            x: `(B, Lt, d_model)`.
            memory: `(B, Ls, d_model)`, the output of the encoder.
            tgt_mask: For self-attention; broadcasts to `(B, n_heads, Lt, Lt)`.
            memory_mask: For cross-attention; broadcasts to `(B, n_heads, Lt, Ls)`.

        Returns:
            `(B, Lt, d_model)`.
        """
        ### BEGIN SOLUTION
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask)
        if self.norm is not None:
            x = self.norm(x)
        return x
        ### END SOLUTION
