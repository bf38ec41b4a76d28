"""Two trainings at once, one of them without a part of the model, and the report on both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

from grader import pictures
from grader.capstone.ablations import EXPECTATIONS, Part
from grader.capstone.events import Failure
from grader.capstone.exam import Learnt, Progress
from grader.capstone.report import jsonable
from grader.capstone.task import ALARM, BOLD, PLAIN, WARNING, Line
from grader.capstone.trial import Trial

Outcome = Learnt | Failure
WHOLE = "the whole model"


def train(
    trials: Sequence[Trial],
    session: Callable[[], AbstractContextManager[Any]],
    show: Callable[[int, Progress], None],
) -> list[Outcome]:
    """Train all at once, each in a process of its own; Ctrl-C ends both early.

    `show` gets the number of a trial and its progress.
    """
    opened: list[Any] = []

    def run(number: int) -> Outcome:
        with session() as process:
            opened.append(process)
            return trials[number].trained(process, lambda event: show(number, event))

    with ThreadPoolExecutor(len(trials)) as pool:
        running = [pool.submit(run, number) for number in range(len(trials))]
        while True:
            try:
                return [future.result() for future in running]
            except KeyboardInterrupt:
                for process in opened:
                    process.stop()


def question(part: Part) -> str:
    """Return what somebody is asked before the training."""
    choices = "   ".join(f"{number} {text}" for number, text in enumerate(EXPECTATIONS, 1))
    return f"Without {part.name}, what will it learn in the same time?   {choices}"


def told(part: Part, outcomes: Sequence[Outcome], expected: str) -> Iterator[Line]:
    """Yield what came of both trainings, what was expected, and the reason."""
    for name, outcome in zip((WHOLE, f"without {part.name}"), outcomes, strict=True):
        if isinstance(outcome, Failure):
            yield f"{name}: your code could not go on ({outcome.doing}): {outcome.said}", ALARM
            continue
        yield (
            f"{name}: {outcome.exact:.1%} of {outcome.count} unseen dates right, loss "
            f"{outcome.loss:.3f} after {outcome.step} steps",
            BOLD,
        )
    if expected:
        yield f"  You expected that it learns {expected}.", PLAIN
    yield f"  {part.reason}", WARNING


def figures(part: Part, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return both curves in one picture: the loss, and the share of exact translations."""
    names = (WHOLE, f"without {part.name}")

    def lines(value: Callable[[Progress], float]) -> dict[str, Any]:
        histories = dict(zip(names, (trial.history for trial in trials), strict=True))
        return {
            name: ([event.step for event in history], [value(event) for event in history])
            for name, history in histories.items()
        }

    return {
        "loss": pictures.curves(
            lines(lambda event: event.loss),
            f"Loss, with and without {part.name}",
            x_axis="step",
            y_axis="label-smoothed loss",
        ),
        "exact": pictures.curves(
            lines(lambda event: event.exact),
            f"Unseen dates right, with and without {part.name}",
            x_axis="step",
            y_axis="share",
        ),
    }


def as_json(
    part: Part, trials: Sequence[Trial], outcomes: Sequence[Outcome], expected: str, seed: int
) -> str:
    """Return both trainings as a report."""
    runs = [
        {
            "exact_match": outcome.exact if isinstance(outcome, Learnt) else None,
            "failure": asdict(outcome) if isinstance(outcome, Failure) else None,
            "history": [asdict(event) for event in trial.history],
        }
        for trial, outcome in zip(trials, outcomes, strict=True)
    ]
    report = {
        "schema": 1,
        "without": part.name,
        "expected": expected,
        "seed": seed,
        "whole": runs[0],
        "ablated": runs[1],
    }
    return json.dumps(jsonable(report), ensure_ascii=False, indent=1) + "\n"
