"""Hidden checks of `decoding`: results are compared with a search by lookup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.checks.decoding_cases import (
    LARGE,
    DecodingCase,
    Ids,
    assert_matches_rows,
    assert_targets,
    cases,
    scores,
)
from grader.checks.framework import check
from grader.checks.framework.assertions import assert_defaults, assert_not_edited
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import Mismatch
from grader.remote.session import StudentError

NARROW = 2
DEFAULT = 4


def _goes_on(case: DecodingCase) -> bool:
    """Return whether no row ends and no row repeats a single token."""
    result = case.greedy()
    ended = any(case.has_ended(ids) for ids in result)
    return not ended and len(set(result)) == 3 and all(len(set(ids[1:])) > 1 for ids in result)


def _ends(case: DecodingCase) -> bool:
    """Return whether the rows end at three different positions, all before `max_len`."""
    lengths = [len(ids) for ids in case.greedy() if case.has_ended(ids)]
    return len(set(lengths)) == 3 and max(lengths) < case.max_len


def _says_anything(case: DecodingCase) -> bool:
    """Return whether start and padding ids are generated, others follow, and no row ends."""
    result = case.greedy()
    starts = any(case.bos_id in ids[1:-2] for ids in result)
    fillings = any(case.pad_id in ids[1:-2] and ids[-1] != case.pad_id for ids in result)
    return starts and fillings and not any(case.has_ended(ids) for ids in result)


def _has_an_early_winner(case: DecodingCase) -> bool:
    """Return whether a row's best ends early and differs from greedy and per-token means."""
    best, means, greedy = case.best(), case.best(per_word=True), case.greedy()
    early = [case.has_ended(ids) and len(ids) < case.max_len for ids in best]
    return any(early) and best != means and best != greedy


def _has_an_open_winner(case: DecodingCase) -> bool:
    """Return whether a row's best has not ended, although others in the beam have."""
    best = case.best()
    return best != case.greedy() and any(
        not case.has_ended(ids) and case.beam(row, 10**6, complete=True) != ids
        for ids, row in zip(best, case.rows, strict=True)
    )


def _needs_its_finished(case: DecodingCase) -> bool:
    """Return whether a narrow beam finds neither greedy's nor the best target, nor a mistake's."""
    result = case.beams(NARROW)
    return (
        result not in (case.greedy(), case.beams(NARROW + 1), case.beams(DEFAULT))
        and result != [case.beam(row, DEFAULT, extensions=NARROW) for row in case.rows]
        and result != [case.beam(row, NARROW, finished="forgotten") for row in case.rows]
        and result != [case.beam(row, NARROW, per_word=True) for row in case.rows]
        and result != case.best()
    )


def _is_crowded(case: DecodingCase) -> bool:
    """Return whether it matters how finished targets compete in a beam of three.

    And that all three may extend the same target.
    """
    result = case.beams(NARROW + 1)
    return result != [case.beam(row, NARROW + 1, extensions=NARROW) for row in case.rows] and all(
        result != [case.beam(row, NARROW + 1, finished=kept) for row in case.rows]
        for kept in ("beside", "reserved", "forgotten")
    )


def _finds_odd_words(case: DecodingCase) -> bool:
    """Return whether a narrow beam generates start or padding ids, and other tokens after them."""
    result = case.beams(NARROW)
    specials = {case.bos_id, case.pad_id}
    odd = any(specials & set(ids[1:-1]) and ids[-1] not in specials for ids in result)
    complete = [case.beam(row, NARROW, complete=True) for row in case.rows]
    return odd and result != case.greedy() and result != complete


def _needs_its_width(case: DecodingCase) -> bool:
    """Return whether a beam wider than the vocabulary finds what a beam as wide does not."""
    return case.beams(case.vocab + 2) not in (case.greedy(), case.beams(case.vocab))


def greedy(student: Any, case: DecodingCase, src: Tensor | None = None) -> Any:
    """Return the result of the student's greedy decoding."""
    model = case.model(student)
    src = case.src if src is None else src
    return student.greedy_decode(model, src, case.bos_id, case.eos_id, case.max_len)


def beam(student: Any, case: DecodingCase, size: int, src: Tensor | None = None) -> Any:
    """Return the result of the student's beam search."""
    model = case.model(student)
    call = (model, case.src if src is None else src, case.bos_id, case.eos_id, case.max_len)
    return student.beam_search(*call, beam_size=size)


def _assert_greedy(student: Any, case: DecodingCase) -> None:
    result, expected = greedy(student, case), case.greedy()
    subject = "result of greedy_decode"
    try:
        assert_targets(result, expected, case, subject)
    except Mismatch:
        help = _only_together(lambda src: greedy(student, case, src), expected, case)
        assert_targets(result, expected, case, subject, help)


def _assert_beam(
    student: Any, case: DecodingCase, size: int, expected: list[Ids], subject: str
) -> None:
    result = beam(student, case, size)
    try:
        assert_targets(result, expected, case, subject)
    except Mismatch:
        alone = _only_together(lambda src: beam(student, case, size, src), expected, case)
        help = alone or scores(result, expected, case)
        assert_targets(result, expected, case, subject, help)


def _only_together(decode: Callable[[Tensor], Any], expected: list[Ids], case: DecodingCase) -> str:
    """Say so if each source by itself gets the right target."""
    try:
        for number, ids in enumerate(expected):
            assert_targets(decode(case.src[number : number + 1]), [ids], case, "target")
    except (Mismatch, StudentError):
        return ""
    return "Each source by itself gets the right target; only together they do not."


