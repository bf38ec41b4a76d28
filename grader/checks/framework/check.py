"""What a hidden check is, and how it is declared.

A check takes a `student`, and what was drawn for it. The name of its function is its identity. The
first paragraph of its docstring is the title that a student reads, the rest what it sees that
others cannot.

    @check(points=3, inputs=attention_inputs(), examples=4)
    def test_agrees_with_torch(student, case):
        \"""The output is softmax(QKᵀ/√d_k)V.

        Sees what the shape cannot: a missing or wrong scale, softmax over the wrong axis.
        \"""
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.strategies import SearchStrategy

from grader import curriculum
from grader.checks.framework.inputs import Inputs
from grader.curriculum import CurriculumError

Drawn: TypeAlias = Inputs[Any] | SearchStrategy[Any]
PREFIX = "test_"

# hypothesis also tries the constants of all modules that this process has loaded from a clone. What
# a seed draws must not depend on them, or a grade could not be repeated.
providers._get_local_constants = Constants

_declared: dict[str, dict[str, Check]] = {}


@dataclass(frozen=True)
class Check:
    """One hidden check of an exercise. A check worth no points is a remark to the student."""

    exercise: str
    name: str
    title: str
    points: float
    body: Callable[..., None]
    inputs: tuple[Drawn, ...] = ()
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
        strategies = [
            source.strategy(seed) if isinstance(source, Inputs) else source
            for source in self.inputs
        ]
        test = hypothesis.given(*strategies)(functools.wraps(self.body)(body))
        return hypothesis.seed(seed)(configured(test))

    def __reduce__(self) -> tuple[Callable[..., Check], tuple[str, str]]:
        # It travels by name: its body is code, which the other process has of its own.
        return find, (self.exercise, self.name)


def check(
    *,
    points: float,
    inputs: Drawn | tuple[Drawn, ...] = (),
    examples: int = 8,
    exercise: str | None = None,
    words: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Check]:
    """Declares a check of the exercise whose module this stands in.

    `inputs` are what it is given besides the student, one or several; `examples` says how often
    they are drawn. The checks of an exercise come in the order in which they are declared.

    A check that several exercises share stands in a function that declares it for each of them: it
    names the `exercise`, and `words` for the {…} in its title.
    """

    def declare(body: Callable[..., None]) -> Check:
        title = " ".join((inspect.getdoc(body) or body.__name__).split("\n\n")[0].split())
        made = Check(
            exercise=exercise or body.__module__.rpartition(".")[2],
            name=body.__name__.removeprefix(PREFIX),
            title=title if words is None else title.format_map(words),
            points=points,
            body=body,
            inputs=inputs if isinstance(inputs, tuple) else (inputs,),
            examples=examples,
        )
        _declared.setdefault(made.exercise, {})[made.name] = made
        return made

    return declare


def load(exercise: str) -> list[Check]:
    """The checks of an exercise, in the order in which its module declares them.

    Raises `CurriculumError` if there are none, or if they do not make the exercise's points.
    """
    module, file = f"grader.checks.{exercise}", f"grader/checks/{exercise}.py"
    points = curriculum.find(exercise).points
    if importlib.util.find_spec(module) is not None:
        importlib.import_module(module)
    checks = list(_declared.get(exercise, {}).values())
    if not checks:
        raise CurriculumError(
            f"{exercise} has no hidden checks. Write {file}, with checks that make {points} points "
            "in all; grader/checks/masks.py is an example."
        )
    made = sum(check.points for check in checks)
    if not math.isclose(made, points):
        raise CurriculumError(
            f"The checks of {exercise} are worth {made:g} points, the exercise {points}. Edit the "
            f"points of the checks in {file}, or those of the exercise in "
            "grader/curriculum/exercises.py."
        )
    return checks


def find(exercise: str, name: str) -> Check:
    """The check of this name. Raises `CurriculumError` where the exercise has none of it."""
    for check in load(exercise):
        if check.name == name:
            return check
    raise CurriculumError(f"{exercise} has no check {name!r}.")
