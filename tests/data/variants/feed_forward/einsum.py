"""einsum with the raw weights; the normal distribution from torch.distributions; typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.distributions import Normal


def phi(x: Tensor) -> Tensor:
    zero, one = torch.zeros((), dtype=x.dtype), torch.ones((), dtype=x.dtype)
    return Normal(zero, one, validate_args=False).cdf(x)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: x * (x > 0),
    "gelu": lambda x: x * phi(x),
}


class FeedForward(nn.Module):
    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: Literal["relu", "gelu"] = "relu",
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"{activation!r} is not one of {sorted(ACTIVATIONS)}")
        self.act = ACTIVATIONS[activation]
        self.linear1 = nn.Linear(in_features=d_model, out_features=d_ff)
        self.drop = nn.Dropout(dropout)
        self.linear2 = nn.Linear(in_features=d_ff, out_features=d_model)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.einsum("bld,fd->blf", x, self.linear1.weight) + self.linear1.bias
        hidden = self.drop(self.act(hidden))
        return torch.einsum("blf,df->bld", hidden, self.linear2.weight) + self.linear2.bias
