"""The tests that take too long for every commit: each is drawn by one commit in ten."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.tools.lots import SHARE, drawn, is_full, lot


def item(name: str, parameters: dict[str, object] | None = None, **marked: object) -> Any:
    marker = pytest.mark.full(**marked).mark
    callspec = SimpleNamespace(params=parameters or {})
    return SimpleNamespace(nodeid=name, callspec=callspec, get_closest_marker=lambda _: marker)


def test_draws_run_every_test_once_and_last_about_as_long() -> None:
    seconds = {f"test_{number}": 100.0 / (1 + number) for number in range(57)}
    items = [item(name, seconds=taken) for name, taken in seconds.items()]
    draws = [drawn(items, number) for number in range(SHARE)]
    assert sorted(name for draw in draws for name in draw) == sorted(seconds)
    assert {len(draw) for draw in draws} == {5, 6}
    longest = max(seconds.values())
    sums = [sum(seconds[name] for name in draw) for draw in draws]
    assert max(sums) - min(sums) <= longest


def test_what_goes_together_is_drawn_together() -> None:
    names = ("masks", "attention")
    items = [
        item(f"test_{number}[{name}]", {"exercise": name}, together="{exercise}")
        for number in range(3)
        for name in names
    ]
    assert set(map(lot, items)) == set(names)
    assert [drawn(items, number) for number in range(3)] == [{"masks"}, {"attention"}, set()]


def test_another_share_is_drawn_apart() -> None:
    items = [item(f"test_{number}") for number in range(10)]
    items += [item(f"seldom_{number}", share=20) for number in range(20)]
    draws = [drawn(items, number) for number in range(20)]
    assert {len(draw) for draw in draws} == {2}
    assert len({name for draw in draws for name in draw}) == 30


def test_some_parameters_run_every_time() -> None:
    marked = [item("test", {"exercise": name}, but=("masks",)) for name in ("masks", "attention")]
    assert [*map(is_full, marked)] == [False, True]
    assert is_full(item("test"))
    assert drawn(marked[:1], 0) == set()
