"""Fingerprints are made from the recording, as if the reference had been asked anew."""

from __future__ import annotations

import pytest

from grader.checks import framework
from grader.curriculum import reference
from grader.grading.diagnosis.fingerprints import probe
from grader.grading.recording import Recordings
from grader.remote import wire
from grader.remote.session import answers


@pytest.mark.parametrize("exercise", ["layer_norm", "training"])
def test_a_probe_holds_what_another_process_would_reply(exercise: str) -> None:
    """Checks of training draw weights from the generator that the code is seeded with."""
    answer = reference.module(exercise)
    checks = [check for check in framework.load(exercise) if check.points]
    for recording in Recordings(1706).some(exercise, checks):
        asked = probe(recording.check.name, recording.cases[-1], answer)
        replies = answers(answer, list(asked.requests))
        assert wire.encode(list(asked.right)) == wire.encode(replies), recording.check.name
