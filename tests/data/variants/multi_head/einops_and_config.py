"""A frozen dataclass for the sizes, einops for the axes, the maps under a second name as well."""

from dataclasses import dataclass

from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn

from exercises.attention import attention


@dataclass(frozen=True)
class MHAConfig:
    d_model: int
    n_heads: int
    dropout: float
    bias: bool

    def __post_init__(self):
        if self.d_model % self.n_heads != 0:
            raise ValueError("n_heads has to divide d_model")


def split_heads(x: Float[Tensor, "b l d"], n_heads: int) -> Float[Tensor, "b h l e"]:
    return rearrange(x, "b l (h e) -> b h l e", h=n_heads)


def merge_heads(x: Float[Tensor, "b h l e"]) -> Float[Tensor, "b l d"]:
    return rearrange(x, "b h l e -> b l (h e)")


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        self.config = cfg = MHAConfig(d_model, n_heads, dropout, bias)
        self.inputs = nn.ModuleList(nn.Linear(d_model, d_model, bias=cfg.bias) for _ in range(3))
        self.q_proj, self.k_proj, self.v_proj = self.inputs
        self.out_proj = nn.Linear(d_model, d_model, bias=cfg.bias)
        self.tail = nn.Sequential(nn.Identity(), self.out_proj)
        self.drop = nn.Dropout(cfg.dropout)

    def forward(
        self,
        query: Float[Tensor, "b q d"],
        key: Float[Tensor, "b k d"],
        value: Float[Tensor, "b k d"],
        mask: Bool[Tensor, "..."] | None = None,
        **ignored: object,
    ) -> Float[Tensor, "b q d"]:
        q, k, v = (
            split_heads(linear(x), self.config.n_heads)
            for linear, x in zip(self.inputs, (query, key, value), strict=True)
        )
        out, _ = attention(query=q, key=k, value=v, mask=mask, dropout=self.drop)
        return self.tail(merge_heads(out))
