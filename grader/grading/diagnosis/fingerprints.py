"""Fingerprints of answers: their replies to a fixed set of requests, in canonical form.

The requests are examples of every check that carries points, drawn from a seed that never changes,
so that the fingerprints of known mistakes are made once per version of the kit and kept on disk.
After a check has failed, the student's code gets the same requests in its sandbox.
"""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from grader.checks import framework
from grader.checks.framework.inputs import Draws, remembered_draws
from grader.curriculum import mistakes, reference, stubs
from grader.curriculum.mistakes.variants import variants
from grader.grading.diagnosis.endless import ends
from grader.grading.question import Question
from grader.grading.recording import Example, Recording, Recordings
from grader.recognition import cache, packing, prepared
from grader.recognition.configuration import settings
from grader.recognition.features import Fingerprints, Prints, Probe
from grader.recognition.thresholds import FITTING
from grader.recognition.unused import left_out
from grader.remote import wire
from grader.remote.nested import sendable
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Diverged, Recorder, Replay, answers

SEED = 1706


class Library(Fingerprints):
    """The fingerprints of an exercise, its mistakes, and held-out examples to tell them apart."""

    def __init__(
        self,
        exercise: str,
        probes: Sequence[Question],
        held_out: Callable[[], Sequence[Question]],
        marks: Mapping[str, Any],
        failed: Tensor,
        draws: Draws,
    ) -> None:
        """Take `marks`, the packed rows of `Fingerprints`, and `failed`, as there.

        Both are in the order of `variants`. `held_out` is called once these examples are needed,
        which they rarely are. `draws` holds the seeds of the random numbers in the requests.
        """
        self.exercise = exercise
        self.marks = marks
        self.draws = draws
        self.questions = probes
        self._held_out = held_out
        self.mistakes = {mistake.name: mistake for mistake in mistakes.load(exercise)}
        self.variants = variants(exercise)
        names = [name for variant in self.variants for name in variant.mistakes]
        right = Prints.join([probe.right_prints for probe in probes])
        rows = packing.with_reference(packing.unpacked(marks), right)
        super().__init__(probes, names, rows, failed)

    @classmethod
    def make(cls, exercise: str) -> Library:
        """Ask the reference, and every edited answer if the kit has no data on them that fits."""
        answer = reference.module(exercise)
        counted = [check for check in framework.load(exercise) if check.points]
        with remembered_draws() as draws:
            recordings = Recordings(SEED).some(exercise, counted)
        # The largest example of a check reveals most.
        drawn = [
            [probe(recording.check.name, case, answer) for case in recording.cases]
            for recording in recordings
        ]
        probes = [some[-1] for some in drawn]
        held_out = [one for some in drawn for one in some[:-1]]
        # A check with a single example has none to hold out: take another draw.
        single = [recording.check for recording in recordings if len(recording.cases) == 1]
        held_out += [
            probe(recording.check.name, recording.cases[-1], answer)
            for recording in Recordings(SEED + 1).some(exercise, single)
        ]
        marks, failed = shipped(exercise, probes) or _asked(exercise, probes, recordings)
        return cls(exercise, probes, lambda: held_out, marks, failed, draws)

    @cached_property
    def held_out(self) -> Sequence[Question]:
        """Examples that tell mistakes apart which look the same in the probes."""
        return self._held_out()

    @cached_property
    def unread(self) -> dict[str, frozenset[str]]:
        """What each mistake leaves out (arguments, sorting), for the mistakes that show in it."""
        forms = {"": stubs.reference_source(self.exercise), **mistakes.forms(self.exercise)}
        return {
            name: _left_out(entry.apply(form := forms[entry.edits[0].form])) - _left_out(form)
            for name, entry in self.mistakes.items()
            if entry.unused
        }

    def leaves_unread(self, names: Sequence[str]) -> AbstractSet[str]:
        """Return the arguments that answers with one of these mistakes do not read.

        Of those that only some forms of a mistake leave unread, those that its text is about.
        """
        right = _left_out(stubs.reference_source(self.exercise))
        unread: set[str] = set()
        for name in names:
            told = self.mistakes[name].tells
            made = [_left_out(one.source) for one in self.variants if name in one.mistakes]
            unread |= {
                argument
                for argument in frozenset().union(*made) - right
                if all(argument in form for form in made)
                or re.search(rf"\b{re.escape(argument.rpartition('.')[2])}\b", told)
            }
        return unread

    def holds(self, source: str) -> bool:
        """Return whether an answer behaves as the reference does, or as one known mistake."""
        module = reference.variant(self.exercise, source)
        if not isinstance(module, ModuleType):
            return True
        prints = Prints.join([probe.asked(module) for probe in self.questions])
        rows = Prints.stack([self.right, *(self.known[i] for i in range(len(self.variants)))])
        return bool(rows.equal(prints).all(dim=-1).any())

    def fails(self, names: Sequence[str]) -> set[str]:
        """Return the checks that answers with one of these mistakes fail."""
        rows = [row for row, name in enumerate(self.names) if name in names]
        failed = self.failed[rows].any(dim=0).tolist()
        return {probe.check for probe, fails in zip(self.probes, failed, strict=True) if fails}

    def raises(self, names: Sequence[str]) -> set[str]:
        """Return the checks in which answers with one of these mistakes raise an exception."""
        rows = [row for row, name in enumerate(self.names) if name in names]
        raises = (self.known[rows].raised & self.shown[rows]).any(dim=0)
        return {self.probes[number].check for number in self.checks[raises].tolist()}

    def faults(self, name: str) -> list[str]:
        """Return an entry's faults: an edit that no check catches, entries that look the same."""
        faults = []
        for index, variant in enumerate(self.variants):
            if name not in variant.mistakes:
                continue
            if not bool(self.failed[index].any()):
                faults.append("no check catches it")
            row = self.known[index]
            equal = self.known.equal(row).all(dim=-1).tolist()
            for other, same in zip(self.variants, equal, strict=True):
                if same and other.mistakes != variant.mistakes:
                    faults.append(f"looks the same as {other.mistakes[0]}")
        return list(dict.fromkeys(faults))

    def encoded(self) -> bytes:
        """Return the library as bytes, without the mistakes' sources."""
        data = {
            "marks": self.marks,
            "failed": self.failed,
            "probes": _encoded(self.questions),
            "held_out": _encoded(self.held_out),
            "draws": [(*draw, scale) for draw, scale in self.draws.items()],
        }
        return wire.encode(data)

    @classmethod
    def decoded(cls, exercise: str, packed: bytes) -> Library:
        """Return the library that `encoded` wrote."""
        data = wire.decode_trusted(wire.body(packed))
        draws = {(seed, count): scale for seed, count, scale in data["draws"]}
        held_out = partial(_decoded, data["held_out"])
        return cls(
            exercise, _decoded(data["probes"]), held_out, data["marks"], data["failed"], draws
        )


