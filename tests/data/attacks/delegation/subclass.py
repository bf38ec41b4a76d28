# Renames torch's own layer.
# exercise: layer_norm
from torch import nn


class LayerNorm(nn.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)
