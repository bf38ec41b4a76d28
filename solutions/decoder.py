"""The decoder: writing a sentence while reading another.

A decoder layer has three steps. The words written so far exchange what they know (self-attention,
with a mask that hides the future). Then each of them looks at the sentence that the encoder has
read (cross-attention: the queries come from here, keys and values from there). Then each works on
it alone (the feed-forward network). Each step has a sublayer connection of its own. The decoder is
a stack of such layers.

## Formula

    DecoderLayer(x, memory):   x = sublayers[0](x, self-attention)
                               x = sublayers[1](x, cross-attention to memory)
                               x = sublayers[2](x, feed-forward)

    Decoder(x, memory):        x = layer(x, memory)   for each layer
                               x = norm(x)            in pre-norm only

`memory` is the output of the encoder. Every layer looks at the same one, and no layer changes it.

## Shapes

    x                          (B, Lt, d_model)   the target: what is being written
    memory                     (B, Ls, d_model)   the source: what has been read
    tgt_mask                   broadcasts to (B, n_heads, Lt, Lt); True = may be looked at
    memory_mask                broadcasts to (B, n_heads, Lt, Ls); True = may be looked at
    result                     (B, Lt, d_model)

## With a pencil

Set all weights to zero, then let the cross-attention pass values on as they are. Without queries
and keys all scores are zero, so each target token gets the plain average of the memory that it may
look at: the third token is hidden, and the mean of (2, 0) and (4, 6) is (3, 3). In pre-norm this is
added to `x`.

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

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others.
- Each mask may have any shape that broadcasts: `(B, 1, 1, Lt)` or `(Lt, Lt)` for example. It holds
  in every layer. A query that may look at nothing gets finite numbers, not NaN, and changes no
  other row.
- Dropout acts on the weights of both attentions, inside the feed-forward network, and on what each
  sublayer returns before the sum; while training only.
- The numbers are those of torch's layer, also for one token, one head, small or large x, an x
  around 1000, and scores of up to a thousand.
- Gradients flow back to x, to the memory and to every parameter.
- After `.to(dtype)` the module takes and returns that dtype: float32, float64 or bfloat16.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- `copy.deepcopy` of the module works, and the next call may have another batch and another length.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.1, "Decoder", section 3.2.3, and the right half of
  figure 1.
- PyTorch: `torch.nn.TransformerDecoderLayer(batch_first=True)` and `torch.nn.TransformerDecoder`
  give the same with the same weights.

## Questions to ask your code

- In cross-attention, which of query, key and value come from `x`, and which from `memory`?
- Which mask belongs to which attention? Would you notice a mix-up if both sentences were equally
  long?
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
    """Self-attention, then cross-attention to the memory, then the feed-forward network.

    Its parts are `self_attn` and `cross_attn` (each a `MultiHeadAttention`), `feed_forward` (a
    `FeedForward`), and `sublayers`, a list of three `SublayerConnection`s, one for each.
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

        To start: what does a decoder layer have that an encoder layer has not?

        Args:
            d_model: Features of a token, in `x` and in the memory.
            n_heads: Heads of both attentions.
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
        """Looks at what is written, then at what was read, then works on it.

        To start: three lines, one for each sublayer, as in the encoder layer.

        Args:
            x: `(B, Lt, d_model)`.
            memory: `(B, Ls, d_model)`, the output of the encoder.
            tgt_mask: For self-attention; broadcasts to `(B, n_heads, Lt, Lt)`.
            memory_mask: For cross-attention; broadcasts to `(B, n_heads, Lt, Ls)`.

        Returns:
            `(B, Lt, d_model)`.
        """
        ### BEGIN SOLUTION
        x = self.sublayers[0](x, lambda y: self.self_attn(y, y, y, tgt_mask))
        x = self.sublayers[1](x, lambda y: self.cross_attn(y, memory, memory, memory_mask))
        return self.sublayers[2](x, self.feed_forward)
        ### END SOLUTION


class Decoder(nn.Module):
    """A stack of decoder layers.

    Its parts are `layers`, a list of `DecoderLayer`s that share no parameter, and `norm`: a
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

        To start: the encoder shows the way.

        Args:
            num_layers: How many layers.
            d_model: Features of a token, in `x` and in the memory.
            n_heads: Heads of both attentions.
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
        """Sends the target through all layers; each looks at the same memory.

        To start: what changes from layer to layer, and what stays?

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
