"""Which of a student's values are wrong: a right answer goes on from there, and errs as they do.

A value that no right answer has may merely be another way to the result. It is wrong if a right
answer that goes on with it gives the student's wrong reply. If several are, they are handed over
one after the other; each but the last has to lead to further values that are the student's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import torch
from torch import Tensor

from grader.grading.search.exchange import Pool, RightAnswer, Run, equal
from grader.remote.values import Made

MOST_RUNS, MOST_PAIRS = 60, 20  # of a right answer, and of these with two steps at once
MOST_HANDED = 4
NEAREST = 3  # right answers, of which one goes on with a student's values
MARGIN = 8  # by which a whole number may be larger than a right one
FEWEST = 4  # different numbers in a value that is found again not by chance
# The file's name, the line, the function's name and the variable's.
Step = tuple[str, int, str, str]


@dataclass(frozen=True)
class Departure:
    """The first step at which a student's values depart from a right answer's.

    `unknown` are steps that no right answer has whatever it is given. What the `complete` ones make
    is a whole step of a right answer; of others, part may be missing.
    `steps` are all of them, as often as they ran.
    """

    wrong: Step
    unknown: frozenset[Step]
    complete: frozenset[Step]
    steps: tuple[Step, ...] = ()


def departure(
    answers: Sequence[RightAnswer], requests: Sequence[Any], made: Iterable[Made], reply: Any
) -> Departure | None:
    """Return where the values `made` for the last of these requests depart from right answers'.

    `reply` is the student's. None if no right answer that goes on with them comes to that reply.
    """
    values: dict[Step, list[Any]] = {}
    steps: list[Step] = []
    for *step, value in made:
        steps.append(tuple(step))  # type: ignore[arg-type]
        values.setdefault(steps[-1], []).append(value)
    begun = [_Handover(answer, requests, values, reply) for answer in answers]
    if not values or any(handover.begun.run.draws for handover in begun):
        return None
    right = frozenset[Step]().union(*(handover.begun.known for handover in begun))
    nearest = sorted(begun, key=lambda handover: -len(handover.begun.known))[:NEAREST]
    found = [each for handover in nearest if (each := handover.found(right)) is not None]
    if not found:
        return None
    best = min(found, key=lambda each: len(each.unknown))
    complete = frozenset[Step]().union(*(handover.complete for handover in begun))
    return replace(best, complete=complete, steps=tuple(steps))


@dataclass(frozen=True)
class _State:
    """A right answer with some of a student's values, and which of their steps it has as well."""

    exchanged: dict[int, Sequence[Any]]
    run: Run
    known: frozenset[Step]


