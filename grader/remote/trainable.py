"""The objects that checks of training pass to a student's code: a model, a loss, an optimiser.

None knows what is expected. Each is deterministic, so that what a step made of the parameters tells
whether it was the right one: no record has to be believed for that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.remote.translator import Translator


def without_compiler(kind: type[Optimizer]) -> None:
    """Take torch's compiler off the methods of a class of optimisers.

    They keep it from tracing them, for which they import it: a second and 800 modules, as soon as
    the first optimiser of a process is made. Nothing is compiled here.
    """
    for name, method in [*vars(kind).items()]:
        if inspect.isfunction(method) and hasattr(method, "__wrapped__"):
            setattr(kind, name, inspect.unwrap(method))


without_compiler(Optimizer)


class WithGradients(nn.Module):
    """A module whose parameters can be given gradients, and asked for them."""

    def set_gradients(self, gradients: Mapping[str, Tensor | None]) -> None:
        """Put gradients into the parameters so named, as `backward` does; None takes one away."""
        for name, gradient in gradients.items():
            parameter = self.get_parameter(name)
            parameter.grad = None if gradient is None else gradient.to(parameter.dtype)

    def gradients(self) -> dict[str, Tensor | None]:
        """Return the gradients that the parameters hold."""
        return {name: parameter.grad for name, parameter in self.named_parameters()}


class Quadratic(WithGradients):
    """Half the sum of the squares of its parameters, each of which is its own gradient."""

    def __init__(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Make a parameter of each shape, by name."""
        super().__init__()
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.ones(tuple(shape))))
        self.evaluations = 0

    def forward(self) -> Tensor:
        """Return the value."""
        return torch.stack([parameter.square().sum() / 2 for parameter in self.parameters()]).sum()

    def closure(self) -> Tensor:
        """Return a closure for `step`, which recomputes the gradients and returns the loss."""
        self.evaluations += 1
        self.zero_grad()
        value: Tensor = self()
        torch.autograd.backward(value)
        return value


class Learner(WithGradients, Translator):
    """A `Translator` that is another function in training mode: there, its first feature is zero.

    That is what dropout does, but for chance. `calls` has an item for each call: whether the model
    was in training mode, and whether autograd recorded what it did.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.calls: list[tuple[bool, bool]] = []

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """(B, Lt, d_model)."""
        states = super().decode(tgt, memory, src)
        self.calls.append((self.training, states.requires_grad))
        if self.training:
            states = states * (torch.arange(states.size(-1)) > 0)
        return states


class MeanLoss:
    """Return the mean over labels that are not padding of a loss that is quadratic in the logits.

    It has no softmax, which some exercises forbid in the same process.
    """

    def __init__(self, pad_id: int, vocab_size: int) -> None:
        self.pad_id = pad_id
        self.vocab_size = vocab_size

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss, a tensor without axes, of logits (B, L, V) and labels (B, L)."""
        given = f"logits of shape {tuple(logits.shape)} and labels of shape {tuple(labels.shape)}"
        if logits.dim() != 3:
            raise RuntimeError(f"the loss takes logits with three axes; it was given {given}")
        if logits.size(-1) != self.vocab_size:
            raise RuntimeError(f"the last axis of the logits is not the vocabulary: {given}")
        if labels.shape != logits.shape[:2]:
            raise RuntimeError(
                f"the loss needs a row of logits for each label; it was given {given}"
            )
        word = labels != self.pad_id
        scores = logits.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        losses = logits.square().mean(-1) - scores
        return losses[word].mean()


class Momentum(Optimizer):
    """Gradient descent with momentum 1/2, by the learning rate of each group.

    Not plain gradient descent, so that it shows if somebody moves the parameters without it.
    """

    def __init__(self, params: Iterable[Any], lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr})
        # For each call of `step`, how many parameters had a gradient then.
        self.steps: list[int] = []

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:  # type: ignore[override]
        """Return one update."""
        value = torch.enable_grad()(closure)() if closure else None
        held = [(weight, group["lr"]) for group in self.param_groups for weight in group["params"]]
        moving = [(weight, rate) for weight, rate in held if weight.grad is not None]
        self.steps.append(len(moving))
        for weight, rate in moving:
            velocity = weight.grad + 0.5 * self.state[weight].get("velocity", 0.0)
            self.state[weight]["velocity"] = velocity
            weight.sub_(velocity, alpha=rate)
        return value


class Rates:
    """A schedule: the rate at step t is number t of a list, or its last after the end."""

    def __init__(self, rates: Sequence[float]) -> None:
        self.rates = rates

    def __call__(self, step: int) -> float:
        """Return the rate at a step."""
        return self.rates[min(step, len(self.rates) - 1)]
