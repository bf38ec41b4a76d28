"""Computes in float64 and keeps no m and v, but sums of weighted gradients that are corrected."""

import math

import torch
from torch import nn


def clip_gradients(parameters, max_norm):
    parameters = [*parameters]
    flat = nn.utils.parameters_to_vector(
        [p.grad.double() for p in parameters if p.grad is not None] or [torch.zeros(1)]
    )
    norm = float(flat @ flat) ** 0.5
    if norm > max_norm:
        for p in parameters:
            if p.grad is not None:
                p.grad = (p.grad.double() / norm * max_norm).to(p.dtype)
    return norm


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, locals()["self"].options(lr, betas, eps, weight_decay))

    @staticmethod
    def options(lr, betas, eps, weight_decay):
        return {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay}

    def step(self, closure=None):
        loss = None if closure is None else self.evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                past = self.state[p].setdefault("gradients", [])
                past.append(p.grad.detach().double().clone())
                beta1, beta2 = group["betas"]
                weights1 = [beta1 ** (len(past) - 1 - k) for k in range(len(past))]
                weights2 = [beta2 ** (len(past) - 1 - k) for k in range(len(past))]
                mean = sum(w * g for w, g in zip(weights1, past, strict=True)) / sum(weights1)
                square = sum(w * g * g for w, g in zip(weights2, past, strict=True)) / sum(weights2)
                value = p.detach().double()
                value = value - group["lr"] * group["weight_decay"] * value
                value = value - group["lr"] * mean / (square.sqrt() + group["eps"])
                with torch.no_grad():
                    p.copy_(value)
        return loss

    @torch.enable_grad()
    def evaluate(self, closure):
        return closure()


def cosine_rate(step, max_rate, min_rate, warmup, total):
    table = [max_rate * number / warmup for number in range(warmup)]
    table += [
        min_rate + (1 + math.cos(math.pi * number / (total - warmup))) / 2 * (max_rate - min_rate)
        for number in range(total - warmup + 1)
    ]
    return table[step] if step < len(table) else min_rate
