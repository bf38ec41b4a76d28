"""Fingerprints are made from the recording, as if the reference had been asked anew."""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch import Tensor

from grader.checks import framework
from grader.curriculum import reference
from grader.grading.diagnosis import fingerprints
from grader.grading.diagnosis.fingerprints import probe
from grader.grading.recording import Recordings
from grader.remote import wire
from grader.remote.session import answers


@pytest.mark.parametrize("exercise", ["layer_norm", "training", "transformer"])
def test_a_probe_holds_what_another_process_would_reply(exercise: str) -> None:
    """Checks of training draw weights from the generator that the code is seeded with.

    Those of the transformer edit a gradient that they have been given.
    """
    answer = reference.module(exercise)
    checks = [check for check in framework.load(exercise) if check.points]
    for recording in Recordings(1706).some(exercise, checks):
        asked = probe(recording.check.name, recording.cases[-1], answer)
        replies = answers(answer, list(asked.requests))
        assert wire.encode(list(asked.right)) == wire.encode(replies), recording.check.name


def test_shipped_marks_are_used_where_a_processor_rounds_another_way() -> None:
    """One number of the reference's that differs costs nobody the minutes of making all anew."""
    answer = reference.module("layer_norm")
    checks = [check for check in framework.load("layer_norm") if check.points]
    recordings = Recordings(fingerprints.SEED).some("layer_norm", checks)
    probes = [probe(one.check.name, one.cases[-1], answer) for one in recordings]
    assert fingerprints.shipped("layer_norm", probes) is not None
    changed = 0
    for number, reply in enumerate(probes[0].right):
        if isinstance(reply.get("ok"), Tensor) and reply["ok"].is_floating_point():
            right = [*probes[0].right]
            right[number] = {"ok": reply["ok"] + 1}
            other = [replace(probes[0], right=right), *probes[1:]]
            assert fingerprints.shipped("layer_norm", other) is not None
            changed += 1
    assert changed
    nothing = [replace(one, right=[{"ok": None}] * len(one.right)) for one in probes]
    assert fingerprints.shipped("layer_norm", nothing) is None


def test_what_was_read_ahead_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "_ahead", {})
    fingerprints.load("masks")  # which makes the file if need be
    fingerprints.read_ahead("masks")
    assert fingerprints.load("masks") is fingerprints.load("masks")
