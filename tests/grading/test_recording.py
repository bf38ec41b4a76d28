"""The cases of a run are drawn once, and never one on which the reference itself fails."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader import curriculum
from grader.checks import framework
from grader.checks.framework import Check
from grader.checks.framework.inputs import Numbers
from grader.checks.stack_parts import Sizes
from grader.checks.transformer_cases import TransformerCase
from grader.curriculum import reference
from grader.grading.recording import MAX_DRAWS, RecordingError, draw, record
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Recorder, Request, tensors

CHECK = next(item for item in framework.load("attention") if item.inputs)


def failing(times: int) -> framework.Check:
    """A check that fails so many times, whatever it is asked, and then does what it does."""
    left = [times]

    @functools.wraps(CHECK.body)
    def body(*arguments: Any, **named: Any) -> None:
        if left[0]:
            left[0] -= 1
            raise AssertionError("a case that tells nothing")
        CHECK.body(*arguments, **named)

    return replace(CHECK, body=body)


def test_a_case_on_which_the_reference_fails_is_drawn_anew() -> None:
    answer = reference.module("attention")
    first, second = (record(failing(times), answer, 1) for times in (0, 1))
    assert first.seed != second.seed
    assert len(first.cases) == len(second.cases) > 0


def test_a_check_that_the_reference_never_passes_is_an_error() -> None:
    with pytest.raises(RecordingError, match="a case that tells nothing"):
        record(failing(MAX_DRAWS), reference.module("attention"), 1)


@pytest.mark.parametrize("pad_id", range(1, 9))
def test_special_ids_are_never_those_of_padding(pad_id: int) -> None:
    sizes = Sizes(batch=2, length=4, source=5, n_heads=2, d_head=3, d_ff=7)
    case = TransformerCase(sizes, 9, 10, pad_id, Numbers(1, 0), 1, False, "relu")
    case = case.with_special_ids
    for ids in (case.src, case.tgt):
        assert (ids != pad_id).all()


def values(tensor: Tensor) -> frozenset[float]:
    """The numbers in a tensor that tell one tensor from another."""
    numbers = tensor.detach().double().flatten().tolist() if tensor.is_floating_point() else []
    return frozenset(number for number in numbers if abs(number) not in (0.0, 1.0, math.inf))


class Watched(Recorder):
    """A recorder that finds the requests which hold numbers of a reply that nobody has sent yet."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.known: set[float] = set()
        self.awaited: list[frozenset[float]] = []
        self.told: list[int] = []

    def request(self, request: Request) -> Any:
        number = len(self.requests)
        reply = super().request(request)
        if number in self.waits:
            self.awaited.clear()
        held = [item for item in map(values, tensors(request)) if len(item) > 1]
        if any(
            used <= earlier for used in held if not used <= self.known for earlier in self.awaited
        ):
            self.told.append(number)
        self.known.update(*held)
        out = (values(tensor) for tensor in tensors(reply))
        self.awaited += [made for made in out if not made <= self.known]
        return reply


def watched(check: Check, answer: Any, number: int) -> Watched:
    recorder = Watched(Server(answer))
    for arguments in draw(check, number)[:4]:
        check.body(Student(recorder, number), **arguments)
    return recorder


@pytest.mark.full(but=("attention",))
@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_no_frame_holds_what_one_of_its_replies_must_be(exercise: str) -> None:
    for check in framework.load(exercise):
        assert not watched(check, reference.module(exercise), 7).told, check.name


def handing_on(student: Any, how: Callable[[Tensor], Tensor]) -> None:
    query = torch.randn(1, 1, 3, 2)
    output, _ = student.attention(query, query, query)
    student.attention(how(output), query, query)


@pytest.mark.parametrize("how", [lambda x: x, lambda x: x[..., 1:, :].detach(), lambda x: x.mT.mT])
def test_what_hands_on_a_reply_waits_for_it(how: Callable[[Tensor], Tensor]) -> None:
    recorder = Watched(Server(reference.module("attention")))
    handing_on(Student(recorder), how)
    assert recorder.waits == {2}
    assert not recorder.told


def test_the_search_finds_a_reply_in_a_request() -> None:
    """Else the test above says nothing."""
    recorder = Watched(Server(reference.module("attention")))
    handing_on(Student(recorder), lambda x: x.clone()[..., :2, :])
    assert recorder.told == [2]


def test_the_recorded_waits_are_where_frames_end() -> None:
    recordings = [
        record(item, reference.module("encoder"), 1) for item in framework.load("encoder")
    ]
    for recording in recordings:
        waits = sum(len(case.waits) for case in recording.cases)
        assert len(recording.frames) == 1 + waits
        requests = sum(len(case.requests) for case in recording.cases)
        assert sum(count for _, count in recording.frames) == requests
    assert any(len(recording.frames) > 1 for recording in recordings)


def test_the_seed_that_is_sent_is_not_the_checks_own() -> None:
    recorder = Recorder(Server(reference.module("attention")))
    Student(recorder, 7)
    Student(recorder, 8)
    seeds = [request["seed"] for request in recorder.requests]
    assert len({*seeds, 7, 8}) == 4
