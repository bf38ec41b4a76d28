"""The encoder, in a form that shows nothing of how a decoder is written."""

from torch import Tensor, nn

from grader.curriculum.given.wrapped import WrappedLayer, WrappedStack

# The rest stands alone, below what the other file holds.


class EncoderLayer(WrappedLayer):
    """An `nn.TransformerEncoderLayer` under the names of the exercise `encoder`."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        names = {"self_attn": "self_attn"}
        sizes = (d_model, n_heads, d_ff, dropout, activation, norm_first)
        super().__init__(nn.TransformerEncoderLayer, names, *sizes)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """`(B, L, d_model)`; the mask is True where a position may be looked at."""
        return self.run(x, src_mask=mask)


class Encoder(WrappedStack):
    """A stack of `EncoderLayer`s."""

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
        super().__init__([EncoderLayer(*sizes) for _ in range(num_layers)], d_model, norm_first)
