# Registers parameters without end.
# exercise: layer_norm
import itertools

from torch import nn


class LayerNorm(nn.LayerNorm):
    def named_parameters(self, *args, **kwargs):
        for number in itertools.count():
            yield f"weight{number}", self.weight
