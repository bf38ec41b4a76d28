"""The order is a bound method that is chosen once, in __init__."""

from torch import nn

from exercises.layer_norm import LayerNorm


class SublayerConnection(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, norm_first: bool = False):
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.drop = nn.Dropout(p=dropout)
        self.order = {True: "_pre", False: "_post"}[bool(norm_first)]

    def forward(self, x, sublayer):
        return getattr(self, self.order)(x, sublayer)

    def _pre(self, x, f):
        return self.drop(f(self.norm(x))) + x

    def _post(self, x, f):
        return self.norm(self.drop(f(x)) + x)
