"""State as tuples in one entry; the decay's factor first; norms joined by hypot."""

from collections.abc import Iterator
from functools import reduce
from math import cos, hypot, pi

from torch import Tensor, enable_grad, no_grad, zeros_like
from torch.optim import Optimizer


def clip_gradients(parameters: Iterator, max_norm: float) -> float:
    gradients = [g for g in (getattr(p, "grad", None) for p in parameters) if g is not None]
    norm = reduce(hypot, (g.norm().item() for g in gradients), 0.0)
    for g in gradients if norm > max_norm else ():
        g.div_(norm / max_norm)
    return norm


class AdamW(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, **more):
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    def movable(self):
        for group in self.param_groups:
            yield from ((group, p) for p in group["params"] if isinstance(p.grad, Tensor))

    def step(self, closure=None):
        with enable_grad():
            loss = closure() if closure is not None else None
        with no_grad():
            for group, p in self.movable():
                t, m, v = self.state[p].get("memory", (0, zeros_like(p), zeros_like(p)))
                b1, b2 = group["betas"]
                t, m, v = t + 1, b1 * m + (1 - b1) * p.grad, b2 * v + (1 - b2) * p.grad * p.grad
                self.state[p]["memory"] = t, m, v
                # The correction of v and eps, both put on the other side of the fraction.
                root = (1 - b2**t) ** 0.5
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] / (1 - b1**t) * root * m / (v.sqrt() + group["eps"] * root))
        return loss


def cosine_rate(step: int, max_rate: float, min_rate: float, warmup: int, total: int) -> float:
    match step:
        case early if early < warmup:
            return max_rate * early / warmup
        case late if late >= total:
            return min_rate
    weight = (1 + cos(pi * (step - warmup) / (total - warmup))) / 2
    return weight * max_rate + (1 - weight) * min_rate
