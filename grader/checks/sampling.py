"""Hidden checks of `sampling`: probabilities, filters, draws by frequency, and generation."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.checks.framework import Numbers, check
from grader.checks.framework.assertions import (
    assert_defaults,
    assert_not_edited,
    assert_refuses,
)
from grader.checks.framework.inputs import random_numbers, transposed
from grader.checks.framework.precision import assert_settings_kept
from grader.checks.sampling_cases import (
    DRAWS,
    Drawing,
    Generation,
    Options,
    assert_continued,
    assert_frequencies,
    assert_ids,
    call,
    chances,
    counted,
    drawings,
    generations,
    is_decided,
    nucleus,
    softmax,
)
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape
from grader.remote.wire import Seeded

AXES = ("batch", "token")
INF = float("inf")
VOCAB = 7
# So many rows of one prompt that six standard deviations are 3 in 100 at most.
ROWS = 8000


def logits_of(numbers: Numbers, *shape: int) -> Tensor:
    """Logits no two of which in a row are equal, in float32, not contiguous."""
    steps = torch.rand(shape, generator=numbers.generator("logits")).argsort(-1)
    noise = torch.rand(shape, generator=numbers.generator("noise"))
    return transposed((steps * 0.6 + 0.4 * noise - 1.5).float())


def _with_p(numbers: Numbers, p: float) -> Tensor:
    """Logits (4, VOCAB), for each of which it is clear which tokens make up p."""
    rows: list[Tensor] = []
    for attempt in range(10_000):
        row = Numbers(numbers.run + attempt, numbers.case).normal("row", VOCAB, scale=1.3).float()
        if is_decided(softmax(row.tolist()), p) and 1 < len(nucleus(softmax(row.tolist()), p)) < 6:
            rows.append(row)
        if len(rows) == 4:
            break
    return torch.stack(rows)


def _expected_top_p(logits: Tensor, p: float) -> Tensor:
    rows = logits.reshape(-1, logits.size(-1))
    kept = torch.zeros(rows.shape, dtype=torch.bool)
    for number, row in enumerate(rows.tolist()):
        kept[number, sorted(nucleus(softmax(row), p))] = True
    return rows.masked_fill(~kept, -INF).reshape(logits.shape)


def _what_stays(stays: Tensor, expected: Tensor) -> str:
    """What a wrong choice of tokens has in all rows, or in one, in words."""
    rows = stays.reshape(-1, stays.size(-1))
    logits = expected.reshape(rows.shape)
    wanted = logits > -INF
    if wanted.all():
        return "All tokens should stay."
    if rows.all():
        return "No number of your result is -inf."
    if not rows.any(-1).all():
        return "A row of your result is -inf throughout, so that no token is left."
    if not (rows == wanted).all(-1).any() and rows.all(-1).any():
        return f"In row {int(rows.all(-1).int().argmax())} no number of your result is -inf."
    least = torch.where(wanted, logits, INF).argmin(-1, keepdim=True)
    if torch.equal(rows, wanted.scatter(-1, least, False)):
        return "In each row the least probable of the tokens that should stay is missing."
    if (rows.sum(-1) == 1).all():
        return "In each row a single token stays."
    if (rows & ~wanted).any():
        return ""
    return "No token stays that should not, but some are missing."


def assert_filtered(actual: Any, expected: Tensor, subject: str) -> None:
    """These logits stayed as they were, and the others are -inf.

    A token that should have stayed, or gone, is reported before its number.
    """
    assert_shape(actual, tuple(expected.shape), subject)
    if not actual.is_floating_point() or actual.isnan().any() or (actual == INF).any():
        assert_matches(actual, expected, subject)
    axes = AXES[-expected.dim() :] if expected.dim() <= 2 else ()
    stays = f"choice of tokens that stay in {subject}"
    help = _what_stays(actual > -INF, expected)
    assert_matches(actual > -INF, expected > -INF, stays, axes=axes, help=help)
    kept = expected > -INF
    numbers = torch.where(kept, actual, 0.0)
    assert_matches(numbers, torch.where(kept, expected, 0.0), f"logits that stay in {subject}")


@check(points=1, inputs=random_numbers(), examples=2)
def test_temperature(student: Any, numbers: Numbers) -> None:
    """Probabilities are the softmax of logits / T; at T = 0 the first of the largest logits gets 1.

    Sees a product for a quotient, a temperature after the softmax, logits in place of
    probabilities, a division by zero, another of several equal ones, a negative temperature that is
    let through, and logits that are changed.
    """
    settings = student.global_settings()
    logits = logits_of(numbers, 3, VOCAB)
    for temperature in (1.0, 0.5, 2.5, 0.01):
        expected = (logits / temperature).softmax(-1)
        for some, wanted in ((logits, expected), (logits[0], expected[0])):
            result, after = student.with_temperature.echo(some, temperature)
            subject = f"result of with_temperature(logits, {temperature})"
            assert_matches(result, wanted, subject, axes=AXES[-some.dim() :])
            assert_not_edited([some], after[:1], ["logits"])
    large = 500 * logits[None]
    result = student.with_temperature(large, temperature=0.7)
    assert_matches(
        result, (large / 0.7).softmax(-1), "result of with_temperature of logits up to a thousand"
    )
    tied = logits.clone()
    tied[0, 2] = tied[0, 5] = 9.0
    tied[1, :] = -1.0
    best = tied.argmax(-1)
    best[:2] = torch.tensor([2, 0])
    for zero in (0, 0.0):
        result = student.with_temperature(tied, zero)
        expected = torch.zeros_like(tied).scatter(-1, best[:, None], 1.0)
        subject = f"result of with_temperature(logits, {zero})"
        assert_matches(result, expected, subject, axes=AXES)
        for shape in ((VOCAB,), (1, 1, VOCAB)):
            result = student.with_temperature(tied[2].reshape(shape), zero)
            assert_matches(result, expected[2].reshape(shape), subject)
    for negative in (-1.0, -0.01):
        subject = f"with_temperature(logits, {negative}): a temperature is 0 or more"
        assert_refuses(ValueError, partial(student.with_temperature, logits, negative), subject)
    assert_settings_kept(settings, student.global_settings())


@check(points=1, inputs=random_numbers(), examples=2)
def test_top_k(student: Any, numbers: Numbers) -> None:
    """The k largest logits of each row stay as they are, at their indices; all others are -inf.

    Sees probabilities in place of logits, sorted logits, the border of one row taken for all, a k
    larger than the vocabulary or smaller than 1, and logits that are changed.
    """
    rows = logits_of(numbers, 4, VOCAB)
    # Far apart, so that the k-th largest of one row is no border for another.
    logits = rows + 3 * torch.arange(4)[:, None]
    for k in (1, 3, VOCAB - 1, VOCAB, VOCAB + 4):
        expected = _expected_top_k(logits, k)
        for some, wanted in (
            (logits, expected),
            (logits[0], expected[0]),
            (logits.view(2, 2, VOCAB) if logits.is_contiguous() else logits[:, None], None),
        ):
            result, after = student.keep_top_k.echo(some, k)
            right = expected.reshape(some.shape) if wanted is None else wanted
            assert_filtered(result, right, f"keep_top_k(logits, {k})")
            assert_not_edited([some], after[:1], ["logits"])
    ruled_out = logits.clone()
    ruled_out[:, :4] = -INF
    result = student.keep_top_k(ruled_out, 2)
    assert_filtered(
        result, _expected_top_k(ruled_out, 2), "keep_top_k of logits some of which are -inf"
    )
    half = logits.to(torch.bfloat16)
    result = student.keep_top_k(half, 2)
    assert_filtered(result, _expected_top_k(half.float(), 2), "keep_top_k(logits, 2) in bfloat16")
    _assert_ties(student, rows)
    for k in (0, -2):
        reason = f"keep_top_k(logits, {k}): k is 1 or more"
        assert_refuses(ValueError, partial(student.keep_top_k, logits, k), reason)


def _expected_top_k(logits: Tensor, k: int) -> Tensor:
    border = logits.sort(-1, descending=True).values[..., min(k, VOCAB) - 1 :][..., :1]
    return logits.masked_fill(logits < border, -INF)


def _assert_ties(student: Any, logits: Tensor) -> None:
    """Of three equal logits at the border of the two largest any may stay, or all."""
    tied = logits.clone()
    tied[:, 1] = 9.0
    tied[:, [0, 3, 6]] = 7.0
    result = student.keep_top_k(tied, 2)
    subject = "keep_top_k(logits, 2) of logits with three equal ones at the border"
    assert_shape(result, tuple(tied.shape), subject)
    stay = result > -INF
    among = stay[:, [0, 3, 6]].sum(-1)
    if not stay[:, 1].all() or stay[:, [2, 4, 5]].any() or (among == 0).any():
        raise Mismatch(f"In {subject}, the largest and at least one of the equal ones should stay.")


@check(points=2, inputs=random_numbers(), examples=2)
def test_top_p(student: Any, numbers: Numbers) -> None:
    """The fewest of the most probable tokens whose probabilities sum to p or more stay.

    Sees the token that crosses p left out, a token too many, logits summed in place of
    probabilities, tokens that stay in another place or another row, no token at all where the first
    is more probable than p, the least probable ones kept, and a p outside of the range.
    """
    for p in (0.5, 0.75, 0.9):
        logits = _with_p(numbers, p)
        expected = _expected_top_p(logits, p)
        for some in (logits, transposed(logits), logits[0], logits.reshape(2, 2, VOCAB)):
            result, after = student.keep_top_p.echo(some, p)
            right = _expected_top_p(some, p)
            assert_filtered(result, right, f"keep_top_p(logits, {p})")
            assert_not_edited([some], after[:1], ["logits"])
        shifted = student.keep_top_p(logits + 30, p)
        assert_filtered(shifted, expected + 30, f"keep_top_p(logits + 30, {p})")
    sure = logits_of(numbers, 3, VOCAB)
    sure[:, 4] = 9.0
    result = student.keep_top_p(sure, 0.3)
    right = _expected_top_p(sure, 0.3)
    assert_filtered(result, right, "keep_top_p(logits, 0.3), where one token is nearly certain")
    half = sure.to(torch.bfloat16)
    right = _expected_top_p(half.float(), 0.3)
    result = student.keep_top_p(half, 0.3)
    assert_filtered(result, right, "keep_top_p(logits, 0.3) in bfloat16")
    ruled_out = _with_p(numbers, 0.75)
    ruled_out = torch.cat([torch.full((4, 2), -INF), ruled_out], -1)
    result = student.keep_top_p(ruled_out, 0.75)
    right = _expected_top_p(ruled_out, 0.75)
    assert_filtered(result, right, "keep_top_p of logits some of which are -inf")
    for certainty in (1, 1.0):
        assert_filtered(
            student.keep_top_p(sure, certainty), sure, f"keep_top_p(logits, {certainty})"
        )
    for p in (0.0, -0.1, 1.01):
        reason = f"keep_top_p(logits, {p}): p is above 0 and at most 1"
        assert_refuses(ValueError, partial(student.keep_top_p, sure, p), reason)


def _tells_order(drawing: Drawing) -> bool:
    """It matters that the temperature comes first, and that top-p looks at what top-k has left."""
    return (
        drawing.tells(("k", "p", "temperature"))
        and drawing.tells(("temperature", "p", "k"))
        and drawing.tells(("temperature", "k", "p"), alone=True)
        and all(sum(p > 0 for p in row) > 1 for row in drawing.expected)
    )


def _differs(drawing: Drawing) -> bool:
    """Each row has its own distribution."""
    first, second, third = drawing.expected
    return all(
        sum(map(abs, map(float.__sub__, left, right))) > 0.5
        for left, right in ((first, second), (second, third), (first, third))
    )


def draw(student: Any, drawing: Drawing, generator: Seeded | None = None) -> Tensor:
    """What the student draws of one large batch, in which the rows take turns."""
    rows, vocab = drawing.logits.shape
    repeated = drawing.logits.repeat(DRAWS // rows, 1)
    named: dict[str, Any] = drawing.options.named
    if generator is not None:
        named = {**named, "generator": generator}
    result: Tensor = student.sample(repeated, **named)
    assert_ids(result, len(repeated), vocab, f"result of {call(drawing.options)}")
    return result


def assert_distributed(actual: Tensor, drawing: Drawing) -> None:
    """The tokens of each row come as often as they should."""
    for row, expected in enumerate(drawing.expected):
        shown = ", ".join(f"{chance:.3f}" for chance in expected)
        subject = f"{call(drawing.options)} for a row that should have the probabilities {shown}"
        counts = counted(actual[row :: len(drawing.expected)])
        assert_frequencies(counts, dict(enumerate(expected)), subject)


@check(
    points=1,
    inputs=(drawings(Options(), _differs), drawings(Options(0.6), _differs)),
    examples=1,
)
def test_draws(student: Any, plain: Drawing, cold: Drawing) -> None:
    """Tokens are drawn as often as their row's probabilities say.

    Sees the most probable token always, one draw for all rows, rows whose distributions are mixed
    up, a temperature that is left out, a batch of one row that loses its axis, and logits that are
    changed.
    """
    for drawing in (plain, cold):
        assert_distributed(draw(student, drawing), drawing)
    logits = plain.logits
    result, after = student.sample.echo(logits)
    assert_ids(result, len(logits), logits.size(1), "result of sample(logits)")
    assert_not_edited([logits], after[:1], ["logits"])
    assert_ids(student.sample(logits[:1]), 1, logits.size(1), "result of sample for one row")


@check(
    points=1,
    inputs=(
        drawings(Options(1.6, 4, 0.8), _tells_order, rows=1),
        drawings(Options(0.5, 3, 0.85), _tells_order, rows=1),
    ),
    examples=1,
)
def test_draws_with_options(student: Any, warm: Drawing, cold: Drawing) -> None:
    """The temperature comes first, then top-k, then top-p on what top-k has left.

    Sees filters before the temperature, top-p before top-k or on the probabilities from before it,
    tokens drawn from unfiltered probabilities, and an option of 0 that is taken for none.
    """
    for drawing in (warm, cold):
        assert_distributed(draw(student, drawing), drawing)
    logits = torch.cat([warm.logits, cold.logits, warm.logits.flip(-1)])
    best = logits.argmax(-1)
    for options in (Options(temperature=0), Options(top_k=1), Options(top_p=0.01)):
        result = student.sample(logits.repeat(20, 1), *vars(options).values())
        assert_matches(result, best.repeat(20), f"result of {call(options)}", axes=("batch",))
    for bad in (
        Options(temperature=-0.5),
        Options(top_k=0),
        Options(top_p=0.0),
    ):
        reason = f"{call(bad)}: an option is out of its range"
        assert_refuses(ValueError, partial(student.sample, logits, **bad.named), reason)


@check(points=1, inputs=drawings(Options(), _differs), examples=1)
def test_draws_with_a_generator(student: Any, drawing: Drawing) -> None:
    """All draws come from the generator, if one is given; without one no two calls are alike.

    Sees a generator that is not used, and a seed that is set by the code itself.
    """
    first, again = draw(student, drawing, Seeded(11)), draw(student, drawing, Seeded(11))
    assert_distributed(first, drawing)
    if not torch.equal(first, again):
        raise Mismatch(
            "Two calls of sample with generators of the same seed give different tokens.",
            help="Is `generator` passed to what draws?",
        )
    if torch.equal(first, draw(student, drawing, Seeded(12))):
        raise Mismatch("Generators of different seeds give the same tokens.")
    if torch.equal(draw(student, drawing), draw(student, drawing)):
        raise Mismatch("Two calls of sample without a generator give the same tokens.")


def _goes_on(case: Generation) -> bool:
    """All rows are different, none repeats one token, and an end would matter."""
    new = case.new()
    return len(set(new)) == len(new) and all(len(set(row)) > 2 for row in new)


def _ends(case: Generation) -> bool:
    """Rows end at different places, one before the last token; the end is in a prompt, too."""
    new = case.new(case.eos_id)
    positions = [row.index(case.eos_id) for row in new if case.eos_id in row]
    return (
        len(set(positions)) == len(new)
        and max(positions) < case.count - 1
        and case.eos_id in case.prompts[positions.index(max(positions))]
        and case.new() != new
    )


def _has_an_end_that_stays_open(case: Generation) -> bool:
    """One row ends in the middle and another does not; the end is the last token of a prompt."""
    new = case.new(case.eos_id)
    return (
        any(case.eos_id in row[: case.count - 2] for row in new)
        and any(
            case.eos_id not in row and prompt[-1] == case.eos_id
            for row, prompt in zip(new, case.prompts, strict=True)
        )
        and case.new() != new
    )


@check(points=1, inputs=generations(_goes_on), examples=2)
def test_continues(student: Any, case: Generation) -> None:
    """Each row continues with its own next token, after its own prompt, step by step.

    Sees logits of the wrong position, tokens read twice or not at all from a cache, caches that
    blocks share, rows that are mixed up, prompts that are missing, and a step too many.
    """
    settings = student.global_settings()
    assert_defaults(student, "generate", {"temperature": 1.0})
    model = case.model(student)
    help = "Which position's logits predict the next token? What does the model still have to read?"
    result, after = student.generate.echo(model, case.ids, case.count)
    subject = f"result of generate(model, ids, {case.count}), where one token is certain each time,"
    length = case.ids.size(1)
    assert_continued(result, case.likeliest(), length, subject, help)
    assert_not_edited([case.ids], after[1:2], ["ids"])
    alone = student.generate(model, case.ids[1:2], case.count)
    assert_continued(alone, case.likeliest()[1:2], length, "result of generate for one row", help)
    short = student.generate(model, case.ids[:, -1:], 2)
    expected = [case.known.likeliest(row[-1:], 2) for row in case.prompts]
    assert_continued(short, expected, 1, "result of generate for prompts of one token", help)
    unchanged = student.generate(model, case.ids, 0)
    assert_matches(unchanged, case.ids, "result of generate with max_new_tokens=0")
    held = model.weights(case.weights)
    if any(not torch.equal(held[name], value) for name, value in case.weights.items()):
        raise Mismatch("Your code changes the weights of the model that it is given.")
    assert_settings_kept(settings, student.global_settings())


@check(
    points=1,
    inputs=(
        generations(_ends),
        generations(_has_an_end_that_stays_open, zero=False),
    ),
    examples=1,
)
def test_rows_end_by_themselves(student: Any, closed: Generation, still_open: Generation) -> None:
    """A row that drew `eos_id` is filled with it; an `eos_id` in a prompt ends nothing.

    Sees tokens drawn after the end, all rows stopped by one, an `eos_id` of 0 taken for none, rows
    filled with 0, an end that is left out, and a prompt's own `eos_id` that ends the row.
    """
    for case in (closed, still_open):
        model = case.model(student)
        call = f"generate(model, ids, {case.count}, eos_id={case.eos_id})"
        result = student.generate(model, case.ids, case.count, eos_id=case.eos_id)
        help = f"The prompts are {case.ids.tolist()}."
        expected = case.likeliest(case.eos_id)
        assert_continued(result, expected, case.ids.size(1), f"result of {call}", help)
        # A row alone ends when all have, whichever way `generate` goes through a batch.
        new = case.new(case.eos_id)
        ended = [number for number, row in enumerate(new) if case.eos_id in row]
        first = min(ended, key=lambda number: new[number].index(case.eos_id))
        alone = case.ids[first : first + 1]
        result = student.generate(model, alone, case.count, eos_id=case.eos_id)
        subject = f"result of generate(model, {alone.tolist()}, {case.count}, eos_id={case.eos_id})"
        assert_continued(result, [expected[first]], case.ids.size(1), subject, "")


def _has_choices(case: Generation) -> bool:
    """After each likely first token, if it is not the end, there are several second ones."""
    for row in case.prompts:
        first = chances(case.known.logits(row), GENERATED)
        for token, chance in enumerate(first):
            second = chances(case.known.logits((*row, token)), GENERATED)
            if token != case.eos_id and chance > 0.1 and max(second) > 0.7:
                return False
    return True


GENERATED = Options(0.8, 3, 0.95)


def _is_decided(case: Generation) -> bool:
    """The options rule out the same tokens for all right code, and the end is sometimes drawn."""
    options = Options(GENERATED.temperature, GENERATED.top_k, None)
    for row in case.prompts:
        first = chances(case.known.logits(row), GENERATED)
        if not 0.1 < first[case.eos_id] < 0.6:
            return False
        likely = [(token,) for token, chance in enumerate(first) if chance]
        for new in ((), *likely):
            probabilities = chances(case.known.logits(row + new), options)
            if not is_decided(probabilities, GENERATED.top_p or 1.0):
                return False
    return _has_choices(case)


@check(
    points=1,
    inputs=generations(_is_decided, vocab=5, rows=2, length=3, count=3, sure=False),
    examples=1,
)
def test_generates_by_chance(student: Any, case: Generation) -> None:
    """Every continuation is drawn as often as its probability says, with all options and an end.

    Sees options that are not passed on, the same draw for every row or in every step, a generator
    that is not used or begins anew, and a distribution that is not that of the tokens drawn before.
    """
    model = case.model(student)
    repeated = case.ids.repeat(ROWS // 2, 1)
    options = {**GENERATED.named, "eos_id": case.eos_id}
    count = case.count - 1
    results = []
    for generator in (Seeded(5), Seeded(5), None):
        result = student.generate(model, repeated, count, **options, generator=generator)
        subject = call(GENERATED, "generate")
        assert_shape(result, {"batch": ROWS, "position": 3 + count}, f"result of {subject}")
        assert_dtype(result, torch.int64, f"result of {subject}")
        for number, row in enumerate(case.prompts):
            expected = case.known.chances(row, count, GENERATED, case.eos_id)
            draws = f"{subject} after the prompt {list(row)}, with eos_id={case.eos_id}"
            assert_frequencies(counted(result[number::2, 3:]), expected, draws)
        results.append(result)
    if not torch.equal(results[0], results[1]):
        raise Mismatch(
            "Two calls of generate with generators of the same seed give different tokens.",
            help="Is `generator` passed on to every draw?",
        )
    # The first row ends at once.
    eos_id = case.known.likeliest(case.prompts[0], 1)[-1]
    right = [case.known.likeliest(row, count, eos_id) for row in case.prompts] * 30
    for certain in (Options(temperature=0), Options(top_k=1), Options(top_p=0.01)):
        result = student.generate(model, repeated[:60], count, **certain.named, eos_id=eos_id)
        subject = f"result of {call(certain, 'generate')} with eos_id={eos_id}"
        assert_continued(result, right, 3, subject, "")


@check(points=0, inputs=generations(_ends), examples=1)
def test_stops_when_all_rows_have_ended(student: Any, case: Generation) -> None:
    """When the last row has drawn `eos_id`, generation ends.

    It carries no points: the result is the same but for columns of `eos_id`.
    """
    model = case.model(student)
    result = student.generate(model, case.ids, case.count, eos_id=case.eos_id)
    positions = [row.index(case.eos_id) for row in case.new(case.eos_id)]
    needed = case.ids.size(1) + max(positions) + 1
    assert_shape(result, {"batch": len(case.ids), "position": needed}, "result of generate")


@check(points=0, inputs=random_numbers(), examples=1)
def test_top_p_of_one_keeps_the_least_probable(student: Any, numbers: Numbers) -> None:
    """With p = 1 a token stays even if float32 cannot add its probability to the others'.

    It carries no points: such a token is practically never drawn.
    """
    logits = logits_of(numbers, 2, VOCAB) * 40
    assert_filtered(student.keep_top_p(logits, 1.0), logits, "keep_top_p(logits, 1.0)")
