"""The norm lives in an nn.Sequential as well, so that its parameters have two names."""

from torch import nn

from exercises.layer_norm import LayerNorm


class SublayerConnection(nn.Module):
    def __init__(self, d_model, dropout=0.1, norm_first=False):
        super().__init__()
        self.norm = LayerNorm(d_model)
        nothing = nn.Identity()
        self.before = nn.Sequential(self.norm if norm_first else nothing)
        self.middle = nn.Sequential(nn.Dropout(dropout))
        self.after = nn.Sequential(nothing if norm_first else self.norm)

    def forward(self, x, sublayer):
        return self.after(x + self.middle(sublayer(self.before(x))))
