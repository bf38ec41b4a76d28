"""The encoder, in a form that shows nothing of how a decoder is written."""

from typing import ClassVar

from torch import Tensor, nn

from grader.curriculum.given.wrapped import WrappedLayer, WrappedStack

# The rest stands alone, below what the other file holds.


class EncoderLayer(WrappedLayer):
    """An `nn.TransformerEncoderLayer` under the names of the exercise `encoder`."""

    kind = nn.TransformerEncoderLayer
    attentions: ClassVar = {"self_attn": "self_attn"}

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return `(B, L, d_model)`; the mask is True where a position may be attended to."""
        return self.run(x, src_mask=mask)


class Encoder(WrappedStack):
    """A stack of `EncoderLayer`s."""

    kind = EncoderLayer
