"""Checks of what pieces return, without which a training can't go on."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor


class ContractError(Exception):
    """A piece of `exercise` returned something other than the exercise asks for."""

    def __init__(self, exercise: str, message: str) -> None:
        super().__init__(message)
        self.exercise = exercise


def described(value: object) -> str:
    """Return what a value is, in words, with its shape if it is a tensor."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"


def shaped(value: object, shape: tuple[int, ...], exercise: str, subject: str) -> Tensor:
    """Return the value, a tensor of the shape wanted. `subject` gave it, such as "Your model"."""
    if not isinstance(value, Tensor) or tuple(value.shape) != shape:
        raise ContractError(
            exercise, f"{subject} gives {described(value)} where {shape} is expected."
        )
    return value


def learning_rate(rate: Any, exercise: str, call: str) -> float:
    """Return the learning rate that a student's schedule gave; `call` is how it was called."""
    if isinstance(rate, Tensor) and rate.numel() == 1:
        rate = rate.item()
    if not isinstance(rate, (int, float)) or not math.isfinite(rate) or rate < 0:
        raise ContractError(exercise, f"Your {call} gives {rate!r}.")
    return float(rate)


def parameters(model: Any, exercise: str) -> list[Tensor]:
    """Return the parameters of a student's model that can learn, of which there is at least one."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    if not weights:
        raise ContractError(exercise, "Your model has no parameters that could learn.")
    return weights
