"""What a probe is: a short look at a piece of a model, beside torch's own.

They say which exercise to look at when a model does not learn; they give no points. A probe runs
the student's piece on a few numbers and says in a sentence what it measured, if that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from grader.capstone.events import Fault

B, H, LQ, LK, D, FF, V = 2, 2, 4, 5, 8, 12, 11
NEAR = 1e-4
Probe = Callable[[Any], Iterator[str]]
PROBES: dict[str, list[Probe]] = {}


def probe(exercise: str) -> Callable[[Probe], Probe]:
    """Marks a function that yields a sentence for each thing that is wrong with a module."""

    def add(function: Probe) -> Probe:
        PROBES.setdefault(exercise, []).append(function)
        return function

    return add


def faults(modules: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with these modules, by exercise; the first thing that each probe finds."""
    found = []
    for exercise, module in modules.items():
        for one in PROBES.get(exercise, []):
            name = one.__name__.replace("_", " ")
            with torch.random.fork_rng():
                torch.manual_seed(0)
                try:
                    told = next(one(module), None)
                except Exception as error:
                    said = " ".join(str(error).split())[:200]
                    told = f"called with a few numbers, it ends with {type(error).__name__}: {said}"
            if told is not None:
                found.append(Fault(exercise, name, told))
    return found


def differ(yours: Any, expected: Tensor) -> bool:
    """Whether a result is no tensor of that shape, or has other numbers."""
    if not isinstance(yours, Tensor) or yours.shape != expected.shape:
        return True
    largest = max(1.0, expected.detach().abs().max().item())
    return not bool((yours.double() - expected.double()).abs().max() <= NEAR * largest)


def unreached(output: Tensor, inputs: Mapping[str, Tensor]) -> list[str]:
    """Which of these tensors the gradient of the output does not reach."""
    cotangent = torch.randn_like(output)
    if not output.requires_grad:
        return list(inputs)
    found = torch.autograd.grad(
        output, list(inputs.values()), cotangent, retain_graph=True, allow_unused=True
    )
    return [
        name
        for name, gradient in zip(inputs, found, strict=True)
        if gradient is None or not gradient.any()
    ]


def cut_off(output: Tensor, module: nn.Module) -> Iterator[str]:
    """A sentence if the output's gradient does not reach some of the module's parameters."""
    # A bias of the keys moves all scores of a query alike: softmax does not see it.
    own = {name: one for name, one in module.named_parameters() if not name.endswith("k_proj.bias")}
    missed = unreached(output, own)
    if missed:
        yield f"no gradient reaches {listed(missed)}, which therefore cannot learn"


def listed(names: list[str]) -> str:
    """The first of these names, in a row."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