@check(points=2, inputs=cases(5, 6, _goes_on, end=-2.0), examples=2)
def test_greedy_takes_the_likeliest_token(student: Any, case: DecodingCase) -> None:
    """Greedy decoding appends the likeliest token at each step, up to `max_len`.

    Sees logits of the wrong position or row, a memory that is not the source's, sampling, and one
    token too many or too few. No row ends here.
    """
    _assert_greedy(student, case)


@check(points=2, inputs=cases(5, 6, _ends, end=1.0), examples=2)
def test_greedy_rows_end_independently(student: Any, case: DecodingCase) -> None:
    """A row that has ended is filled with the model's `pad_id`, while others go on.

    Sees tokens written after the end, all rows stopped by one, and a hard-coded padding id of 0.
    """
    _assert_greedy(student, case)


@check(
    points=1, inputs=cases(5, 6, _says_anything, end=-1.0, special=1.0, offset=LARGE), examples=2
)
def test_greedy_may_generate_any_id(student: Any, case: DecodingCase) -> None:
    """Any id may be generated, including `bos_id` and `pad_id`; neither ends the sentence.

    Sees ids that are excluded, padding treated as the end, and an exp of logits of 150, which is
    infinite.
    """
    _assert_greedy(student, case)


@check(
    points=2,
    inputs=(
        cases(4, 5, _has_an_early_winner, end=0.5),
        cases(4, 4, _has_an_open_winner, end=-0.5, offset=LARGE),
    ),
    examples=1,
)
def test_a_wide_beam_finds_the_best_of_all(
    student: Any, early: DecodingCase, still_open: DecodingCase
) -> None:
    """A beam that holds everything finds the target of the highest total log-probability.

    Sees scores that are divided by the length, sums of logits or of probabilities, an infinite exp,
    scores that miss a token, finished targets that are lost, and unfinished ones that do not
    compete at the end.
    """
    for case in (early, still_open):
        size = case.vocab ** (case.max_len - 1)
        _assert_beam(student, case, size, case.best(), "result of a very wide beam_search")


@check(
    points=2,
    inputs=(
        cases(5, 5, _needs_its_finished),
        cases(5, 5, _finds_odd_words, special=0.7),
        cases(5, 7, _is_crowded, end=0.5),
    ),
    examples=1,
)
def test_a_narrow_beam(
    student: Any, usual: DecodingCase, odd: DecodingCase, crowded: DecodingCase
) -> None:
    """A beam of two or three keeps the best of all candidates at each step, finished ones too.

    Sees only the best extension of each taken, finished targets that go on, are lost or make the
    beam narrower, too few extensions of one target, a beam that is too wide or always four wide,
    and rows that compete with each other.
    """
    for case, size in ((usual, NARROW), (odd, NARROW), (crowded, NARROW + 1)):
        subject = f"result of beam_search with beam_size={size}"
        _assert_beam(student, case, size, case.beams(size), subject)


@check(points=1, inputs=cases(4, 7, _needs_its_width), examples=2)
def test_edges(student: Any, case: DecodingCase) -> None:
    """Edge cases work: `max_len` 1, a beam of one, a beam wider than the vocabulary, a single row.

    Nothing is modified. Sees a `max_len` that does not count the start token, `topk` of more tokens
    than there are, a beam never wider than the vocabulary, another default of `beam_size`, and a
    modified model or source.
    """
    settings = student.global_settings()
    assert_defaults(student, "beam_search", {"beam_size": DEFAULT})
    model = case.model(student)
    call = (model, case.src, case.bos_id, case.eos_id)
    _assert_beam(student, case, 1, case.greedy(), "result of beam_search with beam_size=1")
    size = case.vocab + 2
    result, after = student.beam_search.echo(*call, case.max_len, size)
    subject = f"result of beam_search with beam_size={size} for {case.vocab} tokens"
    assert_targets(result, case.beams(size), case, subject)
    assert_not_edited([case.src], after[1:2], ["src"])
    alone = student.beam_search(model, case.src[2:], *call[2:], case.max_len, size)
    assert_targets(alone, case.beams(size)[2:], case, "result of beam_search for a single row")
    alone = student.greedy_decode(model, case.src[2:], *call[2:], case.max_len)
    assert_targets(alone, case.greedy()[2:], case, "result of greedy_decode for a single row")
    result, after = student.greedy_decode.echo(*call, case.max_len)
    assert_targets(result, case.greedy(), case, "result of greedy_decode")
    assert_not_edited([case.src], after[1:2], ["src"])
    for name, result in (
        ("greedy_decode", student.greedy_decode(*call, 1)),
        ("beam_search", student.beam_search(*call, 1, 2)),
    ):
        assert_matches_rows(result, 3, f"result of {name} with max_len=1")
        if result.size(1) != 1 or (result != case.bos_id).any():
            raise Mismatch(
                f"With max_len=1, {name} should return `bos_id` alone; yours returned "
                f"{result.tolist()} for bos_id={case.bos_id}."
            )
    kept = model.weights(case.weights)
    if any(not torch.equal(kept[name], value) for name, value in case.weights.items()):
        raise Mismatch("Your code changes the weights of the model.")
    if model.training.get() is not False:
        raise Mismatch("Your code took the model out of evaluation mode.")
    assert_settings_kept(settings, student.global_settings())


@check(points=0, inputs=cases(5, 6, _ends, end=1.0), examples=1)
def test_greedy_stops_when_all_have_ended(student: Any, case: DecodingCase) -> None:
    """Decoding stops when all rows have ended; no column of padding alone is written.

    It carries no points: the result is the same except for columns of padding.
    """
    result = greedy(student, case)
    needed = max(map(len, case.greedy()))
    assert_matches_rows(result, 3, "result of greedy_decode")
    if result.size(1) > needed:
        raise Mismatch(
            f"All rows have ended after {needed} tokens; your result has {result.size(1)}.",
            help="Can your loop stop before `max_len`?",
        )
