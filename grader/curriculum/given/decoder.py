"""The decoder, in a form that shows nothing of how an encoder is written."""

from torch import Tensor, nn

from grader.curriculum.given.wrapped import WrappedLayer, WrappedStack

# The rest stands alone, below what the other file holds.


class DecoderLayer(WrappedLayer):
    """An `nn.TransformerDecoderLayer` under the names of the exercise `decoder`."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        names = {"self_attn": "self_attn", "cross_attn": "multihead_attn"}
        sizes = (d_model, n_heads, d_ff, dropout, activation, norm_first)
        super().__init__(nn.TransformerDecoderLayer, names, *sizes)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """`(B, Lt, d_model)`; the masks are True where a position may be looked at."""
        return self.run(x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)


class Decoder(WrappedStack):
    """A stack of `DecoderLayer`s."""

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
        sizes = (d_model, n_heads, d_ff, dropout, activation, norm_first)
        super().__init__([DecoderLayer(*sizes) for _ in range(num_layers)], d_model, norm_first)
