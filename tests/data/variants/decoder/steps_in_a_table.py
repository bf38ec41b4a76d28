"""三个子层写成一张表，用循环依次执行；中文名字。"""

from torch import Tensor, nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


class DecoderLayer(nn.Module):
    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        for 名字 in ("self_attn", "cross_attn"):
            self.add_module(名字, MultiHeadAttention(d_model, n_heads, dropout))
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.Sequential(
            *(SublayerConnection(d_model, dropout, norm_first) for _ in range(3))
        )

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        步骤 = {
            0: lambda 输入: self.self_attn(输入, 输入, 输入, mask=tgt_mask),
            1: lambda 输入: self.cross_attn(输入, key=memory, value=memory, mask=memory_mask),
            2: self.feed_forward,
        }
        for 序号, 连接 in enumerate(self.sublayers):
            x = 连接(x, 步骤[序号])
        return x


class Decoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first)
            for _ in range(num_layers)
        )
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask)
        return x if self.norm is None else self.norm(x)