class _Handover:
    def __init__(
        self,
        answer: RightAnswer,
        requests: Sequence[Any],
        values: Mapping[Step, Sequence[Any]],
        reply: Any,
    ) -> None:
        self.answer = answer
        self.requests = requests
        self.values = values
        self.reply = reply
        self.steps = [*values]
        self.place = {step: number for number, step in enumerate(self.steps)}
        self.runs = 0
        self.pairs = 0
        self.begun = self._state({})
        run, whole = self.begun.run, answer.complete
        values_of_whole = (run.values[place] for place in run.values if place in whole)
        self.complete = self._held(Pool([*run.given, *chain(*values_of_whole)], in_shape=True))

    def found(self, right: frozenset[Step]) -> Departure | None:
        """Return where the values depart. `right` are steps that some right answer has as well."""
        state, last = self.begun, self.steps[-1]
        wrong: list[Step] = []
        unknown: list[Step] = []
        while len(wrong) < MOST_HANDED and self.runs < MOST_RUNS:
            past = {*state.known, *right, *wrong, *unknown}
            left = [step for step in self.steps if step not in past] or [last]
            if left[0] in (*wrong, *unknown):
                return None
            handed, more = self._handed(state, left)
            if more is None:
                unknown.append(left[0])
                if left[0] == last:
                    return None
                continue
            wrong += handed
            if self._is_reply(more.run):
                return Departure(wrong[0], frozenset(unknown), self.complete)
            state = more
        return None

    def _handed(self, state: _State, left: Sequence[Step]) -> tuple[Sequence[Step], _State | None]:
        """Hand over the first step that is left, or the first two at once."""
        for handed in (left[:1], left[:2]):
            best: tuple[int, _State] | None = None
            for places in product(*(self._places(state, step) for step in handed)):
                if len({*places}) < len(handed) or not self._may_run(len(handed)):
                    continue
                exchanged = {
                    place: [
                        _fitted(value, other)
                        for value, other in zip(
                            self.values[step], state.run.values[place], strict=True
                        )
                    ]
                    for step, place in zip(handed, places, strict=True)
                }
                more = self._state({**state.exchanged, **exchanged})
                if self._is_reply(more.run):
                    last = {places[-1]: exchanged[places[-1]]}
                    if len(handed) == 1 or not self._is_reply(
                        self._state({**state.exchanged, **last}).run
                    ):
                        return handed, more
                    continue
                gained = self._gained(handed, state, more)
                if gained > (best[0] if best else 0):
                    best = gained, more
            if best is not None:
                return handed, best[1]
        return left[:1], None

    def _may_run(self, handed: int) -> bool:
        self.pairs += handed > 1
        return self.runs < MOST_RUNS and (handed == 1 or self.pairs <= MOST_PAIRS)

    def _gained(self, handed: Sequence[Step], state: _State, more: _State) -> int:
        """Return how many later steps the right answer then has; 0 if it loses one."""
        if "error" in more.run.reply:
            return 0
        later = self.steps[self.place[handed[-1]] + 1 :]
        if any(step in self.begun.known and step not in more.known for step in later):
            return 0
        own = [value for step in handed for value in self.values[step]]
        return sum(
            step in more.known
            and step not in state.known
            and all(_tells(value) for value in self.values[step])
            and not any(Pool([value]).holds(self.values[step][0]) for value in own)
            for step in later
        )

    def _places(self, state: _State, step: Step) -> list[int]:
        """Return the expressions of the right answer that a step's values fit in the place of."""
        values = self.values[step]
        return [
            place
            for place, others in sorted(state.run.values.items())
            if len(others) == len(values)
            and place not in state.exchanged
            and all(map(_fits, values, others))
            and not all(map(equal, values, others))
        ]

    def _state(self, exchanged: dict[int, Sequence[Any]]) -> _State:
        self.runs += 1
        run = self.answer.run(self.requests, exchanged)
        pool = Pool([*run.given, *chain(*run.values.values())])
        return _State(exchanged, run, self._held(pool))

    def _held(self, pool: Pool) -> frozenset[Step]:
        return frozenset(step for step in self.steps if all(map(pool.holds, self.values[step])))

    def _is_reply(self, run: Run) -> bool:
        return "ok" in run.reply and equal(_plain(run.reply["ok"]), _plain(self.reply["ok"]))


def _plain(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _tells(value: Any) -> bool:
    """Return whether a value is too special to be found again by chance."""
    if not isinstance(value, Tensor):
        return True
    numbers = value.reshape(-1).double()
    numbers = numbers[numbers.isfinite()]
    return len({*numbers.tolist()}) >= (2 if value.dtype == torch.bool else FEWEST)


def _fits(value: Any, other: Any) -> bool:
    """Return whether a student's value can stand in the place of a right one.

    Whole numbers must be about as large: sizes may be made of them.
    """
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        if _largest(value) > MARGIN + _largest(other):
            return False
        if value.is_floating_point() and not other.is_floating_point():
            return False
        alike = value.dim() == other.dim() and all(
            size == wanted or 1 in (size, wanted)
            for size, wanted in zip(value.shape, other.shape, strict=True)
        )
        return alike or value.numel() == other.numel()
    if isinstance(value, list) and isinstance(other, list):
        return _largest(value) <= MARGIN + _largest(other)
    return isinstance(value, float) and isinstance(other, float)


def _largest(value: Any) -> int:
    """Return the largest whole number, or the largest size of a list, in a value."""
    if isinstance(value, Tensor):
        is_whole = not value.is_floating_point() and value.dtype != torch.bool
        return int(value.abs().max()) if is_whole and value.numel() else 0
    if isinstance(value, list):
        return max([len(value), *map(_largest, value)])
    return abs(value) if isinstance(value, int) else 0


def _fitted(value: Any, other: Any) -> Any:
    """Return a value in the dtype of another one, and in its shape if that is possible."""
    if not isinstance(value, Tensor):
        return value
    value = value.to(other.dtype)
    return value.reshape(other.shape) if value.numel() == other.numel() else value
