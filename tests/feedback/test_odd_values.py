"""Values that no exercise asks for: whatever a student's code returns, there is a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from grader.feedback.comparison import assert_dtype, assert_matches, assert_shape, assert_zero
from grader.remote import wire
from tests.feedback.test_comparison import mismatch, normal


class Hostile:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        """Refuse."""
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        """Refuse."""
        raise RuntimeError

    def __bool__(self) -> bool:
        """Refuse."""
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]
    __str__ = __repr__ = __len__ = __iter__ = __bool__  # type: ignore[assignment]


class HostileTensor(Tensor):
    """A tensor whose every torch function raises."""

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        """Refuse."""
        raise RuntimeError


class HostileTuple(tuple[Any, ...]):
    """A tuple that does not tell its length."""

    def __len__(self) -> int:
        """Refuse."""
        raise RuntimeError


ODD_VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "a hostile object": Hostile,
    "its class": lambda: Hostile,
    "a tuple": lambda: (torch.ones(2, 3), torch.ones(2)),
    "a hostile tuple": lambda: HostileTuple((1, 2)),
    "a named tuple": lambda: torch.ones(2, 3).max(dim=0),
    "a number": lambda: 1.5,
    "a numpy array": lambda: torch.ones(2, 3).numpy(),
    "a hostile tensor of zeros": lambda: torch.zeros(2, 3).as_subclass(HostileTensor),
    "sparse": lambda: torch.ones(2, 3).to_sparse(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "complex": lambda: torch.ones(2, 3, dtype=torch.complex64),
    "complex NaN": lambda: torch.full((2, 3), torch.nan, dtype=torch.complex64),
    "meta": lambda: torch.ones(2, 3, device="meta"),
    "huge": lambda: torch.ones(1).expand(2**20, 2**20),
    "no axis": lambda: torch.tensor(1.0),
    "lazy": lambda: nn.UninitializedParameter(),
    "uint64": lambda: torch.ones(2, 3).to(torch.uint64),
    "float8": lambda: torch.ones(2, 3).to(torch.float8_e4m3fn),
}


@pytest.mark.parametrize("name", ODD_VALUES)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_odd_values_are_refused_without_a_crash(name: str) -> None:
    """Whatever comes back, there is a message and no other exception."""
    value = ODD_VALUES[name]()
    expected = torch.arange(1.0, 7.0).reshape(2, 3)
    assert mismatch(assert_matches, value, expected, "result").headline
    assert mismatch(assert_matches, value, expected > 3, "result").headline
    assert mismatch(assert_shape, value, {"row": 9, "column": 3}, "result").headline
    assert mismatch(assert_dtype, value, torch.int16, "result").headline
    if name not in ("a hostile tensor of zeros", "huge"):
        assert mismatch(assert_zero, value, "result").headline


def test_a_tensor_subclass_counts_as_a_tensor() -> None:
    """A subclass is compared as the plain tensor that it holds."""
    x = normal(7, 2, 3)
    assert_matches(x.as_subclass(HostileTensor), x)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (lambda: (i for i in range(2)), "Your result is a generator; it should be a tensor"),
        (lambda: {1, 2}, "Your result is a set; it should be a tensor"),
        (lambda: torch.eye(2).to_sparse(), "torch.sparse_coo; it should be an ordinary one"),
        (lambda: torch.ones(2, device="meta"), "Your result is a meta tensor of torch.float32"),
    ],
)
def test_what_does_not_cross_is_called_by_its_type(value: Callable[[], Any], says: str) -> None:
    """Not by the name of the box in which the kit carries it."""
    frame = wire.encode(value())
    words = mismatch(assert_matches, wire.decode(frame[4:]), torch.ones(2), "result").headline
    assert says in words
    assert "Opaque" not in words
