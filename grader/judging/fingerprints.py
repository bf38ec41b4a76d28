"""What an answer is known by: its replies to a fixed set of requests, in their normal form.

The requests are examples of every check that carries points, drawn from a seed that never changes,
so that the fingerprints of the known mistakes are made once for a version of the kit and kept on
disk. A student's code is asked the same, in its sandbox, once a check has failed.
"""

from __future__ import annotations

import contextlib
import warnings
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from grader.curriculum import kept, mistakes, reference
from grader.curriculum.mistakes.variants import variants
from grader.feedback.prints import Fingerprints, Prints, Probe, rows_from
from grader.judging.question import Question
from grader.judging.recording import Recording, Recordings
from grader.remote import wire
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Diverged, Recorder, Replay, answers

SEED = 1706


class Library(Fingerprints):
    """The fingerprints of an exercise, with the mistakes, and examples kept for telling apart."""

    def __init__(
        self,
        exercise: str,
        probes: Sequence[Question],
        spares: Sequence[Question],
        rows: Prints,
        failed: Tensor,
    ) -> None:
        """`rows` and `failed` are those of `Fingerprints`, in the order of `variants`."""
        self.exercise = exercise
        self.questions = probes
        self.spares = spares
        self.mistakes = {one.name: one for one in mistakes.load(exercise)}
        self.variants = variants(exercise)
        names = [name for variant in self.variants for name in variant.mistakes]
        super().__init__(probes, names, rows, failed)

    @classmethod
    def make(cls, exercise: str) -> Library:
        """Asks every edited answer. Takes seconds."""
        answer = reference.module(exercise)
        recordings = [one for one in Recordings(SEED).of(exercise) if one.check.points]
        # The largest example of every check shows most.
        drawn = [
            [probe(one.check.name, case.requests, answer) for case in one.cases]
            for one in recordings
        ]
        probes = [some[-1] for some in drawn]
        spares = [one for some in drawn for one in some[:-1]]
        # What has a single example has none to spare: another draw has.
        single = {one.check.name for one in recordings if len(one.cases) == 1}
        spares += [
            probe(one.check.name, one.cases[-1].requests, answer)
            for one in Recordings(SEED + 1).of(exercise)
            if one.check.name in single
        ]
        rows = [Prints.join([probe.right_prints for probe in probes])]
        failed = []
        for variant in variants(exercise):
            module = reference.variant(exercise, variant.source)
            if isinstance(module, ModuleType):
                replies = [answers(module, probe.requests) for probe in probes]
                rows.append(Prints.join([*map(Probe.read, probes, replies)]))
                failed.append([*map(partial(_fails, module), recordings, probes, replies)])
            else:
                rows.append(Prints.blank(len(rows[0].codes)))
                failed.append([False for _ in probes])
        return cls(exercise, probes, spares, Prints.stack(rows), torch.tensor(failed))

    def holds(self, source: str) -> bool:
        """Whether an answer behaves as the reference does, or as one known mistake."""
        module = reference.variant(self.exercise, source)
        if not isinstance(module, ModuleType):
            return True
        theirs = Prints.join([probe.asked(module) for probe in self.questions])
        rows = Prints.stack([self.right, *(self.known[i] for i in range(len(self.variants)))])
        return bool(rows.equal(theirs).all(dim=-1).any())

    def fails(self, names: Sequence[str]) -> set[str]:
        """The checks that answers with one of these mistakes fail."""
        rows = [row for row, name in enumerate(self.names) if name in names]
        failed = self.failed[rows].any(dim=0).tolist()
        return {probe.check for probe, fails in zip(self.probes, failed, strict=True) if fails}

    def faults(self, name: str) -> list[str]:
        """What is amiss with an entry: an edit that no check catches, others that look the same."""
        found = []
        for index, variant in enumerate(self.variants):
            if name not in variant.mistakes:
                continue
            if not bool(self.failed[index].any()):
                found.append("no check catches it")
            row = self.known[index]
            equal = self.known.equal(row).all(dim=-1).tolist()
            for other, same in zip(self.variants, equal, strict=True):
                if same and other.mistakes != variant.mistakes:
                    found.append(f"looks the same as {other.mistakes[0]}")
        return list(dict.fromkeys(found))

    def encoded(self) -> bytes:
        """The library as bytes, without the mistakes' sources."""
        data = {
            **self.rows_data(),
            "probes": [_probe_data(probe) for probe in self.probes],
            "spares": [_probe_data(probe) for probe in self.spares],
        }
        return zlib.compress(wire.encode(data), 1)

    @classmethod
    def decoded(cls, exercise: str, packed: bytes) -> Library:
        """The library that `encoded` wrote."""
        data = wire.decode_trusted(wire.body(zlib.decompress(packed)))
        probes, spares = (
            [Question(**{**one, "requests": _sendable(one["requests"])}) for one in data[name]]
            for name in ("probes", "spares")
        )
        return cls(exercise, probes, spares, rows_from(data), data["failed"])


def _fails(module: ModuleType, recording: Recording, probe: Probe, replies: Sequence[Any]) -> bool:
    """Whether the check refuses these replies to its largest example."""
    asked = [
        (request, reply)
        for before, request, reply in zip(
            [{}, *probe.requests], probe.requests, replies, strict=False
        )
        if not _repeats(before, request)
    ]
    replay = Replay([request for request, _ in asked], [reply for _, reply in asked])
    arguments = recording.cases[-1].arguments
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                recording.check.body(Student(replay, recording.seed), **arguments)
            except Diverged:
                live = Student(Recorder(Server(module)), recording.seed)
                recording.check.body(live, **arguments)
    except Exception:
        return True
    return False


def _repeats(before: dict[str, Any], request: dict[str, Any]) -> bool:
    return request["op"] == "load" == before.get("op") and not request.get("strict", True)


def _probe_data(probe: Probe) -> dict[str, Any]:
    return {"check": probe.check, "requests": list(probe.requests), "right": list(probe.right)}


def _sendable(value: Any) -> Any:
    """Requests that came over the line, as they were before: an iterator can be sent again."""
    if isinstance(value, dict):
        return {key: _sendable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_sendable, value))
    return wire.Once(tuple(value)) if isinstance(value, Iterator) else value


def load(exercise: str) -> Library:
    """The library of an exercise: from disk, where it is made at the first need."""
    file = kept.file(exercise, "fingerprints")
    found = _read(exercise, file)
    if found is not None:
        return found
    with kept.made_once(file):
        library = _read(exercise, file)
        if library is None:
            library = Library.make(exercise)
            with contextlib.suppress(OSError):
                kept.write(file, library.encoded())
    return library


def _read(exercise: str, file: Path) -> Library | None:
    with contextlib.suppress(OSError, zlib.error, wire.WireError, KeyError):
        return Library.decoded(exercise, file.read_bytes())
    return None


def probe(check: str, requests: Sequence[dict[str, Any]], answer: ModuleType) -> Question:
    """A probe of these requests. Weights that do not fit are told of, and then passed over."""
    asked: list[dict[str, Any]] = []
    for request in requests:
        asked.append(request)
        if request["op"] == "load" and request.get("strict", True):
            asked.append({**request, "strict": False})
    return Question(check, asked, answers(answer, asked))
