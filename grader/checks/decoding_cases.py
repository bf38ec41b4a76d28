"""Cases of `decoding`: small models of which every possible target is known, with its score.

What greedy decoding, a beam, or a search through everything finds is looked up here, in a copy of
the model, and never asked of the code under test. Cases are drawn until no two scores that are to
be told apart are closer than `MARGIN`, and until the mistakes that the check is there for give
another result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework.inputs import Numbers, inputs
from grader.feedback.comparison import Mismatch, assert_matches, assert_shape
from grader.remote.fixtures import Translator
from grader.remote.proxy import RemoteModule

# Scores are sums of logarithms around one, off by 1e-6 in float32.
MARGIN = 1e-3
# exp of a logit of this size is infinite in float32, which keeps it to 1e-5.
LARGE = 150.0
# More places than any target has, for code that asks the model once too often.
ROOM = 12
AXES = ("batch", "target")
SRC_VOCAB = 7
D_MODEL = 6

Ids = tuple[int, ...]
# A target so far, with its log-probability.
Scored = tuple[float, Ids]


class Continuations:
    """For one source, the log-probabilities of all words after each beginning of a target."""

    def __init__(self, model: Translator, src: Tensor) -> None:
        self.model = model
        self.src = src
        self.known: dict[Ids, list[float]] = {}

    def longer(self, beginnings: list[Scored], most: int | None = None) -> list[Scored]:
        """All of these, which are of one length, with one more word, or the `most` likeliest."""
        unknown = [ids for _, ids in beginnings if ids not in self.known]
        if unknown:
            with torch.no_grad():
                logits = self.model(self.src.expand(len(unknown), -1), torch.tensor(unknown))
            found = logits[:, -1].log_softmax(-1).tolist()
            self.known.update(zip(unknown, found, strict=True))
        return [
            (score + gain, (*ids, word))
            for score, ids in beginnings
            for gain, word in sorted(
                ((gain, word) for word, gain in enumerate(self.known[ids])), reverse=True
            )[:most]
        ]


@dataclass(frozen=True, repr=False)  # hypothesis would print thousands of numbers
class DecodingCase:
    """A model, sources for it, and what the model says of every beginning for each source."""

    weights: dict[str, Tensor]
    src: Tensor
    vocab: int
    pad_id: int
    bos_id: int
    eos_id: int
    max_len: int
    rows: tuple[Continuations, ...]

    def model(self, student: Any) -> RemoteModule:
        """The model beside the student's code, in evaluation mode."""
        model: RemoteModule = student.give(
            "Translator", SRC_VOCAB, self.vocab, D_MODEL, ROOM, self.pad_id
        )
        return model.load(self.weights).eval()

    def greedy(self) -> list[Ids]:
        """What is written with the likeliest word at every place."""
        return [self.beam(row, 1) for row in self.rows]

    def beams(self, size: int, max_len: int | None = None) -> list[Ids]:
        """What a beam of this size finds for every source."""
        return [self.beam(row, size, max_len) for row in self.rows]

    def best(self, per_word: bool = False) -> list[Ids]:
        """The best of all targets there are; with `per_word`, of the mean score of a word."""
        return [max(self._all(row), key=lambda one: _rated(one, per_word))[1] for row in self.rows]

    def beam(
        self,
        row: Continuations,
        size: int,
        max_len: int | None = None,
        finished: Literal["compete", "forgotten", "beside", "reserved"] = "compete",
        complete: bool = False,
        per_word: bool = False,
        extensions: int | None = None,
    ) -> Ids:
        """What a beam finds. Raises `Undecided` where scores nearly tie.

        The options are mistakes: finished targets that are forgotten at the next step, that stay
        without taking a place in the beam, or that cannot lose theirs; only finished ones at the
        end; scores divided by the number of words; no more than so many extensions of each.
        """
        beam: list[Scored] = [(0.0, (self.bos_id,))]
        for _ in range((max_len or self.max_len) - 1):
            growing = [one for one in beam if not self.has_ended(one[1])]
            if not growing:
                break
            ended = [one for one in beam if self.has_ended(one[1])]
            candidates = ended if finished == "compete" else []
            candidates = candidates + row.longer(growing, extensions)
            candidates.sort(key=lambda one: _rated(one, per_word), reverse=True)
            places = size - len(ended) if finished == "reserved" else size
            _decided(candidates[max(places - 1, 0) : places + 1])
            beam = candidates[:places]
            if finished in ("beside", "reserved"):
                beam = beam + ended
        if complete:
            beam = [one for one in beam if self.has_ended(one[1])] or beam
        beam.sort(key=lambda one: _rated(one, per_word), reverse=True)
        _decided(beam[:2])
        return beam[0][1]

    def has_ended(self, ids: Ids) -> bool:
        """Whether the last word is the end word."""
        return ids[-1] == self.eos_id

    def _all(self, row: Continuations) -> list[Scored]:
        finished: list[Scored] = []
        growing: list[Scored] = [(0.0, (self.bos_id,))]
        for _ in range(self.max_len - 1):
            longer = row.longer(growing)
            finished += [one for one in longer if self.has_ended(one[1])]
            growing = [one for one in longer if not self.has_ended(one[1])]
        found = sorted(finished + growing, reverse=True)
        _decided(found[:2])
        return found


