"""Comparing gradients with what small steps of the inputs do to the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from grader.feedback.comparison import assert_matches
from grader.feedback.mismatch import Mismatch
from grader.feedback.tensors import as_tensor

_CUT = (
    "The result has lost its connection to {name}. Is there a `detach`, `.data`, `.item()`, "
    "`torch.no_grad()` or torch.tensor(...) on the way?"
)
_PART = (
    "Small changes to {name} don't change the result as this gradient says. Is part of the "
    "computation cut off by a `detach`, `.data` or `torch.no_grad()`?"
)
# In float32 the noise of a result is about 1e-7, so a step must not be much smaller.
_STEP = 1e-2
_TOLERANCE, _NOISE = 2e-2, 1e-3


def assert_gradients(call: Callable[[], object], given: Mapping[str, Tensor], subject: str) -> None:
    """Check the gradients of what `call` returns, called `subject` in messages.

    `given` are the tensors that it uses, by name: parameters, or tensors that require gradients.
    Each of their numbers is moved by a small step, so they should hold few. Raises `Mismatch`.
    """
    __tracebackhide__ = True

    def total() -> Tensor:
        output = call()
        as_tensor(output, subject, "")
        assert isinstance(output, Tensor)
        # With weights that differ, since a softmax or a norm may fix the plain sum.
        return (output * torch.linspace(-1.0, 2.0, output.numel()).view_as(output)).sum()

    result = total()
    gradients: tuple[Tensor | None, ...] = (None,) * len(given)
    if result.requires_grad:
        gradients = torch.autograd.grad(result, list(given.values()), allow_unused=True)
    for (name, tensor), received in zip(given.items(), gradients, strict=True):
        if received is None:
            raise Mismatch(
                f"{name} receives no gradient from {subject}.", help=_CUT.format(name=name)
            )
        expected = _by_steps(lambda: total().item(), tensor)
        limit = _TOLERANCE * expected.abs().max().item() + _NOISE
        help = _PART.format(name=name)
        assert_matches(received, expected, f"gradient of {name}", help=help, atol=limit)


@torch.no_grad()
def _by_steps(total: Callable[[], float], tensor: Tensor) -> Tensor:
    """Return the gradient of `total` as differences: half a step forward, half a step back."""
    slopes = torch.empty(tensor.shape)
    for number in range(tensor.numel()):
        flat = tensor.detach().view(-1)
        before = flat[number].clone()
        flat[number] = before + _STEP / 2
        above = total()
        flat[number] = before - _STEP / 2
        below = total()
        flat[number] = before
        slopes.view(-1)[number] = (above - below) / _STEP
    return slopes
