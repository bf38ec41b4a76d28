"""Cases of `sampling`: logits and models of which every probability is known.

What is right is worked out here in plain Python, row by row, and so is what filters in another
order would make of it. Draws are judged by how often each outcome comes.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework.inputs import Numbers, inputs
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape
from grader.remote.fixtures import Continuer
from grader.remote.proxy import RemoteModule

# float32 keeps a sum of probabilities to 1e-6; p is further from each of them than this.
BORDER = 0.004
# Draws are compared by frequencies of so many. Six standard deviations are 2 in 100 at most.
DRAWS = 20_000
SIGMAS = 6
# Of logits that decide alone, the largest is ahead by this, times `SURE`: e^-45 is no chance.
MARGIN = 0.3
SURE = 150.0
D_MODEL = 6
LAYERS = 2
# More positions than any text has, for code that asks the model once too often.
ROOM = 16
INF = math.inf

Row = list[float]
Ids = tuple[int, ...]
Step = Literal["temperature", "k", "p"]


@dataclass(frozen=True)
class Options:
    """The options of `sample` and `generate`."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    @property
    def named(self) -> dict[str, Any]:
        """The options that are not the defaults."""
        default = vars(Options())
        return {name: value for name, value in vars(self).items() if value != default[name]}

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.named.items())


def softmax(row: Sequence[float], temperature: float = 1.0) -> Row:
    """The probabilities of a row of logits."""
    if temperature == 0:
        best = row.index(max(row))
        return [float(position == best) for position in range(len(row))]
    largest = max(row)
    powers = [math.exp((value - largest) / temperature) for value in row]
    return [power / sum(powers) for power in powers]


def descending(row: Sequence[float]) -> list[int]:
    """The places of a row from the largest number to the smallest."""
    return sorted(range(len(row)), key=lambda position: -row[position])


def nucleus(probabilities: Row, p: float) -> set[int]:
    """The fewest tokens whose probabilities sum to p or more."""
    kept: set[int] = set()
    total = 0.0
    for position in descending(probabilities):
        if total >= p:
            break
        kept.add(position)
        total += probabilities[position]
    return kept


def is_decided(probabilities: Row, p: float) -> bool:
    """Whether no prefix sums to nearly p, and no two probabilities are nearly equal."""
    falling = sorted(probabilities, reverse=True)
    sums = itertools.accumulate(falling)
    positive = [value for value in falling if value > 0]
    gaps = [a - b for a, b in itertools.pairwise(positive)]
    return all(abs(total - p) > BORDER for total in sums) and min(gaps, default=1.0) > 1e-3


def only(row: Sequence[float], kept: Iterable[int]) -> Row:
    """The logits of a row, with -inf where a token is not kept."""
    return [value if position in set(kept) else -INF for position, value in enumerate(row)]


def chances(
    row: Sequence[float],
    options: Options,
    order: Sequence[Step] = ("temperature", "k", "p"),
    alone: bool = False,
) -> Row:
    """The probability of each token. Another order is a mistake.

    And so is `alone`: top-p that looks at the probabilities from before top-k.
    """
    logits = list(row)
    before = softmax(logits, options.temperature or 1e-3)
    for step in order:
        if step == "temperature":
            if options.temperature == 0:
                logits = only(logits, [logits.index(max(logits))])
            else:
                logits = [value / options.temperature for value in logits]
        elif step == "k" and options.top_k is not None:
            logits = only(logits, descending(logits)[: options.top_k])
        elif step == "p" and options.top_p is not None:
            looked_at = before if alone else softmax(logits)
            kept = nucleus(looked_at, options.top_p)
            logits = only(logits, [position for position in kept if logits[position] > -INF])
    return softmax(logits)


@dataclass(frozen=True, repr=False)
class Drawing:
    """A few distributions, and options that make another of each."""

    logits: Tensor
    options: Options

    @property
    def expected(self) -> list[Row]:
        """The probabilities of each row."""
        return [chances(row, self.options) for row in self.logits.tolist()]

    def tells(self, order: Sequence[Step], alone: bool = False) -> bool:
        """Whether filters in this order give clearly another distribution in every row."""
        return all(
            sum(map(abs, map(float.__sub__, chances(row, self.options, order, alone), right))) > 0.1
            for row, right in zip(self.logits.tolist(), self.expected, strict=True)
        )

    def is_decided(self) -> bool:
        """Whether rounding decides nothing."""
        for row in self.logits.tolist():
            probabilities = chances(row, replace(self.options, top_p=None))
            if not is_decided(probabilities, self.options.top_p or 1.5):
                return False
        return True


