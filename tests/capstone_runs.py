"""Short runs of the capstone in this process, for its tests."""

from __future__ import annotations

import json
from dataclasses import asdict
from io import StringIO
from typing import Any

from grader.capstone import child
from grader.capstone.events import Event, event_from
from grader.curriculum import mistakes, stubs, whole_model

FEW = 66  # unseen dates to translate at the end


def right(name: str) -> str:
    return stubs.reference_source(name)


def wrong(exercise: str, name: str) -> str:
    (mistake,) = [one for one in mistakes.load(exercise) if one.name == name]
    return mistake.apply(right(exercise).replace("from exercises", "from solutions")).replace(
        "from solutions", "from exercises"
    )


def job(own: dict[str, str], steps: int) -> dict[str, Any]:
    return {
        "sources": asdict(whole_model.gather(own)),
        "entries": whole_model.entries(),
        "plan": {"seconds": 600, "seed": 3, "steps": steps, "unseen": FEW},
    }


def run(own: dict[str, str], *asked: str) -> list[Event]:
    """All that the process would say of these files after a single step, and to what is asked."""
    lines = [{**job(own, steps=1), "patience": 60.0}, *({"translate": one} for one in asked)]
    writing = StringIO()
    reading = StringIO("".join(json.dumps(line) + "\n" for line in lines))
    child.Worker(reading, writing).work()
    return [event_from(line) for line in writing.getvalue().splitlines()]