@functools.cache
def _left_out(source: str) -> frozenset[str]:
    return left_out(source)


def shipped(exercise: str, probes: Sequence[Question]) -> tuple[Mapping[str, Any], Tensor] | None:
    """Return the shipped marks of all edited answers, and the checks that they fail.

    None if they were made from other sources, or too many of the reference's marks differ by now.
    """
    content = prepared.with_marks(exercise)
    if content is None:
        return None
    with contextlib.suppress(Exception):  # whatever is wrong with it, making it anew fixes that
        data = prepared.unpacked(content)
        right = Prints.join([probe.right_prints for probe in probes])
        fits = packing.unpacked(data["marks"])[0].equal(right)
        if float(fits.float().mean()) >= FITTING:
            return data["marks"], data["failed"]
    return None


def _asked(
    exercise: str, probes: Sequence[Question], recordings: Sequence[Recording]
) -> tuple[Mapping[str, Any], Tensor]:
    """Return the marks of all edited answers, and which checks they fail. Takes seconds.

    Raises `MistakeError` if one of them never ends.
    """
    rows = [Prints.join([probe.right_prints for probe in probes])]
    failed = []
    for variant in variants(exercise):
        with ends(exercise, *variant.mistakes):
            module = reference.variant(exercise, variant.source)
            if isinstance(module, ModuleType):
                replies = [probe.answered(module) for probe in probes]
                prints = Prints.join([*map(Probe.read, probes, replies)])
                rows.append(prints.coarser(mistakes.rounding(exercise, variant.mistakes)))
                failed.append([*map(partial(_fails, module), recordings, probes, replies)])
            else:
                rows.append(Prints.blank(len(rows[0].codes)))
                failed.append([False for _ in probes])
    return packing.packed(Prints.stack(rows)), torch.tensor(failed)


def _fails(module: ModuleType, recording: Recording, probe: Probe, replies: Sequence[Any]) -> bool:
    """Return whether the check refuses these replies to its largest example."""
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


def _encoded(questions: Sequence[Question]) -> bytes:
    return wire.encode(
        [
            {
                "check": question.check,
                "requests": list(question.requests),
                "right": list(question.right),
                "settings": list(question.settings),
            }
            for question in questions
        ]
    )


def _decoded(packed: bytes) -> list[Question]:
    questions = wire.decode_trusted(wire.body(packed))
    return [Question(**{**one, "requests": sendable(one["requests"])}) for one in questions]


_ahead: dict[str, Library] = {}


def read_ahead(exercise: str) -> None:
    """Read the library if it is on disk, for `load` in the processes forked from this one.

    They would each read it at the first wrong answer, and hold megabytes of their own.
    """
    library = _read(exercise, cache.file(exercise, "fingerprints"))
    if library is not None:
        _ahead[exercise] = library


def load(exercise: str) -> Library:
    """Return the library of an exercise: from disk, where it is made at the first need."""
    if exercise in _ahead:
        return _ahead[exercise]
    file = cache.file(exercise, "fingerprints")
    prints = _read(exercise, file)
    if prints is not None:
        return prints
    with cache.made_once(file):
        library = _read(exercise, file)
        if library is None:
            library = Library.make(exercise)
            with contextlib.suppress(OSError):
                cache.write(file, cache.sealed(library.encoded()))
    return library


def _read(exercise: str, file: Path) -> Library | None:
    """Return the library from disk; None if none can be read and trusted."""
    packed = cache.unsealed(file)
    if packed is None:
        return None
    with contextlib.suppress(Exception):  # whatever is wrong with it, making it anew fixes that
        return Library.decoded(exercise, packed)
    return None


def probe(check: str, case: Example, answer: ModuleType) -> Question:
    """Return a probe of a case. Weights that don't fit raise once and are then skipped.

    Those of the reference fit, so that its replies are those of the recording.
    """
    asked: list[dict[str, Any]] = []
    right: list[Any] = []
    for request, reply in zip(case.requests, case.right, strict=True):
        twice = request["op"] == "load" and request.get("strict", True)
        asked += [request, {**request, "strict": False}] if twice else [request]
        right += [reply, reply] if twice else [reply]
    right = right if case.repeatable else answers(answer, asked)
    return Question(check, asked, right, settings(answer, asked))