def call(options: Options, name: str = "sample") -> str:
    """A call as a student would write it."""
    return f"{name}(…{', ' if options.named else ''}{options})"


@inputs
def drawings(
    draw: st.DrawFn,  # noqa: ARG001
    numbers: Numbers,
    options: Options,
    accepts: Callable[[Drawing], bool],
    rows: int = 3,
    vocab: int = 6,
) -> Drawing:
    """Drawings that `accepts` accepts, and that rounding does not decide."""
    for attempt in itertools.count():
        drawn = replace(numbers, run=numbers.run + attempt)
        logits = drawn.normal("logits", rows, vocab, scale=1.2, dtype=torch.float32)
        drawing = Drawing(logits, options)
        if drawing.is_decided() and accepts(drawing):
            return drawing
    raise AssertionError  # there is always another


def assert_ids(actual: Any, rows: int, vocab: int, subject: str) -> None:
    """Ids of the vocabulary came back, `(rows,)`, int64."""
    assert_shape(actual, {"batch": rows}, subject)
    assert_dtype(actual, torch.int64, subject)
    if actual.numel() and not 0 <= int(actual.min()) <= int(actual.max()) < vocab:
        raise Mismatch(f"In your {subject} there are ids outside of 0 … {vocab - 1}.")


def assert_frequencies(
    counts: Mapping[Any, int], chance: Mapping[Any, float], subject: str, help: str = ""
) -> None:
    """Outcomes came about as often as their probabilities say, and no impossible one came.

    The bound is six standard deviations, with room for the rarest outcomes: right code oversteps it
    once in 10^8 times.
    """
    total = sum(counts.values())
    for outcome in sorted(
        {*counts, *chance}, key=lambda token: (-chance.get(token, 0.0), str(token))
    ):
        p, count = chance.get(outcome, 0.0), counts.get(outcome, 0)
        if p == 0.0 and count:
            raise Mismatch(
                f"{_named(outcome)} came {count} times in {total} draws of {subject}; it is ruled "
                "out and should never come.",
                help=help,
            )
        bound = SIGMAS * math.sqrt(total * p * (1 - p)) + SIGMAS * (0 < p < 1)
        if abs(count - total * p) > bound:
            raise Mismatch(
                f"{_named(outcome)} came in {count / total:.1%} of {total} draws of {subject}; it "
                f"should come in about {p:.1%}.",
                help=help,
            )


def _named(outcome: Any) -> str:
    if isinstance(outcome, tuple):
        return f"The continuation {list(outcome)}"
    return f"Token {outcome}"


class Continuations:
    """What a model makes of each of its prompts: the logits after everything that may follow."""

    def __init__(self, model: Continuer) -> None:
        self.model = model
        self.known: dict[Ids, Row] = {}

    def ask(self, some: Sequence[Ids]) -> None:
        """Asks the model once for what comes after all of these, which are of one length."""
        with torch.no_grad():
            rows = self.model(torch.tensor(some))[:, -1].tolist()
        self.known.update(zip(some, rows, strict=True))

    def logits(self, ids: Ids) -> Row:
        """The logits of what comes after these ids."""
        if ids not in self.known:
            self.ask([ids])
        return self.known[ids]

    def likeliest(self, ids: Ids, count: int, eos_id: int | None = None) -> Ids:
        """The most probable tokens after a prompt, filled with `eos_id` after its end."""
        ended = False
        for _ in range(count):
            row = self.logits(ids)
            token = row.index(max(row))
            token = token if eos_id is None or not ended else eos_id
            ended = ended or token == eos_id
            ids = (*ids, token)
        return ids

    def is_clear(self, prompts: Sequence[Ids], count: int) -> bool:
        """Whether the most probable token is certain in every step of every prompt."""
        for _ in range(count):
            self.ask(prompts)
            rows = [self.known[ids] for ids in prompts]
            for row in rows:
                first, second = sorted(row, reverse=True)[:2]
                if first - second < MARGIN * SURE:
                    return False
            prompts = [(*ids, row.index(max(row))) for ids, row in zip(prompts, rows, strict=True)]
        return True

    def chances(
        self, ids: Ids, count: int, options: Options, eos_id: int | None = None
    ) -> dict[Ids, float]:
        """The probability of each continuation of a prompt."""
        grown: dict[Ids, float] = {(): 1.0}
        for _ in range(count):
            longer: dict[Ids, float] = {}
            for new, chance in grown.items():
                if eos_id is not None and eos_id in new:
                    longer[(*new, eos_id)] = chance
                    continue
                for token, p in enumerate(chances(self.logits(ids + new), options)):
                    longer[(*new, token)] = chance * p
            grown = longer
        return grown


