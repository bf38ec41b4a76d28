"""Cases of `optimiser`: parameters, gradients for several steps, and what torch makes of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.optim.adamw import adamw

from grader.checks.framework.inputs import Numbers, inputs
from grader.feedback.comparison import assert_matches
from grader.remote.proxy import RemoteModule

# The smallest first: where all are wrong, that one is shown.
SHAPES: dict[str, tuple[int, ...]] = {"scale": (), "bias": (4,), "matrix": (3, 4)}
NAMES = tuple(SHAPES)
DEFAULTS: dict[str, Any] = {
    "lr": 1e-3,
    "betas": (0.9, 0.999),
    "eps": 1e-8,
    "weight_decay": 0.01,
}

Values = dict[str, Tensor]
Gradients = dict[str, Tensor | None]


@dataclass(frozen=True)
class Group:
    """Parameters by name, and the options that the optimiser is given for them."""

    names: tuple[str, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True, repr=False)  # hypothesis would print thousands of numbers
class OptimiserCase:
    """Parameters in groups, and the gradients that they have at each step.

    `rates` are learning rates that are set before a step, a number for each group.
    """

    values: Values
    gradients: tuple[Gradients, ...]
    groups: tuple[Group, ...]
    options: Mapping[str, Any]
    rates: Mapping[int, Sequence[float]]

    @property
    def dtype(self) -> torch.dtype:
        """In which the parameters and gradients are."""
        return self.values["matrix"].dtype

    @cached_property
    def narrow(self) -> OptimiserCase:
        """The same case in float32."""
        gradients = tuple(
            {
                name: gradient if gradient is None else gradient.float()
                for name, gradient in step.items()
            }
            for step in self.gradients
        )
        values = {name: value.float() for name, value in self.values.items()}
        return replace(self, values=values, gradients=gradients)

    @cached_property
    def trajectories(self) -> list[list[Values]]:
        """The parameters after each step, in all ways that count as right.

        That is torch's own, with the decay after the update, and with eps before the bias
        correction.
        """
        return [
            self._trajectory(decay_last, early_eps)
            for early_eps, decay_last in itertools.product((False, True), repeat=2)
        ]

    def _trajectory(self, decay_last: bool, early_eps: bool) -> list[Values]:
        values = {name: value.double().clone() for name, value in self.values.items()}
        state = {
            name: (torch.zeros_like(value), torch.zeros_like(value), torch.zeros(()))
            for name, value in values.items()
        }
        after = []
        for number, gradients in enumerate(self.gradients):
            for index, group in enumerate(self.groups):
                options = {**DEFAULTS, **self.options, **group.options}
                for step in sorted(step for step in self.rates if step <= number):
                    options["lr"] = self.rates[step][index]
                for name in group.names:
                    gradient = gradients[name]
                    if gradient is not None:
                        _step(
                            values[name],
                            gradient.double(),
                            state[name],
                            options,
                            decay_last,
                            early_eps,
                        )
            after.append({name: value.clone() for name, value in values.items()})
        return after

    def made(self, student: Any) -> RemoteModule:
        """The parameters, on the student's side."""
        model: RemoteModule = student.give(
            "Quadratic", {name: [*shape] for name, shape in SHAPES.items()}
        )
        return model.to(self.dtype).load(self.values)

    def optimiser(self, student: Any, model: RemoteModule, **options: Any) -> RemoteModule:
        """The student's optimiser of these parameters."""
        groups = [
            {"params": [getattr(model, name) for name in group.names], **group.options}
            for group in self.groups
        ]
        plain = len(groups) == 1 and not self.groups[0].options
        made: RemoteModule = student.AdamW(
            groups[0]["params"] if plain else groups, **(options or self.options)
        )
        return made

    def take(
        self, model: RemoteModule, optimiser: RemoteModule, steps: Sequence[int]
    ) -> list[Values]:
        """The parameters after each of these steps of the student's optimiser."""
        after = []
        for number in steps:
            for index, rate in enumerate(self.rates.get(number, ())):
                optimiser.param_groups[index].set("lr", rate)
            model.set_gradients(self.gradients[number])
            optimiser.step.recording()
            after.append(model.weights(NAMES))
        return after


def _step(
    value: Tensor,
    gradient: Tensor,
    state: tuple[Tensor, Tensor, Tensor],
    options: Mapping[str, Any],
    decay_last: bool,
    early_eps: bool,
) -> None:
    """One step of torch's AdamW on one parameter, in place."""
    mean, square, count = state
    beta1, beta2 = options["betas"]
    eps, decay = options["eps"], options["weight_decay"]
    if early_eps:
        eps /= (1 - beta2 ** (count.item() + 1)) ** 0.5
    adamw(
        [value],
        [gradient],
        [mean],
        [square],
        [],
        [count],
        foreach=False,
        amsgrad=False,
        beta1=beta1,
        beta2=beta2,
        lr=options["lr"],
        weight_decay=0.0 if decay_last else decay,
        eps=eps,
        maximize=False,
    )
    if decay_last:
        value.mul_(1 - options["lr"] * decay)


def assert_follows(
    returned: Sequence[Values], case: OptimiserCase, first: int = 0, help: str = ""
) -> None:
    """The parameters after each step are torch's, or those of another way that is right.

    `first` is the number of the first of these steps, counted from 0.
    """
    ways = [way[first : first + len(returned)] for way in case.trajectories]
    nearest = min(ways, key=lambda way: _distance(returned, way))
    for number, (actual, wanted) in enumerate(zip(returned, nearest, strict=True), start=first + 1):
        for name in NAMES:
            assert_matches(actual[name], wanted[name], f"`{name}` after step {number}", help=help)


def _distance(returned: Sequence[Values], way: Sequence[Values]) -> float:
    """How far the parameters are from a way; infinite where they cannot be compared."""
    distance = 0.0
    for actual, wanted in zip(returned, way, strict=True):
        for name in NAMES:
            if actual[name].shape != wanted[name].shape or actual[name].is_complex():
                return torch.inf
            difference = (actual[name].double() - wanted[name]).abs().max().nan_to_num(torch.inf)
            distance = max(distance, difference.item())
    return distance


@inputs
def cases(
    draw: st.DrawFn,  # noqa: ARG001
    numbers: Numbers,
    steps: int,
    options: Mapping[str, Any],
    groups: Sequence[Group] = (Group(NAMES, {}),),
    rates: Mapping[int, Sequence[float]] | None = None,
    missing: Mapping[int, Sequence[str]] | None = None,
    zero: bool = False,
) -> OptimiserCase:
    """Gradients whose size differs from step to step and from parameter to parameter.

    At the steps of `missing` these parameters have none. With `zero` a number of the bias has
    a gradient of zero throughout, and all of them have in the last step.
    """
    values = {name: numbers.normal(name, *shape) + 1.5 for name, shape in SHAPES.items()}
    gradients: list[Gradients] = []
    for step in range(steps):
        drawn: Gradients = {}
        for size, (name, shape) in enumerate(SHAPES.items(), start=1):
            gradient = numbers.normal(f"gradient {step} of {name}", *shape)
            # No gradient is nearly zero, where it would matter how eps comes in.
            gradient = (gradient.sign() * (gradient.abs() + 0.3)) * size * (step % 3 + 1)
            if zero and name == "bias":
                gradient[0] = 0.0
                gradient *= step < steps - 1
            drawn[name] = None if name in (missing or {}).get(step, ()) else gradient
        gradients.append(drawn)
    return OptimiserCase(values, tuple(gradients), tuple(groups), options, rates or {})
