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
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from grader import curriculum
from grader.curriculum import mistakes, reference, stubs
from grader.curriculum.mistakes.variants import variants
from grader.judging.normal_form import PROJECTIONS, Mark, Marks, hidden, marks
from grader.judging.recording import Recording, Recordings
from grader.remote import wire
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Diverged, Recorder, Replay

SEED = 1706
UNSAID = -1
_DTYPE_WEIGHT = 0.25


@dataclass(frozen=True)
class Probe:
    """One example of a check: its requests, and the reference's replies to them."""

    check: str
    requests: Sequence[dict[str, Any]]
    right: Sequence[Any]

    @cached_property
    def keys(self) -> list[tuple[int, str]]:
        """All that can be compared: the number of a request, the path of a leaf of its reply."""
        return [(number, path) for number, found in self._marks(self.right) for path in found]

    @cached_property
    def weights(self) -> list[float]:
        """What every key counts for: a reply as much as another, its leaves together as much."""
        leaves: dict[int, float] = defaultdict(float)
        shares = [_DTYPE_WEIGHT if path.endswith("dtype") else 1.0 for _, path in self.keys]
        for (number, path), share in zip(self.keys, shares, strict=True):
            leaves[number] += share if path else 0.0
        telling = max(1, len(leaves))
        return [
            (share / leaves[number] if path else 1.0) / telling**0.5
            for (number, path), share in zip(self.keys, shares, strict=True)
        ]

    def read(self, replies: Sequence[Any]) -> Prints:
        """The marks of somebody's replies. What a crash has hidden has none."""
        found = {
            (number, path): mark
            for number, some in self._marks(replies)
            for path, mark in some.items()
        }
        return Prints.of([found.get(key) for key in self.keys])

    def _marks(self, replies: Sequence[Any]) -> Iterator[tuple[int, Marks]]:
        unsaid = hidden(self.requests, replies)
        pairs = zip(self.requests, replies, self.right, strict=False)
        for number, (request, reply, right) in enumerate(pairs):
            if number not in unsaid:
                yield number, marks(request, reply, right)

    def ask(self, module: ModuleType) -> Prints:
        """The marks of what code in this process replies."""
        return self.read(answers(module, self.requests))


@dataclass(frozen=True)
class Prints:
    """Marks by key, the last axis but for `values`; axes before it are different answers."""

    codes: Tensor
    values: Tensor
    size: Tensor
    rounding: Tensor

    @classmethod
    def of(cls, found: Sequence[Mark | None]) -> Prints:
        """These marks; nothing said where there is none."""
        nothing = Mark(UNSAID)
        some = [mark or nothing for mark in found]
        zeros = (0.0,) * PROJECTIONS
        return cls(
            torch.tensor([mark.code for mark in some], dtype=torch.int64),
            torch.tensor([mark.values or zeros for mark in some]).reshape(-1, PROJECTIONS),
            torch.tensor([mark.size for mark in some]),
            torch.tensor([mark.rounding for mark in some]),
        )

    @classmethod
    def blank(cls, count: int) -> Prints:
        """Nothing said anywhere."""
        return cls.of([None] * count)

    @classmethod
    def stack(cls, rows: Sequence[Prints]) -> Prints:
        """Several answers side by side."""
        return cls._of(torch.stack, rows)

    @classmethod
    def join(cls, parts: Sequence[Prints]) -> Prints:
        """What one answer says to several probes."""
        return cls._of(torch.cat, parts)

    @classmethod
    def _of(cls, operation: Any, items: Sequence[Prints]) -> Prints:
        fields = ("codes", "values", "size", "rounding")
        return cls(*(operation([getattr(item, name) for item in items]) for name in fields))

    def __getitem__(self, index: Any) -> Prints:
        return Prints(self.codes[index], self.values[index], self.size[index], self.rounding[index])

    @property
    def said(self) -> Tensor:
        """Where there is something to compare."""
        return self.codes != UNSAID

    def same(self, other: Prints) -> Tensor:
        """Where both say the same, but for rounding."""
        limit = torch.maximum(self.rounding, other.rounding) * torch.maximum(self.size, other.size)
        apart = (self.values - other.values).abs().amax(dim=-1)
        return (self.codes == other.codes) & self.said & (apart <= limit)

    def differs(self, other: Prints) -> Tensor:
        """Where both say something, and not the same."""
        return self.said & other.said & ~self.same(other)


def answers(module: ModuleType, requests: Sequence[dict[str, Any]]) -> list[Any]:
    """What a module in this process replies to requests."""
    server = Server(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mistakes are meant
        return [wire.crossed(server.answer(one)) for one in wire.crossed(list(requests))]


class Library:
    """The probes of an exercise, and the fingerprints of the reference and of all its mistakes."""

    def __init__(
        self,
        exercise: str,
        probes: Sequence[Probe],
        spares: Sequence[Probe],
        known: Prints,
        failed: Tensor,
    ) -> None:
        """`known` are the rows of the reference and of `variants`, in this order.

        `failed` says, by variant and probe, whether it fails the check that the probe is from.
        What a mistake leaves in a check that it passes is a difference that the check allows.
        """
        self.exercise = exercise
        self.probes = probes
        self.spares = spares
        self.mistakes = {one.name: one for one in mistakes.load(exercise)}
        self.variants = variants(exercise)
        self.right, self.known, self.failed = known[0], known[1:], failed
        self.weights = torch.tensor([one for probe in probes for one in probe.weights])
        self.checks = torch.tensor(
            [number for number, probe in enumerate(probes) for _ in probe.keys]
        )
        self.shown = self.known.differs(self.right) & failed[:, self.checks]

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
        rows = [Prints.join([probe.ask(answer) for probe in probes])]
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
        theirs = Prints.join([probe.ask(module) for probe in self.probes])
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
        *(kit / "judging" / f"{name}.py" for name in ("fingerprints", "normal_form", "recording")),
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
