"""The decoder, in a form that shows nothing of how an encoder is written."""

from typing import ClassVar

from torch import Tensor, nn

from grader.curriculum.given.wrapped import WrappedLayer, WrappedStack

# The rest stands alone, below what the other file holds.


class DecoderLayer(WrappedLayer):
    """An `nn.TransformerDecoderLayer` under the names of the exercise `decoder`."""

    kind = nn.TransformerDecoderLayer
    attentions: ClassVar = {"self_attn": "self_attn", "cross_attn": "multihead_attn"}

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Return `(B, Lt, d_model)`; the masks are True where a position may be attended to."""
        return self.run(x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)


class Decoder(WrappedStack):
    """A stack of `DecoderLayer`s."""

    kind = DecoderLayer
