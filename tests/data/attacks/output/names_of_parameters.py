# Registers parameters and buffers under names that turn a terminal's text around.
# exercise: layer_norm
import torch
from torch import nn

NAMES = (
    "\x1b[2J\x1b]0;owned\x07",
    "\u202eright",
    "[red]bold[/red]",
    "=cmd|' /C calc'!A0",
    "n" * 9999,
)


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        for name in NAMES:
            self._parameters[name] = nn.Parameter(torch.ones(d_model))
            self._buffers[f"b{name}"] = torch.ones(d_model)
            vars(self)[f"v{name}"] = torch.ones(d_model)

    def forward(self, x):
        return x
