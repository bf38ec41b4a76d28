# Loads torch's own optimiser a second time, from its file and under another name.
# exercise: optimiser
# isolation: jail
import math
from pathlib import Path

import torch
from torch import optim


def clip_gradients(parameters, max_norm):
    return 0.0


source = Path(optim.__file__).with_name("adam.py").read_text()
names = {"__name__": "torch.optim.again", "__package__": "torch.optim"}
exec(compile(source, "again.py", "exec"), names)


class AdamW(names["Adam"]):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, lr, betas, eps, weight_decay, decoupled_weight_decay=True)


def cosine_rate(step, max_rate, min_rate, warmup, total):
    if step < warmup:
        return max_rate * step / warmup
    share = min(1.0, (step - warmup) / (total - warmup))
    return min_rate + (1 + math.cos(math.pi * share)) / 2 * (max_rate - min_rate)
