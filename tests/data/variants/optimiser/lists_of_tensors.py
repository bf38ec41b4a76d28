"""All parameters of a group at once, by torch's functions for lists of tensors."""

import torch


def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    if len(gradients) == 0:
        return torch.zeros(())
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, torch.clamp(max_norm / (norm + 1e-6), max=1.0))
    return norm


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            there = [p for p in group["params"] if p.grad is not None]
            if not there:
                continue
            for p in there:
                if not self.state[p]:
                    self.state[p].update(
                        step=torch.zeros((), dtype=torch.float64),
                        exp_avg=torch.zeros_like(p),
                        exp_avg_sq=torch.zeros_like(p),
                    )
                self.state[p]["step"] += 1
            steps = [self.state[p]["step"].item() for p in there]
            gradients = [p.grad for p in there]
            means = [self.state[p]["exp_avg"] for p in there]
            squares = [self.state[p]["exp_avg_sq"] for p in there]
            beta1, beta2 = group["betas"]
            torch._foreach_mul_(there, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_lerp_(means, gradients, 1 - beta1)
            torch._foreach_mul_(squares, beta2)
            torch._foreach_addcmul_(squares, gradients, gradients, value=1 - beta2)
            roots = torch._foreach_sqrt(squares)
            torch._foreach_div_(roots, [(1 - beta2**t) ** 0.5 for t in steps])
            torch._foreach_add_(roots, group["eps"])
            torch._foreach_addcdiv_(
                there, means, roots, [-group["lr"] / (1 - beta1**t) for t in steps]
            )
        return loss


def cosine_rate(step, max_rate, min_rate, warmup, total):
    if warmup > step:
        return max_rate * (step / warmup)
    share = min(1.0, (step - warmup) / (total - warmup))
    half = (max_rate - min_rate) / 2
    return min_rate + half + half * torch.cos(torch.tensor(torch.pi * share)).item()
