"""A dataclass for the options, static methods for the two formulas, typed to the teeth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from torch import Tensor, nn

from exercises.layer_norm import LayerNorm

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Options:
    d_model: int
    dropout: float = 0.1
    norm_first: bool = False


class SublayerConnection(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, norm_first: bool = False) -> None:
        super().__init__()
        self.options: Final = Options(d_model, dropout, norm_first)
        self.norm = LayerNorm(self.options.d_model)
        self.dropout = nn.Dropout(self.options.dropout)

    @staticmethod
    def pre(x: Tensor, f: Function, norm: Function, drop: Function) -> Tensor:
        return sum([drop(f(norm(x)))], start=x)

    @staticmethod
    def post(x: Tensor, f: Function, norm: Function, drop: Function) -> Tensor:
        return norm(sum([drop(f(x))], start=x))

    def forward(self, x: Tensor, sublayer: Function) -> Tensor:
        formula = self.pre if self.options.norm_first else self.post
        return formula(x, sublayer, self.norm.forward, self.dropout.forward)
