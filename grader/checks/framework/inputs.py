"""The inputs of the hidden checks: sizes that hypothesis draws, and numbers for each purpose.

Inputs are made to reveal: all sizes differ and nothing is all ones. What hypothesis draws it also
shrinks, so that a failing case is shown at its smallest.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Concatenate, Generic, ParamSpec, TypeVar

import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


# By seed and count of normal numbers, what they were multiplied by.
Draws = dict[tuple[int, int], float]
_DRAWS: ContextVar[Draws | None] = ContextVar("draws", default=None)


@contextmanager
def remembered_draws() -> Iterator[Draws]:
    """Remember the seeds of all normal numbers that are drawn in this block."""
    draws: Draws = {}
    token = _DRAWS.set(draws)
    try:
        yield draws
    finally:
        _DRAWS.reset(token)


@dataclass(frozen=True)
class Numbers:
    """Random tensors, the same on every machine: each purpose has its own.

    A purpose is a word such as "query". What is drawn for it depends on it, on the seeds of the run
    and of the case, and on nothing that was drawn before: another draw more changes no other.

    The first case that hypothesis draws has always the simplest sizes and the seed 0. The seed of
    the run keeps its numbers from being the same in every run.
    """

    run: int
    case: int

    def generator(self, purpose: str) -> torch.Generator:
        """A generator for this purpose, always at its start."""
        return torch.Generator().manual_seed(self._seed(purpose))

    def normal(
        self, purpose: str, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float64
    ) -> Tensor:
        """Standard normal numbers times `scale`."""
        draws = _DRAWS.get()
        if draws is not None:
            draws[self._seed(purpose), math.prod(shape)] = scale
        numbers = torch.randn(shape, generator=self.generator(purpose), dtype=torch.float64)
        return (numbers * scale).to(dtype)

    def ids(self, purpose: str, *shape: int, low: int = 0, high: int) -> Tensor:
        """Token ids from `low` up to, and without, `high`."""
        return torch.randint(low, high, shape, generator=self.generator(purpose))

    def mask(self, purpose: str, *shape: int) -> Tensor:
        """A boolean mask, True where attention is allowed, with at least one True in every row.

        The first row has just one, so that something is hidden.
        """
        generator = self.generator(purpose)
        mask = torch.rand(shape, generator=generator) < 0.6
        mask.view(-1, shape[-1])[0] = False
        forced = torch.randint(shape[-1], shape[:-1], generator=generator)
        return mask.scatter(-1, forced.unsqueeze(-1), True)

    def padding(self, purpose: str, batch: int, length: int) -> Tensor:
        """A padding mask (batch, 1, 1, length): the first position hidden, two or more visible."""
        mask = torch.rand((batch, length), generator=self.generator(purpose)) < 0.5
        mask[:, 0] = False
        mask[:, -2:] = True
        return mask[:, None, None, :]

    def permutation(self, purpose: str, length: int) -> Tensor:
        """A permutation of `range(length)` that moves something, for a length of two or more."""
        shift = int(torch.randint(1, length, (), generator=self.generator(purpose)))
        return torch.arange(length).roll(shift)

    def _seed(self, purpose: str) -> int:
        return zlib.crc32(f"{self.run}/{self.case}/{purpose}".encode())


@dataclass(frozen=True)
class Inputs(Generic[T_co]):
    """What a check is given, drawn by hypothesis, with the numbers of one run."""

    build: Callable[[st.DrawFn, Numbers], T_co]

    def strategy(self, run: int) -> SearchStrategy[T_co]:
        """The strategy that draws it in the run of this seed."""

        @st.composite
        def built(draw: st.DrawFn) -> T_co:
            return self.build(draw, Numbers(run, draw(st.integers(0, 2**16))))

        return built()


def inputs(build: Callable[Concatenate[st.DrawFn, Numbers, P], T]) -> Callable[P, Inputs[T]]:
    """Like `hypothesis.strategies.composite`, for a function that is given numbers as well.

    @inputs
    def sentences(draw, numbers, batch=3):
        length = draw(st.integers(2, 9))
        return Sentences(numbers.normal("x", batch, length, 4), numbers.mask("mask", length))
    """

    @functools.wraps(build)
    def made(*args: P.args, **kwargs: P.kwargs) -> Inputs[T]:
        return Inputs(lambda draw, numbers: build(draw, numbers, *args, **kwargs))

    return made


@inputs
def random_numbers(draw: st.DrawFn, numbers: Numbers) -> Numbers:  # noqa: ARG001
    """The numbers of a case by themselves, for a check that knows its sizes."""
    return numbers


def distinct_sizes(count: int, low: int = 2, high: int = 9) -> SearchStrategy[list[int]]:
    """That many sizes, all different, so that no two axes can be mistaken for one another."""
    return st.lists(st.integers(low, high), min_size=count, max_size=count, unique=True)


def transposed(tensor: Tensor) -> Tensor:
    """The same numbers in a tensor that is not contiguous."""
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
