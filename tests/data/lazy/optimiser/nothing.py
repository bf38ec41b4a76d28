import torch


def clip_gradients(parameters, max_norm):
    return None


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        return None


def cosine_rate(step, max_rate, min_rate, warmup, total):
    return None
