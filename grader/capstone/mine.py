"""A student's own small pieces in place of torch's, inside any model: `grader capstone --mine`.

Modules of torch are replaced by the student's, which share their parameters; calls to torch's
softmax and activations go to the student's functions while the model runs. Right pieces change
nothing, and a sentence says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

NEAR = 1e-4  # the difference of logits that rounding may cause

Function = Callable[..., Any]


class Mine(TorchFunctionMode):
    """A context in which a student's pieces, by exercise, are used in place of torch's.

    `used` counts how often each was inserted, or called, in place of torch's.
    """

    def __init__(self, modules: Mapping[str, Any]) -> None:
        super().__init__()
        self.modules = modules
        self.used = dict.fromkeys(modules, 0)

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Answer torch's softmax and activations with the student's; all else is torch's."""
        del types
        named = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name == "softmax" and "softmax" in self.modules and not named.get("dtype"):
            return self._softmax(*args, **named)
        if name in ("relu", "gelu") and "activations" in self.modules:
            named.pop("inplace", None)
            self.used["activations"] += 1
            return getattr(self.modules["activations"], name)(args[0], **named)
        return func(*args, **named)

    def _softmax(self, x: Tensor, dim: int = -1, *_: Any, **__: Any) -> Any:
        self.used["softmax"] += 1
        return self.modules["softmax"].softmax(x, dim=dim)

    def exchange(self, model: nn.Module) -> None:
        """Put the student's modules in place of torch's own; parameters stay the same objects."""
        for parent in list(model.modules()):
            for name, module in list(parent.named_children()):
                exercise, replacement = self._made(module)
                if replacement is not None:
                    replacement.train(module.training)
                    for parameter in ("weight", "bias"):
                        if getattr(module, parameter, None) is not None:
                            setattr(replacement, parameter, getattr(module, parameter))
                    setattr(parent, name, replacement)
                    self.used[exercise] += 1

    def _made(self, module: nn.Module) -> tuple[str, nn.Module | None]:
        """Return the exercise that is about a module of torch, and the student's in its place."""
        kind, modules = type(module), self.modules
        replacement: nn.Module | None = None
        exercise = ""
        if kind is nn.Linear and "linear" in modules:
            assert isinstance(module, nn.Linear)
            bias = module.bias is not None
            exercise = "linear"
            replacement = modules[exercise].Linear(
                module.in_features, module.out_features, bias=bias
            )
        elif kind is nn.Dropout and "dropout" in modules:
            assert isinstance(module, nn.Dropout)
            exercise, replacement = "dropout", modules["dropout"].Dropout(module.p)
        elif kind is nn.LayerNorm and "layer_norm" in modules:
            assert isinstance(module, nn.LayerNorm)
            exercise = "layer_norm"
            replacement = modules[exercise].LayerNorm(module.normalized_shape[0], eps=module.eps)
        return exercise, replacement


def put(
    model: nn.Module, modules: Mapping[str, Any], inputs: Sequence[Tensor], already: Sequence[str]
) -> tuple[Mine, str]:
    """Replace torch's parts of a model with the student's, and say whether the results agree.

    `inputs` are what the model is tried on. It already uses the pieces in `already` by itself.
    """
    own = Mine(modules)
    training = model.training
    model.train(False)
    with torch.no_grad():
        before = model(*inputs)
        own.exchange(model)
        with own:
            after = model(*inputs)
    model.train(training)
    return own, _told(own, already, _distance(before, after))


def _distance(before: Any, after: Any) -> float:
    if not isinstance(after, Tensor) or after.shape != before.shape:
        return math.inf
    scale = max(1.0, float(before.abs().max()))
    distance = float((after - before).abs().max()) / scale
    return distance if math.isfinite(distance) else math.inf


def _told(own: Mine, already: Sequence[str], distance: float) -> str:
    used = [name for name, count in own.used.items() if count]
    names = ", ".join([*used, *already]) or "nothing"
    words = f"Of your own pieces the model uses {names}."
    if not used:
        return f"{words} Nothing of torch's was replaced."
    if distance <= NEAR:
        return f"{words} The result is the same as with torch's in their place."
    return (
        f"{words} The result is NOT the same as with torch's in their place: the logits differ by "
        f"{distance:.2g} of the largest."
    )
