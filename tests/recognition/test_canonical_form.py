"""What a reply says of the code that gave it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.recognition import canonical_form
from grader.recognition.canonical_form import MOST_NUMBERS, marks, told
from grader.remote.wire import Handle

CALL: dict[str, Any] = {"op": "call", "target": (None, "attention")}


def failed(kind: str, text: str = "") -> dict[str, Any]:
    return {"error": {"kinds": [kind, "Exception"], "text": text}}


@pytest.mark.parametrize(
    "reply",
    [
        failed("MemoryError"),
        failed("RuntimeError", "DefaultCPUAllocator: can't allocate memory: you tried to allocate"),
    ],
)
def test_a_lack_of_memory_says_nothing(reply: dict[str, Any]) -> None:
    """A student's process has a limit that a known mistake, asked for the same, has not."""
    assert [says for _, says in told([CALL, CALL], [reply, 1.0])] == [False, True]


def test_any_other_exception_says_something() -> None:
    assert [says for _, says in told([CALL], [failed("RuntimeError", "sizes differ")])] == [True]


def test_a_cache_says_nothing_where_the_model_that_was_to_fill_it_was_never_made() -> None:
    requests: list[dict[str, Any]] = [
        {"op": "new", "handle": 0, "entry": "LanguageModel"},
        {"op": "new", "handle": 1, "entry": "kv_cache.KVCache"},
        {"op": "get", "target": (1, "length")},
        {"op": "call", "target": (0, ""), "args": [[Handle(1)]], "kwargs": {}},
        {"op": "get", "target": (1, "length")},
    ]
    replies = [failed("AttributeError", "no sqrt"), {"ok": None}, {"ok": 0}, failed("KeyError"), 0]
    assert [says for _, says in told(requests, replies)] == [True, True, True, False, False]


def test_wrong_replies_of_all_sizes_leave_no_memory_in_use() -> None:
    right = torch.zeros(2)
    for size in range(1, 300):
        marks(CALL, torch.zeros(size), right)
    kept = canonical_form._directions.cache_info()
    assert kept.currsize < 100
    before = kept.misses
    far_larger = marks(CALL, torch.zeros(MOST_NUMBERS + 1), right)
    assert not any(mark.values for mark in far_larger.values())
    assert canonical_form._directions.cache_info().misses == before
