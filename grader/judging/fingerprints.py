"""What an answer is known by: its replies to a fixed set of requests, in their normal form.

The requests are examples of every check that carries points, drawn from a seed that never changes,
so that the fingerprints of the known mistakes are made once for a version of the kit and kept on
disk. A student's code is asked the same, in its sandbox, once a check has failed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from grader import curriculum
from grader.curriculum import mistakes, reference, stubs
from grader.curriculum.mistakes.variants import variants
from grader.feedback.prints import Fingerprints, Prints, Probe
from grader.judging.recording import Recording, Recordings
from grader.remote import wire
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Diverged, Recorder, Replay

SEED = 1706


def answers(module: ModuleType, requests: Sequence[dict[str, Any]]) -> list[Any]:
    """What a module in this process replies to requests."""
    server = Server(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mistakes are meant
        return [wire.crossed(server.answer(one)) for one in wire.crossed(list(requests))]


def asked(one: Probe, module: ModuleType) -> Prints:
    """The marks of what code in this process replies to a probe."""
    return one.read(answers(module, one.requests))


class Library(Fingerprints):
    """The fingerprints of an exercise, with the mistakes, and examples kept for telling apart."""

    def __init__(
        self,
        exercise: str,
        probes: Sequence[Probe],
        spares: Sequence[Probe],
        rows: Prints,
        failed: Tensor,
    ) -> None:
        """`rows` and `failed` are those of `Fingerprints`, in the order of `variants`."""
        self.exercise = exercise
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
        rows = [Prints.join([asked(probe, answer) for probe in probes])]
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
        theirs = Prints.join([asked(probe, module) for probe in self.probes])
        rows = Prints.stack([self.right, *(self.known[i] for i in range(len(self.variants)))])
        equal = rows.same(theirs) | (~rows.said & ~theirs.said)
        return bool(equal.all(dim=-1).any())

    def faults(self, name: str) -> list[str]:
        """What is amiss with an entry: an edit that no check catches, others that look the same."""
        found = []
        for index, variant in enumerate(self.variants):
            if name not in variant.mistakes:
                continue
            if not bool(self.failed[index].any()):
                found.append("no check catches it")
            row = self.known[index]
            equal = self.known.same(row) | (~self.known.said & ~row.said)
            for other, same in zip(self.variants, equal.all(dim=-1).tolist(), strict=True):
                if same and other.mistakes != variant.mistakes:
                    found.append(f"looks the same as {other.mistakes[0]}")
        return list(dict.fromkeys(found))

    def encoded(self) -> bytes:
        """The library as bytes, without the mistakes' sources."""
        rows = Prints.stack([self.right, *(self.known[i] for i in range(len(self.known.codes)))])
        alike = rows.same(self.right)
        alike[0] = False
        data = {
            "probes": [_probe_data(probe) for probe in self.probes],
            "spares": [_probe_data(probe) for probe in self.spares],
            # Nothing but zeros where a mistake does not show: that packs well.
            "codes": torch.where(alike, 0, rows.codes - self.right.codes),
            "values": torch.where(alike[..., None], 0.0, rows.values),
            "size": torch.where(alike, 0.0, rows.size),
            "rounding": torch.where(alike, 0.0, rows.rounding),
            "alike": alike,
            "right": self.right.codes,
            "failed": self.failed,
        }
        return zlib.compress(wire.encode(data), 1)

    @classmethod
    def decoded(cls, exercise: str, packed: bytes) -> Library:
        """The library that `encoded` wrote."""
        data = wire.decode_trusted(zlib.decompress(packed)[4:])
        alike, codes = data["alike"], data["codes"] + data["right"]
        codes[0] = data["right"]
        values, size, rounding = data["values"], data["size"], data["rounding"]
        rows = Prints(
            codes,
            torch.where(alike[..., None], values[0], values),
            torch.where(alike, size[0], size),
            torch.where(alike, rounding[0], rounding),
        )
        probes, spares = ([Probe(**one) for one in data[name]] for name in ("probes", "spares"))
        return cls(exercise, probes, spares, rows, data["failed"])


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


def load(exercise: str) -> Library:
    """The library of an exercise: from disk, where it is made at the first need."""
    file = _folder() / f"{exercise}-{_version(exercise)}.fingerprints"
    with contextlib.suppress(OSError, zlib.error, wire.WireError, KeyError):
        return Library.decoded(exercise, file.read_bytes())
    library = Library.make(exercise)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        for old in file.parent.glob(f"{exercise}-*.fingerprints"):
            old.unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
            part.write(library.encoded())
        Path(part.name).replace(file)
    return library


def _folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "transformer-by-hand"


def _version(exercise: str) -> str:
    """What the fingerprints are made of: answers, checks, mistakes, torch."""
    kit = Path(stubs.__file__).parent.parent
    known = kit / "curriculum" / "mistakes"
    files = [
        *(stubs.SOLUTIONS / f"{name}.py" for name in (exercise, *curriculum.closure(exercise))),
        *sorted((kit / "checks").rglob("*.py")),
        *sorted((kit / "remote").glob("*.py")),
        *(kit / "judging" / f"{name}.py" for name in ("fingerprints", "recording")),
        *(kit / "feedback" / f"{name}.py" for name in ("normal_form", "prints")),
        known / f"{exercise}.toml",
        *sorted((known / "forms" / exercise).glob("*.txt")),
    ]
    digest = hashlib.sha256(f"{torch.__version__}/{SEED}".encode())
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def probe(check: str, requests: Sequence[dict[str, Any]], answer: ModuleType) -> Probe:
    """A probe of these requests. Weights that do not fit are told of, and then passed over."""
    asked: list[dict[str, Any]] = []
    for request in requests:
        asked.append(request)
        if request["op"] == "load" and request.get("strict", True):
            asked.append({**request, "strict": False})
    return Probe(check, asked, answers(answer, asked))