@dataclass(frozen=True, repr=False)
class Generation:
    """A model, prompts for it, and how many tokens to draw."""

    weights: dict[str, Tensor]
    ids: Tensor
    count: int
    vocab: int
    eos_id: int
    known: Continuations

    def model(self, student: Any) -> RemoteModule:
        """The model beside the student's code, in evaluation mode."""
        model: RemoteModule = student.give("Continuer", self.vocab, D_MODEL, LAYERS, ROOM)
        return model.load(self.weights).eval()

    @property
    def prompts(self) -> list[Ids]:
        """The rows."""
        return [tuple(row) for row in self.ids.tolist()]

    def likeliest(self, eos_id: int | None = None) -> list[Ids]:
        """The prompts, each followed by its most probable tokens."""
        return [self.known.likeliest(row, self.count, eos_id) for row in self.prompts]

    def new(self, eos_id: int | None = None) -> list[Ids]:
        """The most probable tokens after each prompt."""
        return [row[self.ids.size(1) :] for row in self.likeliest(eos_id)]


def _renumbered(case: Generation) -> Generation:
    """The same with the ids of the end and of 0 exchanged, since 0 is what some code overlooks."""
    order = torch.arange(case.vocab)
    order[[0, case.eos_id]] = order[[case.eos_id, 0]]
    weights = {
        name: value[order] if name in ("token", "lm_head.weight") else value
        for name, value in case.weights.items()
    }
    model = Continuer(case.vocab, D_MODEL, LAYERS, ROOM)
    model.load_state_dict(weights)
    known = Continuations(model.eval())
    return replace(case, weights=weights, ids=order[case.ids], eos_id=0, known=known)


@inputs
def generations(
    draw: st.DrawFn,  # noqa: ARG001
    numbers: Numbers,
    accepts: Callable[[Generation], bool],
    vocab: int = 6,
    rows: int = 3,
    length: int = 4,
    count: int = 5,
    sure: bool = True,
    zero: bool = True,
) -> Generation:
    """Generations that `accepts` accepts, with `eos_id` 0, or not `zero` any other.

    If they are `sure`, only the most probable token is ever drawn, with any options, so that
    mistakes in these do not count here.
    """
    for attempt in itertools.count():
        drawn = replace(numbers, run=numbers.run + attempt)
        shapes = {
            "token": (vocab, D_MODEL),
            "place": (ROOM, D_MODEL),
            **{f"blocks.{layer}.mix": (D_MODEL, D_MODEL) for layer in range(LAYERS)},
            "lm_head.weight": (vocab, D_MODEL),
        }
        weights = {
            name: drawn.normal(name, *shape, dtype=torch.float32) for name, shape in shapes.items()
        }
        weights["lm_head.weight"] *= SURE if sure else 0.8
        ids = drawn.ids("ids", rows, length, high=vocab)
        model = Continuer(vocab, D_MODEL, LAYERS, ROOM)
        model.load_state_dict(weights)
        known = Continuations(model.eval())
        if sure and not known.is_clear(list(map(tuple, ids.tolist())), count):
            continue
        for eos_id in range(0 if zero else 1, vocab):
            case = Generation(weights, ids, count, vocab, eos_id, known)
            if accepts(case):
                return _renumbered(case) if zero else case
    raise AssertionError  # there is always another


def assert_continued(
    actual: Any, expected: list[Ids], prompt: int, subject: str, help: str
) -> None:
    """These rows came back. Columns of the end's id behind the last row's end do no harm.

    `expected` holds all tokens that could be asked for, filled with the end's id.
    """
    expected_ids = torch.tensor(expected)
    assert_dtype(actual, torch.int64, subject)
    if actual.dim() == 2 and prompt < actual.size(1) < expected_ids.size(1):
        cut, endings = expected_ids[:, : actual.size(1)], expected_ids[:, actual.size(1) - 1 :]
        if all(len(set(row)) == 1 for row in endings.tolist()):
            expected_ids = cut
    assert_matches(actual, expected_ids, subject, axes=("batch", "position"), help=help)


def counted(actual: Tensor) -> Counter[Any]:
    """How often each id, or each row of ids, is there."""
    if actual.dim() == 1:
        return Counter(actual.tolist())
    return Counter(map(tuple, actual.tolist()))
