"""Watches how large the tensors are that code makes, as it runs.

What counts is what lies in memory: a view of a tensor has no storage of its own, and an expanded
one only that of what it expands. A tensor that is there already, as an argument, is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Sizes(TorchDispatchMode):
    """Notes the first tensor of more than `limit` numbers that is made while it is entered.

    `larger` is its shape as text, "" while there is none. Torch tells modes what every operator
    returns, whichever function called it.
    """

    def __init__(self, limit: int, given: Iterable[object]) -> None:
        """Begin with the tensors that are there already; others among `given` are passed over."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.limit = limit
        self.given = {
            tensor.untyped_storage().data_ptr() for tensor in given if isinstance(tensor, Tensor)
        }
        self.larger = ""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise torch imports its compiler and sympy, 0.5 s and more, for a mode's first call.
        return False

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the operator and check what it returns."""
        made = func(*args, **(kwargs or {}))
        if not self.larger:
            for tensor in made if isinstance(made, (list, tuple)) else (made,):
                if isinstance(tensor, Tensor) and self._is_too_large(tensor):
                    self.larger = str(tuple(tensor.shape))
                    break
        return made

    def _is_too_large(self, tensor: Tensor) -> bool:
        storage = tensor.untyped_storage()
        numbers = storage.nbytes() // tensor.element_size()
        return numbers > self.limit and storage.data_ptr() not in self.given
