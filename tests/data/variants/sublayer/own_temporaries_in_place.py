"""Adds in place, but only to a tensor of its own."""

from torch import nn

from exercises.layer_norm import LayerNorm


class SublayerConnection(nn.Module):
    def __init__(self, d_model, dropout=0.1, norm_first=False, verbose=False, **ignored):
        super().__init__()
        if verbose:
            print("d_model", d_model)
        self.add_module("norm", LayerNorm(d_model=d_model))
        self.dropout = nn.Dropout(dropout, inplace=False)
        self.norm_first = norm_first

    def forward(self, x, sublayer, *args, **kwargs):
        if self.norm_first is True or self.norm_first == 1:
            found = 1 * self.dropout(sublayer(self.norm(x), *args, **kwargs))
            found += x
            return found
        found = self.dropout(sublayer(x, *args, **kwargs)).clone()
        found += x
        return self.norm(found)