class Undecided(Exception):  # noqa: N818 - a case that is drawn anew, no error
    """Two scores of a case are so close that right code may take either."""


def _decided(scored: list[Scored]) -> None:
    if len(scored) == 2 and abs(scored[0][0] - scored[1][0]) < MARGIN:
        raise Undecided


def _rated(one: Scored, per_word: bool) -> float:
    return one[0] / (len(one[1]) - 1) if per_word and len(one[1]) > 1 else one[0]


@inputs
def cases(
    draw: st.DrawFn,  # noqa: ARG001
    numbers: Numbers,
    vocab: int,
    max_len: int,
    wanted: Callable[[DecodingCase], bool],
    end: float = 0.0,
    special: float = 0.0,
    offset: float = 0.0,
) -> DecodingCase:
    """Cases that are `wanted`.

    `end` makes the end word likelier and `special` the start word and padding, so that such cases
    are soon found. `offset` is added to all logits, which changes no probability.
    """
    for attempt in itertools.count():
        drawn = replace(numbers, run=numbers.run + attempt)
        case = _made(drawn, vocab, max_len, end, special, offset)
        try:
            if wanted(case):
                return case
        except Undecided:
            continue
    raise AssertionError  # there is always another


def _made(
    numbers: Numbers, vocab: int, max_len: int, end: float, special: float, offset: float
) -> DecodingCase:
    shapes = {
        "source": (SRC_VOCAB, D_MODEL),
        "target": (vocab, D_MODEL),
        "place": (ROOM, D_MODEL),
        "generator.weight": (vocab, D_MODEL),
        "generator.bias": (vocab,),
    }
    weights = {
        name: numbers.normal(name, *shape, dtype=torch.float32) for name, shape in shapes.items()
    }
    special_ids = torch.randperm(vocab, generator=numbers.generator("special ids"))[:3]
    pad_id, bos_id, eos_id = special_ids.tolist()
    weights["generator.bias"][eos_id] += end
    weights["generator.bias"][[pad_id, bos_id]] += special
    weights["generator.bias"] += offset
    # Sources of four words, of three and of two, and what is left is padding.
    src = numbers.ids("src", 3, 4, high=SRC_VOCAB - 1)
    src += src >= pad_id
    src[1, 3:] = pad_id
    src[2, 1] = src[2, 3] = pad_id
    model = Translator(SRC_VOCAB, vocab, D_MODEL, ROOM, pad_id)
    model.load_state_dict(weights)
    rows = tuple(Continuations(model, row) for row in src.unsqueeze(1))
    return DecodingCase(weights, src, vocab, pad_id, bos_id, eos_id, max_len, rows)


def assert_targets(found: Any, expected: list[Ids], case: DecodingCase, what: str) -> None:
    """These targets came back, filled with the padding id up to the longest, or further."""
    needed = max(map(len, expected))
    assert_matches_rows(found, len(expected), what)
    width = found.size(1)
    if width > case.max_len:
        raise Mismatch(
            f"Your {what} has {width} words; there may be {case.max_len}, the start word included."
        )
    width = max(width, needed)
    filled = [[*ids, *[case.pad_id] * (width - len(ids))] for ids in expected]
    assert_matches(
        found,
        torch.tensor(filled),
        what,
        axes=AXES,
        help=f"Here bos_id={case.bos_id}, eos_id={case.eos_id}, pad_id={case.pad_id}.",
    )


def assert_matches_rows(found: Any, rows: int, what: str) -> None:
    """It is a tensor with an axis of rows, that many, and an axis of words."""
    if not isinstance(found, Tensor) or found.dim() != 2 or found.size(0) != rows:
        width = found.size(1) if isinstance(found, Tensor) and found.dim() == 2 else 1
        assert_shape(found, {"batch": rows, "target": width}, what)
        raise Mismatch(f"Your {what} should be one tensor of shape (batch, target).")
