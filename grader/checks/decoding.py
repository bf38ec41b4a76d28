"""Hidden checks of `decoding`: what is written is what a search by lookup finds."""

from __future__ import annotations

from typing import Any

import torch

from grader.checks.decoding_cases import (
    LARGE,
    DecodingCase,
    assert_matches_rows,
    assert_targets,
    cases,
)
from grader.checks.framework import check
from grader.checks.framework.assertions import assert_defaults, assert_not_edited
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import Mismatch

NARROW = 2
DEFAULT = 4


def _goes_on(case: DecodingCase) -> bool:
    """No row ends, and no row repeats one word."""
    found = case.greedy()
    ended = any(case.has_ended(ids) for ids in found)
    return not ended and len(set(found)) == 3 and all(len(set(ids[1:])) > 1 for ids in found)


def _ends(case: DecodingCase) -> bool:
    """The rows end at three different places, the last one with room to spare."""
    lengths = [len(ids) for ids in case.greedy() if case.has_ended(ids)]
    return len(set(lengths)) == 3 and max(lengths) < case.max_len


def _says_anything(case: DecodingCase) -> bool:
    """The start word and padding are among the words, and other words follow. No row ends."""
    found = case.greedy()
    starts = any(case.bos_id in ids[1:-2] for ids in found)
    fillings = any(case.pad_id in ids[1:-2] and ids[-1] != case.pad_id for ids in found)
    return starts and fillings and not any(case.has_ended(ids) for ids in found)


def _has_an_early_winner(case: DecodingCase) -> bool:
    """A row's best ends early, and is not what the mean score of a word or greedy gives."""
    best, means, greedy = case.best(), case.best(per_word=True), case.greedy()
    early = [case.has_ended(ids) and len(ids) < case.max_len for ids in best]
    return any(early) and best != means and best != greedy


def _has_an_open_winner(case: DecodingCase) -> bool:
    """A row's best has not ended, although others in the beam have."""
    best = case.best()
    return best != case.greedy() and any(
        not case.has_ended(ids) and case.beam(row, 10**6, complete=True) != ids
        for ids, row in zip(best, case.rows, strict=True)
    )


def _needs_its_finished(case: DecodingCase) -> bool:
    """A narrow beam finds neither greedy's nor the best target, and forgets nothing."""
    found = case.beams(NARROW)
    return (
        found not in (case.greedy(), case.beams(NARROW + 1), case.beams(DEFAULT))
        and found != [case.beam(row, DEFAULT, extensions=NARROW) for row in case.rows]
        and found != [case.beam(row, NARROW, finished="forgotten") for row in case.rows]
        and found != [case.beam(row, NARROW, per_word=True) for row in case.rows]
        and found != case.best()
    )


def _is_crowded(case: DecodingCase) -> bool:
    """It matters that finished targets take places in a beam of three, and may lose them.

    And that three places may go to words after one beginning.
    """
    found = case.beams(NARROW + 1)
    return found != [case.beam(row, NARROW + 1, extensions=NARROW) for row in case.rows] and all(
        found != [case.beam(row, NARROW + 1, finished=kept) for row in case.rows]
        for kept in ("beside", "reserved", "forgotten")
    )


def _finds_odd_words(case: DecodingCase) -> bool:
    """What a narrow beam finds has the start word or padding in it, and other words after them."""
    found = case.beams(NARROW)
    specials = {case.bos_id, case.pad_id}
    odd = any(specials & set(ids[1:-1]) and ids[-1] not in specials for ids in found)
    complete = [case.beam(row, NARROW, complete=True) for row in case.rows]
    return odd and found != case.greedy() and found != complete


def _is_ordinary(case: DecodingCase) -> bool:
    """Greedy and every beam that the check asks for are decided, and not all the same."""
    return case.greedy() != case.beams(case.vocab + 2)


def greedy(student: Any, case: DecodingCase) -> Any:
    """What the student's greedy decoding writes."""
    model = case.model(student)
    return student.greedy_decode(model, case.src, case.bos_id, case.eos_id, case.max_len)


def beam(student: Any, case: DecodingCase, size: int) -> Any:
    """What the student's beam search finds."""
    model = case.model(student)
    call = (model, case.src, case.bos_id, case.eos_id, case.max_len)
    return student.beam_search(*call, beam_size=size)


@check(points=2, inputs=cases(5, 6, _goes_on, end=-2.0), examples=2)
def test_greedy_takes_the_likeliest_word(student: Any, case: DecodingCase) -> None:
    """At every place the likeliest next word is appended, up to `max_len`.

    Sees logits of the wrong place or row, a memory that is not the source's, a draw for a maximum,
    and one word too many or too few. No row ends here.
    """
    assert_targets(greedy(student, case), case.greedy(), case, "result of greedy_decode")


