"""Keeps its means in float32, whatever the parameters are, and gradients of another dtype stop it."""

import math

import torch


def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    squares = torch.zeros(1)
    for gradient in gradients:
        squares += gradient.float().square().sum()
    norm = squares.sqrt()
    if norm.item() > max_norm:
        for gradient in gradients:
            gradient.copy_(gradient / norm.item() * max_norm)
    return norm


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=1e-2):
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    def step(self, closure=None):
        with torch.enable_grad():
            loss = None if closure is None else closure()
        with torch.inference_mode(False), torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.move(p, group)
        return loss

    def move(self, p, group):
        state = self.state[p]
        if len(state) == 0:
            state["n"], state["a"], state["b"] = 0, torch.zeros(p.shape), torch.zeros(p.shape)
        state["n"] += 1
        first, second = group["betas"]
        torch.lerp(p.grad, state["a"], first, out=state["a"])
        torch.lerp(p.grad.square(), state["b"], second, out=state["b"])
        mean = state["a"] / (1 - math.pow(first, state["n"]))
        square = state["b"] / (1 - math.pow(second, state["n"]))
        step = mean / (square.sqrt() + group["eps"]) + group["weight_decay"] * p
        p.sub_(step, alpha=group["lr"])


def cosine_rate(step, max_rate, min_rate, warmup, total):
    if step > total:
        return min_rate
    if warmup and step < warmup:
        return step * max_rate / warmup
    # cos(2x) = 2 cos²(x) - 1
    return min_rate + math.cos(math.pi / 2 * (step - warmup) / (total - warmup)) ** 2 * (
        max_rate - min_rate
    )
