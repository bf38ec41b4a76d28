"""A known mistake whose edit never ends is reported, and the command does not hang."""

from __future__ import annotations

import pytest

from grader.curriculum import stubs
from grader.curriculum.mistakes import MistakeError
from grader.curriculum.mistakes.variants import Variant
from grader.grading.diagnosis import endless, fingerprints


def test_an_entry_whose_edit_never_ends_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "return (ids != pad_id)[:, None, None, :]"
    source = stubs.reference_source("masks")
    assert line in source
    edited = Variant(("never-returns",), source.replace(line, "while True: pass"))
    monkeypatch.setattr(fingerprints, "variants", lambda _: [edited])
    monkeypatch.setattr(fingerprints, "shipped", lambda *_: None)
    monkeypatch.setattr(endless, "SECONDS", 0.1)
    monkeypatch.setattr(endless, "TICK", 0.01)
    with pytest.raises(MistakeError, match="masks/never-returns: an answer with this edit"):
        fingerprints.Library.make("masks")