@check(points=2, inputs=cases(5, 6, _ends, end=1.0), examples=2)
def test_greedy_rows_end_by_themselves(student: Any, case: DecodingCase) -> None:
    """A row that met `eos_id` is filled with the model's padding id, while others go on.

    Sees words written after the end, all rows stopped by one, and a padding id of 0 taken for
    granted.
    """
    assert_targets(greedy(student, case), case.greedy(), case, "result of greedy_decode")


@check(
    points=1, inputs=cases(5, 6, _says_anything, end=-1.0, special=1.0, offset=LARGE), examples=2
)
def test_greedy_writes_any_word(student: Any, case: DecodingCase) -> None:
    """The start word and padding may come like any other word; they end nothing.

    Sees words that are kept from coming, padding taken for the end, and an exp of logits of 150,
    which is infinite.
    """
    assert_targets(greedy(student, case), case.greedy(), case, "result of greedy_decode")


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

    Sees scores that are divided by the length, made of logits or of probabilities, of an exp that
    is infinite, or that miss a word, finished targets that are lost, and unfinished ones that do
    not compete at the end.
    """
    for case in (early, still_open):
        found = beam(student, case, case.vocab ** (case.max_len - 1))
        assert_targets(found, case.best(), case, "result of a very wide beam_search")


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

    Sees the best extension of each taken by itself, finished targets that go on, are left out or
    make the beam narrower, too few extensions of one beginning, a beam that is too wide, or always
    four wide, and rows that compete with each other.
    """
    for case, size in ((usual, NARROW), (odd, NARROW), (crowded, NARROW + 1)):
        found = beam(student, case, size)
        what = f"result of beam_search with beam_size={size}"
        assert_targets(found, case.beams(size), case, what)


@check(points=1, inputs=cases(4, 4, _is_ordinary), examples=2)
def test_edges(student: Any, case: DecodingCase) -> None:
    """One place, a beam of one, a beam larger than the vocabulary, a row alone, nothing changed.

    Sees a `max_len` that does not count the start word, `topk` of more words than there are,
    another default of `beam_size`, and a model or a source that is edited.
    """
    settings = student.global_settings()
    assert_defaults(student, "beam_search", {"beam_size": DEFAULT})
    model = case.model(student)
    call = (model, case.src, case.bos_id, case.eos_id)
    what = "result of beam_search with beam_size=1"
    assert_targets(beam(student, case, 1), case.greedy(), case, what)
    size = case.vocab + 2
    found, after = student.beam_search.echo(*call, case.max_len, size)
    what = f"result of beam_search with beam_size={size} for {case.vocab} words"
    assert_targets(found, case.beams(size), case, what)
    assert_not_edited([case.src], after[1:2], ["src"])
    alone = student.beam_search(model, case.src[2:], *call[2:], case.max_len, size)
    assert_targets(alone, case.beams(size)[2:], case, "result of beam_search for one row")
    found, after = student.greedy_decode.echo(*call, case.max_len)
    assert_targets(found, case.greedy(), case, "result of greedy_decode")
    assert_not_edited([case.src], after[1:2], ["src"])
    for name, found in (
        ("greedy_decode", student.greedy_decode(*call, 1)),
        ("beam_search", student.beam_search(*call, 1, 2)),
    ):
        assert_matches_rows(found, 3, f"result of {name} with max_len=1")
        if found.size(1) != 1 or (found != case.bos_id).any():
            raise Mismatch(
                f"With max_len=1, {name} should return `bos_id` and no more; yours returned "
                f"{found.tolist()} for bos_id={case.bos_id}."
            )
    kept = model.weights(case.weights)
    if any(not torch.equal(kept[name], value) for name, value in case.weights.items()):
        raise Mismatch("Your code changes the weights of the model that it is given.")
    if model.training.get() is not False:
        raise Mismatch("The model was in evaluation mode when you got it, and is no longer.")
    assert_settings_kept(settings, student.global_settings())


@check(points=0, inputs=cases(5, 6, _ends, end=1.0), examples=1)
def test_greedy_stops_when_all_have_ended(student: Any, case: DecodingCase) -> None:
    """When the last row has met `eos_id`, nothing more is written, not even padding.

    It costs nothing: the result is the same but for columns of padding.
    """
    found = greedy(student, case)
    needed = max(map(len, case.greedy()))
    assert_matches_rows(found, 3, "result of greedy_decode")
    if found.size(1) > needed:
        raise Mismatch(
            f"All rows have ended after {needed} words; your result has {found.size(1)}.",
            help="Is there a way out of the loop before `max_len`?",
        )
