"""A student's result as an ordinary tensor, read without trusting its class."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn import Parameter

from grader.feedback.mismatch import Mismatch

_PAIRS = tuple(
    getattr(torch.return_types, name) for name in ("max", "min", "median", "mode", "sort", "topk")
)
_PAIR = (
    "Your {subject} is a pair of values and indices: with an axis, torch's `{name}` returns both, "
    "as `values, indices`."
)


def type_name(value: object) -> str:
    """Return the type name of `value`, printable and short, without running its code."""
    name = cast(str, type.__dict__["__name__"].__get__(type(value)))
    if name == "Opaque":  # other than plain data, only the name of the type leaves the sandbox
        held = object.__getattribute__(value, "__dict__").get("type_name")
        name = held if type(held) is str else name
    return "".join(letter for letter in name if letter.isprintable())[:60] or "object"


def article(value: object) -> str:
    """Return the type of `value` with its article: "an int"."""
    name = type_name(value)
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def as_tensor(actual: object, subject: str, help: str) -> Tensor:
    """`actual` as an ordinary tensor without gradient; a `Mismatch` in plain words otherwise."""
    __tracebackhide__ = True
    kind = type(actual)
    if kind is not Tensor and kind is not Parameter:
        actual = _unusual(actual, kind, subject, help)
    tensor = cast(Tensor, actual)
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        raise Mismatch(
            f"Your {subject} is a special tensor (sparse, nested or quantized); it should be an "
            "ordinary one.",
            None,
            help,
        )
    if tensor.device.type != "cpu":
        if tensor.device.type == "meta":
            raise Mismatch(
                f"Your {subject} is a tensor on the device 'meta', which has no numbers.",
                None,
                help,
            )
        tensor = tensor.cpu()
    return tensor.detach()


def _unusual(actual: object, kind: type, subject: str, help: str) -> Tensor:
    __tracebackhide__ = True
    if actual is None and subject.startswith("gradient"):
        raise Mismatch(
            f"There is no {subject}: the result does not depend on it, as far as torch can see. Is "
            "something `detach`ed, taken as `.data`, or computed under torch.no_grad()?"
        )
    if actual is None:
        raise Mismatch(f"Your {subject} is None: is a `return` missing?")
    if kind is tuple or kind is list:
        length = len(cast("tuple[object, ...]", actual))
        raise Mismatch(
            f"Your {subject} is a {kind.__name__} of {length}; it should be a single tensor.",
            None,
            help,
        )
    if any(kind is pair for pair in _PAIRS):
        raise Mismatch(_PAIR.format(name=type_name(actual), subject=subject), None, help)
    if not issubclass(kind, Tensor):
        wanted = "an ordinary one" if " tensor of " in type_name(actual) else "a tensor"
        raise Mismatch(
            f"Your {subject} is {article(actual)}; it should be {wanted}.",
            None,
            help,
        )
    try:
        with torch._C.DisableTorchFunctionSubclass():
            plain = Tensor.as_subclass(cast(Tensor, actual), Tensor)
        usable = type(plain) is Tensor and kind.__torch_dispatch__ is Tensor.__torch_dispatch__
    except Exception:
        usable = False
    if not usable:
        raise Mismatch(
            f"Your {subject} is {article(actual)}; it should be a plain torch.Tensor.",
            None,
            help,
        )
    return plain
