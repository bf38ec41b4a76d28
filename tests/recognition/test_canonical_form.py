"""What a reply says of the code that gave it."""

from __future__ import annotations

from typing import Any

import pytest

from grader.recognition.canonical_form import told

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
