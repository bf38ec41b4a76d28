"""编码器：数据类配置、断言、打印、中文注释。"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from torch import Tensor, nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


@dataclass
class 配置:
    d_model: int
    n_heads: int
    d_ff: int
    dropout: float = 0.1
    activation: Literal["relu", "gelu"] = "relu"
    norm_first: bool = False

    def __post_init__(self) -> None:
        assert self.d_model % self.n_heads == 0, "维度必须能被头数整除"


class EncoderLayer(nn.Module):
    # 一层：先自注意力，再前馈网络
    def __init__(self, *参数, **选项) -> None:
        super().__init__()
        c = 配置(*参数, **选项)
        self.self_attn = MultiHeadAttention(c.d_model, c.n_heads, c.dropout)
        self.feed_forward = FeedForward(c.d_model, c.d_ff, c.dropout, c.activation)
        self.sublayers = nn.ModuleList(
            [SublayerConnection(c.d_model, c.dropout, c.norm_first) for _ in range(2)]
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        assert x.ndim == 3, x.shape

        def 注意力(输入: Tensor) -> Tensor:
            return self.self_attn(输入, 输入, 输入, mask)

        for 连接, 函数 in zip(self.sublayers, (注意力, self.feed_forward), strict=True):
            x = 连接(x, 函数)
        return x


class Encoder(nn.Module):
    def __init__(self, num_layers: int, *参数, **选项) -> None:
        super().__init__()
        c = 配置(*参数, **选项)
        print(f"编码器：{num_layers} 层")
        self.layers = nn.ModuleList([EncoderLayer(**asdict(c)) for _ in range(num_layers)])
        self.norm = LayerNorm(c.d_model) if c.norm_first else None

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for 层 in self.layers:
            x = 层.forward(x, mask=mask)
        return x if self.norm is None else self.norm(x)
