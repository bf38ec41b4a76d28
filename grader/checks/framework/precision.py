"""In which dtype code is judged: in float64 where it keeps that, else in float32, without loss."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches
from grader.remote.session import StudentError

Body = TypeVar("Body", bound=Callable[..., None])


class Narrowable(Protocol):
    """A case that can be had in float32 too."""

    @property
    def narrow(self) -> Any:
        """The same case in float32."""


def either_precision(body: Body) -> Body:
    """Runs a check in float64, and in float32 if the code under test cannot mix the two.

    Torch raises RuntimeError where a tensor that code made in float32 meets a weight in float64.
    """

    @functools.wraps(body)
    def judged(student: Any, *cases: Narrowable, **named: Narrowable) -> None:
        try:
            body(student, *cases, **named)
        except StudentError as error:
            if "RuntimeError" not in error.kinds:
                raise
            narrow = {name: case.narrow for name, case in named.items()}
            body(student, *(case.narrow for case in cases), **narrow)

    return judged  # type: ignore[return-value]


def assert_same_dtype(call: Callable[[torch.dtype], Any], expected: Tensor) -> None:
    """`call` converts module and inputs to a dtype; what comes back has that dtype.

    Code that computes in float32 throughout is let off float64 and bfloat16. `expected` is what
    should come back, but for rounding.
    """
    # Measured as the largest difference over seeds: right answers 2e-6 in float32 and 0.1 in
    # bfloat16, where this only looks for what is grossly wrong.
    single = call(torch.float32)
    assert_dtype(single, torch.float32, "output for float32 input")
    assert_matches(single, expected, "output for float32 input", rtol=1e-3, atol=1e-3)
    try:
        double = call(torch.float64)
    except StudentError:
        return
    if isinstance(double, Tensor) and double.dtype is torch.float32:
        return
    assert_dtype(double, torch.float64, "output for float64 input")
    half = call(torch.bfloat16)
    assert_dtype(half, torch.bfloat16, "output for bfloat16 input")
    assert_matches(half, expected, "output for bfloat16 input", rtol=0.5, atol=0.5)


def assert_settings_kept(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Torch's global settings are as before; the default dtype is float32 even after an import."""
    wanted = before | {"default dtype": "torch.float32"}
    for name in wanted:
        if after.get(name) != wanted[name]:
            raise Mismatch(f"Your code changes a global setting of torch: {name}.")
