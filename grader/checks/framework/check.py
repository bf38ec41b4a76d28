"""The hidden checks, one module an exercise, and what a check is.

A check is a hypothesis test that takes a `student`. Its name is its identity, the first line of its
docstring the title that a student reads, the rest what it sees that others cannot.

    @worth(3)
    @given(attention_inputs())
    def test_agrees_with_torch(student, case):
        \"""The output is softmax(QKᵀ/√d_k)V.

        Sees what the shape cannot: a missing or wrong scale, softmax over the wrong axis.
        \"""
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.strategies import SearchStrategy

Test = TypeVar("Test", bound=Callable[..., Any])
PREFIX = "test_"


@dataclass(frozen=True)
class Check:
    """One hidden check of an exercise. A check worth no points is a remark to the student."""

    exercise: str
    name: str
    title: str
    points: float
    body: Callable[..., Any]
    strategies: tuple[SearchStrategy[Any], ...] = ()
    examples: int = 1

    def explore(
        self, body: Callable[..., Any], seed: int, phases: tuple[Phase, ...] = (Phase.generate,)
    ) -> Callable[..., Any]:
        """A hypothesis test of `body`, called as the check's own is, on cases drawn from `seed`."""
        configured = hypothesis.settings(
            max_examples=self.examples,
            database=None,
            deadline=None,
            derandomize=False,
            phases=phases,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            report_multiple_bugs=False,
        )
        test = hypothesis.given(*self.strategies)(functools.wraps(self.body)(body))
        return hypothesis.seed(seed)(configured(test))


def given(
    *strategies: SearchStrategy[Any], examples: int = 8
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`hypothesis.given`, whose cases the grader can also draw once for a whole class."""

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        configured = hypothesis.settings(max_examples=examples, database=None, deadline=None)
        test: Any = configured(hypothesis.given(*strategies)(body))
        test.drawn_from = (body, strategies, examples)
        return test  # type: ignore[no-any-return]

    return decorate


def worth(points: float) -> Callable[[Test], Test]:
    """Says how many of the exercise's points a check carries."""

    def mark(test: Test) -> Test:
        test.points = points  # type: ignore[attr-defined]
        return test

    return mark


def load(exercise: str) -> list[Check]:
    """The checks of an exercise, in the order in which its module defines them."""
    module = importlib.import_module(f"grader.checks.{exercise}")
    return [
        _check(exercise, name.removeprefix(PREFIX), test)
        for name, test in vars(module).items()
        if name.startswith(PREFIX)
    ]


def _check(exercise: str, name: str, test: Any) -> Check:
    body, strategies, examples = getattr(test, "drawn_from", (test, (), 1))
    title = (inspect.getdoc(test) or name).partition("\n")[0]
    return Check(exercise, name, title, test.points, body, strategies, examples)
