"""Names a student's mistake: the known one that behaves exactly as their code does.

A fingerprint is what an answer replies to a fixed set of requests: one case of every check. Each
known mistake, put into the reference, has one. Where a student's is the same, the mistake is named;
where two are, both; where none is, nothing is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from grader.curriculum import mistakes, reference
from grader.curriculum.mistakes import Mistake
from grader.judging.recording import Recording
from grader.remote import wire
from grader.remote.server import Server
from grader.report.results import Diagnosis

# Float32 noise is 1e-6; what tells two mistakes apart on such inputs is 1e-3 and more.
TOLERANCE = 1e-4
MAX_NAMED = 2


class Diagnostician:
    """Knows how every mistake of one exercise behaves, and finds out only what it is asked."""

    def __init__(self, exercise: str, recordings: Sequence[Recording]) -> None:
        self.recordings = [one for one in recordings if one.check.points]
        self.known = {
            mistake: reference.variant(exercise, mistake.apply)
            for mistake in mistakes.load(exercise)
        }
        self.fingerprints: dict[tuple[Mistake, str], list[Any]] = {}

    def diagnose(self, replies: Mapping[str, Sequence[Any]]) -> tuple[Diagnosis, ...]:
        """The mistakes that explain a student's replies; none is the usual case.

        `replies` are those to the first case of each check, by its name.
        """
        if any(one.check.name not in replies for one in self.recordings):
            return ()
        found = [
            mistake for mistake, module in self.known.items() if isinstance(module, ModuleType)
        ]
        for recording in self.recordings:
            theirs = list(replies[recording.check.name])
            found = [one for one in found if alike(theirs, self._fingerprint(one, recording))]
        if not 1 <= len(found) <= MAX_NAMED:
            return ()
        names = tuple(mistake.name for mistake in found)
        return (Diagnosis(names, _message(found)),)

    def _fingerprint(self, mistake: Mistake, recording: Recording) -> list[Any]:
        key = (mistake, recording.check.name)
        if key not in self.fingerprints:
            server = Server(self.known[mistake])
            requests = wire.crossed(recording.cases[0].requests)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the mistakes are meant
                self.fingerprints[key] = [wire.crossed(server.answer(one)) for one in requests]
        return self.fingerprints[key]


def _message(found: Sequence[Mistake]) -> str:
    first, *others = (f"{mistake.tells}\n{mistake.asks}" for mistake in found)
    return "\nOr, which looks the same from here:\n".join([first, *others])


def alike(left: Any, right: Any) -> bool:
    """Whether two replies are the same but for rounding and for the words of an exception."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Tensor):
        return _close(left, right)
    if isinstance(left, dict):
        if "error" in left and "error" in right:
            return bool(left["error"]["kinds"] == right["error"]["kinds"])
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(alike, left, right))
    if isinstance(left, wire.Affine):
        return alike(left.scale, right.scale) and alike(left.shift, right.shift)
    return bool(left == right)


def _close(left: Tensor, right: Tensor) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if not left.is_floating_point():
        return torch.equal(left, right)
    size = right.double().nan_to_num(0.0, 0.0, 0.0).abs().max().item() if right.numel() else 0.0
    return torch.allclose(
        left.double(), right.double(), rtol=TOLERANCE, atol=TOLERANCE * size, equal_nan=True
    )
