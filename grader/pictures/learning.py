"""The panels of the exercises in which a model learns: optimiser and training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.pictures.panels import Answers, Kind, Panel, filled, floats, numbered

_RATE_STEPS = floats(range(0, 121, 2))
_STEPS = 60
_WALK = floats(range(_STEPS + 1))
_LOOP_STEPS = 30
_PAD = 0


def _rates(get: Answers) -> Tensor:
    rate = get("optimiser").cosine_rate
    return torch.tensor(
        [
            [float(rate(int(step), 1.0, low, warmup, 100)) for step in _RATE_STEPS]
            for low, warmup in ((0.0, 10), (0.2, 10), (0.0, 0))
        ]
    )


def _walk(get: Answers) -> Tensor:
    """Return the course of four weights that start at 1: two slopes, without and with decay."""
    answer = get("optimiser")
    weights = [nn.Parameter(torch.ones(2)) for _ in range(2)]
    groups = [{"params": [weights[0]], "weight_decay": 0.0}, {"params": [weights[1]]}]
    optimiser = answer.AdamW(groups, lr=0.03, weight_decay=1.0)
    slopes, bottom = torch.tensor([1.0, 100.0]), 0.5
    points = [torch.cat([weight.detach().clone() for weight in weights])]
    for _ in range(_STEPS):
        for weight in weights:
            weight.grad = slopes * (weight.detach() - bottom)
        optimiser.step()
        points.append(torch.cat([weight.detach().clone() for weight in weights]))
    return torch.stack(points, dim=1)


def _clipped(get: Answers) -> Tensor:
    rows = []
    for limit in (6.0, 4.0, 2.0, 1.0):
        weight, bias = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(1))
        weight.grad, bias.grad = torch.tensor([2.0, -2.0, 1.0]), torch.tensor([4.0])
        norm = get("optimiser").clip_gradients([weight, bias], limit)
        rows.append(torch.cat([weight.grad, bias.grad, torch.tensor([float(norm)])]))
    return torch.stack(rows)


class _Copier(nn.Module):
    """A model so small that it learns within seconds: each label by the token that was read."""

    pad_id = _PAD

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(6, 6))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:  # noqa: ARG002
        """(B, L, 6)."""
        scores = self.weight[tgt]
        # As dropout would, but always the same: in training mode the logits are smaller.
        return scores * 0.5 if self.training else scores


class _Descent:
    """Gradient descent, without what torch imports for an optimiser."""

    def __init__(self, model: nn.Module) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": [*model.parameters()], "lr": 0.0}]

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: ARG002
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        loss = None if closure is None else closure()
        (group,) = self.param_groups
        for weight in group["params"]:
            weight.data -= group["lr"] * weight.grad
        return loss


def _loss(logits: Tensor, labels: Tensor) -> Tensor:
    words = labels != _PAD
    return -logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1))[..., 0][words].mean()


_BATCHES = [
    (torch.tensor([[1]]), torch.tensor([[1, 2, 3, 4, 5]])),
    (torch.tensor([[1], [1]]), torch.tensor([[1, 2, 4], [1, 5, _PAD]])),
    (torch.tensor([[1]]), torch.tensor([[2, 3]])),
]


def _fitted(get: Answers) -> Tensor:
    rows = []
    for rate, max_norm in ((2.0, None), (6.0, None), (6.0, 0.1)):
        model = filled(_Copier())
        with torch.enable_grad():
            losses = get("training_loop").fit(
                model,
                _BATCHES[:1],
                _Descent(model),
                _loss,
                _falling(rate),
                _LOOP_STEPS,
                max_norm,
            )
        rows.append([float(loss) for loss in losses])
    return torch.tensor(rows)


def _falling(first: float) -> Callable[[int], float]:
    """Return a schedule that begins with this rate."""
    return lambda step: first / step**0.5


def _evaluated(get: Answers) -> Tensor:
    """Return the loss on the first batch, on the first two, and on all three."""
    model = filled(_Copier())
    evaluate = get("training_loop").evaluate
    losses = [evaluate(model, _BATCHES[:count], _loss) for count in (1, 2, 3)]
    return torch.tensor([[float(loss) for loss in losses]])


def _moved(get: Answers) -> Tensor:
    """Return the weights after two steps on one batch."""
    model = filled(_Copier())
    optimiser = _Descent(model)
    optimiser.param_groups[0]["lr"] = 1.0
    with torch.enable_grad():
        for _ in range(2):
            get("training_loop").train_step(model, *_BATCHES[0], optimiser, _loss)
    moved: Tensor = model.weight.detach()
    return moved


PANELS: dict[str, tuple[Panel, ...]] = {
    "optimiser": (
        Panel(
            "cosine_rate",
            "rates",
            _rates,
            Kind.CURVES,
            ("warmup 10", "warmup 10, minimum 0.2", "no warmup"),
            _RATE_STEPS,
            "rate",
            "step",
        ),
        Panel(
            "AdamW: weights walk from 1 to the bottom at 0.5",
            "weights",
            _walk,
            Kind.CURVES,
            ("flat", "steep", "flat, with decay", "steep, with decay"),
            _WALK,
            "weight",
            "step",
            tolerance=0.01,  # the decay may come before or after the update
        ),
        Panel(
            "clip_gradients: four gradients whose norm is 5",
            "gradients and norm",
            _clipped,
            rows=("max_norm 6", "max_norm 4", "max_norm 2", "max_norm 1"),
            columns=("weight 0", "weight 1", "weight 2", "bias", "norm"),
        ),
    ),
    "training_loop": (
        Panel(
            "fit: the loss of each step on one sentence",
            "losses",
            _fitted,
            Kind.CURVES,
            ("rate 2/√step", "rate 6/√step", "rate 6/√step, clipped to 0.1"),
            floats(range(1, _LOOP_STEPS + 1)),
            "loss",
            "step",
        ),
        Panel(
            "evaluate: the loss on some of the batches",
            "losses",
            _evaluated,
            rows=("loss",),
            columns=("1 batch", "2 batches", "3 batches"),
        ),
        Panel(
            "train_step: the weights after two steps on one sentence",
            "weights",
            _moved,
            rows=numbered("read", 6),
            columns=numbered("next", 6),
        ),
    ),
}
