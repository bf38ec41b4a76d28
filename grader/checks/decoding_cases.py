"""Cases of `decoding`: small models of which every possible target is known, with its score.

The results of greedy decoding, beam search and exhaustive search are computed here, with a copy of
the model. Cases are drawn until no two scores to be distinguished are closer than `MARGIN`, and
until the mistakes that a check looks for give another result.
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
from grader.remote.proxy import RemoteModule
from grader.remote.translator import Translator

# Scores are sums of logarithms around one; float32 is off by 1e-6.
MARGIN = 1e-3
# exp of a logit of this size is infinite in float32, which holds the logit to 1e-5.
LARGE = 150.0
# More positions than any target has, for code that calls the model once too often.
ROOM = 12
AXES = ("batch", "target")
SRC_VOCAB = 7
D_MODEL = 6

Ids = tuple[int, ...]
# A target so far, with its log-probability.
Scored = tuple[float, Ids]


class Continuations:
    """For one source, the log-probabilities of all tokens after each beginning of a target."""

    def __init__(self, model: Translator, src: Tensor) -> None:
        self.model = model
        self.src = src
        self.known: dict[Ids, list[float]] = {}

    def longer(self, beginnings: list[Scored], most: int | None = None) -> list[Scored]:
        """Extend targets of equal length by one token, by all or by the `most` likeliest."""
        unknown = [ids for _, ids in beginnings if ids not in self.known]
        if unknown:
            with torch.no_grad():
                logits = self.model(self.src.expand(len(unknown), -1), torch.tensor(unknown))
            result = logits[:, -1].log_softmax(-1).tolist()
            self.known.update(zip(unknown, result, strict=True))
        return [
            (score + gain, (*ids, word))
            for score, ids in beginnings
            for gain, word in sorted(
                ((gain, word) for word, gain in enumerate(self.known[ids])), reverse=True
            )[:most]
        ]


@dataclass(frozen=True, repr=False)  # hypothesis would print thousands of numbers
class DecodingCase:
    """A model, sources for it, and the model's predictions after every beginning of a target."""

    weights: dict[str, Tensor]
    src: Tensor
    vocab: int
    pad_id: int
    bos_id: int
    eos_id: int
    max_len: int
    rows: tuple[Continuations, ...]

    def model(self, student: Any) -> RemoteModule:
        """Return the model, next to the student's code, in evaluation mode."""
        model: RemoteModule = student.give(
            "Translator", SRC_VOCAB, self.vocab, D_MODEL, ROOM, self.pad_id
        )
        return model.load(self.weights).eval()

    def greedy(self) -> list[Ids]:
        """Return the targets with the likeliest token at every position."""
        return [self.beam(row, 1) for row in self.rows]

    def beams(self, size: int, max_len: int | None = None) -> list[Ids]:
        """Return the targets that a beam of this size finds for every source."""
        return [self.beam(row, size, max_len) for row in self.rows]

    def best(self, per_word: bool = False) -> list[Ids]:
        """Return the best of all possible targets; with `per_word`, by the mean score per token."""
        return [
            max(self._all(row), key=lambda sentence: _rated(sentence, per_word))[1]
            for row in self.rows
        ]

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
        """Return the target that a beam finds. Raises `Undecided` where scores nearly tie.

        The options are mistakes: finished targets that are forgotten at the next step, that do not
        count towards the beam's size, or that cannot drop out of it; only finished ones at the end;
        scores divided by the number of tokens; a limited number of extensions of each.
        """
        beam: list[Scored] = [(0.0, (self.bos_id,))]
        for _ in range((max_len or self.max_len) - 1):
            growing = [sentence for sentence in beam if not self.has_ended(sentence[1])]
            if not growing:
                break
            ended = [sentence for sentence in beam if self.has_ended(sentence[1])]
            candidates = ended if finished == "compete" else []
            candidates = candidates + row.longer(growing, extensions)
            candidates.sort(key=lambda sentence: _rated(sentence, per_word), reverse=True)
            slots = size - len(ended) if finished == "reserved" else size
            _decided(candidates[max(slots - 1, 0) : slots + 1])
            beam = candidates[:slots]
            if finished in ("beside", "reserved"):
                beam = beam + ended
        if complete:
            beam = [sentence for sentence in beam if self.has_ended(sentence[1])] or beam
        beam.sort(key=lambda sentence: _rated(sentence, per_word), reverse=True)
        _decided(beam[:2])
        return beam[0][1]

    def score(self, row: int, ids: Ids) -> tuple[float, float]:
        """Return the sum and the mean of the log-probabilities of a target's tokens."""
        total = sum(
            gain
            for end in range(1, len(ids))
            for gain, longer in self.rows[row].longer([(0.0, ids[:end])])
            if longer == ids[: end + 1]
        )
        return total, total / (len(ids) - 1)

    def has_ended(self, ids: Ids) -> bool:
        """Return whether the last token is the end token."""
        return ids[-1] == self.eos_id

    def _all(self, row: Continuations) -> list[Scored]:
        finished: list[Scored] = []
        growing: list[Scored] = [(0.0, (self.bos_id,))]
        for _ in range(self.max_len - 1):
            longer = row.longer(growing)
            finished += [sentence for sentence in longer if self.has_ended(sentence[1])]
            growing = [sentence for sentence in longer if not self.has_ended(sentence[1])]
        result = sorted(finished + growing, reverse=True)
        _decided(result[:2])
        return result


