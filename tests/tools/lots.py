"""Which of the tests marked `full`, which take too long for every commit, a commit draws.

    @pytest.mark.full(but=("masks",), together="{exercise}", seconds=20)

- `but`: with one of these parameters the test is not too long, and runs every time;
- `together`: tests with the same text, in which names of parameters are filled in, are one lot;
- `seconds`: about how much CPU time it takes, if that is more than a few seconds;
- `share`: one in so many of its kind is drawn, where all of them take longer than all else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

SHARE = 10  # of so many lots every run has one, unless the marker says otherwise


def is_full(item: pytest.Item) -> bool:
    """Whether the test is too long for every commit."""
    marker = item.get_closest_marker("full")
    if marker is None:
        return False
    spared = marker.kwargs.get("but", ())
    return not spared or not any(value in spared for value in _parameters(item).values())


def lot(item: pytest.Item) -> str:
    """Return what is drawn with the test: itself, or all that go together with it."""
    marker = item.get_closest_marker("full")
    if marker is None or "together" not in marker.kwargs:
        return item.nodeid
    return str(marker.kwargs["together"]).format(**_parameters(item))


def drawn(items: Iterable[pytest.Item], number: int) -> set[str]:
    """Return the lots of a draw: of a row in which the longest stand first, every tenth.

    So every draw has about as much of each length and each file, and takes about as long. Ten
    numbers in turn draw every lot once. Lots with another share stand in a row of their own.
    """
    rows: dict[int, dict[str, float]] = {}
    for item in items:
        marker = item.get_closest_marker("full")
        if marker is not None and is_full(item):
            row = rows.setdefault(marker.kwargs.get("share", SHARE), {})
            row.setdefault(lot(item), marker.kwargs.get("seconds", 0))
    return {
        name
        for share, seconds in rows.items()
        for name in sorted(seconds, key=lambda name: -seconds[name])[number % share :: share]
    }


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}
