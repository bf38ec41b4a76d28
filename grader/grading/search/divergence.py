"""Where a student's values diverge from those of right answers.

A line is *on the way* if its value also occurs in a right answer, whatever the order of its axes.
The first line after the last of these is the first suspect. This is a heuristic, since there are
other ways to a right answer: it only decides what is tried first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from grader.curriculum import mistakes, reference
from grader.curriculum.project import SOLUTIONS
from grader.remote import wire
from grader.remote.server import Server
from grader.remote.trace import Value, follow

SAME = 1e-4  # of the size of the numbers
Place = tuple[str, int]


def right_values(exercise: str, requests: Sequence[dict[str, Any]]) -> list[Value]:
    """Return what the lines of right answers make when these requests are answered."""
    sources = mistakes.forms(exercise).values()
    modules = [
        reference.module(exercise),
        *(reference.variant(exercise, source) for source in sources),
    ]
    root = str(SOLUTIONS)
    values: list[Value] = []
    for module in modules:
        server = Server(module)
        trace = follow(
            server.answer,
            wire.crossed(list(requests)),
            lambda file: "" if file.startswith(root) or file == "<string>" else None,
            noting=True,
        )
        values += trace.values
    return values


def leaving(
    theirs: Iterable[Value],
    right: Iterable[Value],
    wrong: Collection[int],
    crashed: Collection[int],
) -> tuple[set[Place], set[Place]]:
    """Return the lines that diverge first in one of the `wrong` requests, and other unusual ones.

    A line before one that is on the way again may be right in its own way. In a request that
    `crashed` we can't tell, so there every line that isn't on the way counts.
    """
    known: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for _, _, _, count, kind, total, square in right:
        known[count, kind].append((total, square))
    by_request: dict[int, list[tuple[Place, bool]]] = defaultdict(list)
    for number, file, line, count, kind, total, square in theirs:
        same = any(_same(total, square, value, count) for value in known.get((count, kind), ()))
        by_request[number].append(((file, line), same))
    first: set[Place] = set()
    diverging: set[Place] = set()
    for number, made in by_request.items():
        off = [position for position, (_, same) in enumerate(made) if not same]
        if number in wrong and off and len(off) < len(made):
            last = max(position for position, (_, same) in enumerate(made) if same)
            later = [position for position in off if position > last]
            first.update(made[value][0] for value in later[:1])
            if number in crashed:
                first.add(made[off[0]][0])
            diverging.update(made[value][0] for value in off)
    return first, diverging - first


def _same(total: float, square: float, other: tuple[float, float], count: int) -> bool:
    if not math.isfinite(square):
        return not math.isfinite(other[1])
    size = math.sqrt(max(square, other[1]) * count)
    return abs(total - other[0]) <= SAME * size and abs(square - other[1]) <= SAME * max(
        square, other[1]
    )