class Undecided(Exception):  # noqa: N818 - a case that is drawn anew, no error
    """Two scores of a case are so close that right code may choose either."""


def _decided(scored: list[Scored]) -> None:
    if len(scored) == 2 and abs(scored[0][0] - scored[1][0]) < MARGIN:
        raise Undecided


def _rated(scored: Scored, per_word: bool) -> float:
    return scored[0] / (len(scored[1]) - 1) if per_word and len(scored[1]) > 1 else scored[0]


@inputs
def cases(
    draw: st.DrawFn,  # noqa: ARG001
    numbers: Numbers,
    vocab: int,
    max_len: int,
    accepts: Callable[[DecodingCase], bool],
    end: float = 0.0,
    special: float = 0.0,
    offset: float = 0.0,
) -> DecodingCase:
    """Draw cases that `accepts` accepts.

    `end` makes the end token likelier, `special` start token and padding, so that such cases are
    found soon. `offset` is added to all logits, which changes no probability.
    """
    for attempt in itertools.count():
        drawn = replace(numbers, run=numbers.run + attempt)
        case = _made(drawn, vocab, max_len, end, special, offset)
        try:
            if accepts(case):
                return case
        except Undecided:
            continue
    raise AssertionError  # attempts never run out


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
    # Sources of four, three and two tokens; the rest is padding.
    src = numbers.ids("src", 3, 4, high=SRC_VOCAB - 1)
    src += src >= pad_id
    src[1, 3:] = pad_id
    src[2, 1] = src[2, 3] = pad_id
    model = Translator(SRC_VOCAB, vocab, D_MODEL, ROOM, pad_id)
    model.load_state_dict(weights)
    rows = tuple(Continuations(model, row) for row in src.unsqueeze(1))
    return DecodingCase(weights, src, vocab, pad_id, bos_id, eos_id, max_len, rows)


def assert_targets(
    actual: Any, expected: list[Ids], case: DecodingCase, subject: str, help: str = ""
) -> None:
    """Check that these targets came back, filled with the padding id up to the longest or more."""
    needed = max(map(len, expected))
    assert_matches_rows(actual, len(expected), subject)
    width = actual.size(1)
    if width > case.max_len:
        raise Mismatch(
            f"Your {subject} has {width} tokens; max_len is {case.max_len}, start token included."
        )
    width = max(width, needed)
    filled = [[*ids, *[case.pad_id] * (width - len(ids))] for ids in expected]
    ids = f"Here bos_id={case.bos_id}, eos_id={case.eos_id}, pad_id={case.pad_id}."
    help = "\n".join(filter(None, (ids, help)))
    assert_matches(actual, torch.tensor(filled), subject, axes=AXES, help=help)


def scores(actual: Any, expected: list[Ids], case: DecodingCase) -> str:
    """The scores of the first target that is wrong and of the right one, in words."""
    rows = actual.tolist() if isinstance(actual, Tensor) and actual.dim() == 2 else []
    for number, (row, right) in enumerate(zip(rows, expected, strict=False)):
        end = row.index(case.eos_id) + 1 if case.eos_id in row else len(row)
        yours = tuple(row[:end])
        is_target = (
            len(yours) > 1
            and yours[0] == case.bos_id
            and all(type(word) is int and 0 <= word < case.vocab for word in yours)
        )
        if yours != right and is_target:
            (score, mean), (best, best_mean) = (case.score(number, ids) for ids in (yours, right))
            return (
                f"The log-probabilities of your tokens in batch {number} sum to {score:.3f}, a "
                f"mean of {mean:.3f}; those of the expected ones to {best:.3f}, a mean of "
                f"{best_mean:.3f}."
            )
    return ""


def assert_matches_rows(actual: Any, rows: int, subject: str) -> None:
    """Check that it is a tensor of shape (rows, length)."""
    if not isinstance(actual, Tensor) or actual.dim() != 2 or actual.size(0) != rows:
        width = actual.size(1) if isinstance(actual, Tensor) and actual.dim() == 2 else 1
        assert_shape(actual, {"batch": rows, "target": width}, subject)
        raise Mismatch(f"Your {subject} should be one tensor of shape (batch, target).")
