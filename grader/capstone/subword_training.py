"""The merges of a text, by the student's `train_merges`, in a bearable time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from grader.capstone.contract import ContractError, described

BEARABLE = 40.0  # seconds of CPU time
TRIED = 10  # merges, to estimate how long all would take
FIRST = 16  # one part of the text in this many is tried first
GROWTH = 4

Merges = list[tuple[bytes, bytes]]


def trained(
    train_merges: Callable[..., Any], text: str, count: int, sign: Callable[[], None]
) -> tuple[Merges, str]:
    """Return this many merges of the text, and a sentence if only its beginning was used.

    Learning merges takes a student's code from seconds to hours. A few merges of a small part of
    the text show how long all would take; the part grows as long as that is bearable.
    """
    size = max(1, len(text) // FIRST)
    while size < len(text):
        began = time.process_time()
        train_merges(text[:size], TRIED)
        sign()
        larger = min(len(text), size * GROWTH)
        expected = (time.process_time() - began) * count / TRIED * larger / size
        if expected > BEARABLE:
            break
        size = larger
    merges = _checked(train_merges(text[:size], count), count)
    if size == len(text):
        return merges, ""
    share = size / len(text)
    return merges, (
        f"Your train_merges would take more than {BEARABLE:.0f} seconds on the whole text, so it "
        f"learned from the first {share:.0%}."
    )


def _checked(merges: Any, count: int) -> Merges:
    """Return the merges. Raises `ContractError` if they are something else."""
    message = f"Your train_merges gives {described(merges)}; a list of pairs of bytes is expected."
    if not isinstance(merges, (list, tuple)) or len(merges) > count:
        raise ContractError("subwords", message)
    for merge in merges:
        if not isinstance(merge, tuple) or [type(part) for part in merge] != [bytes, bytes]:
            raise ContractError("subwords", message)
    return list(merges)
