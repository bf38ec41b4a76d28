"""What the side that waits believes of the process that trains: as little as it can."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest

from grader.capstone import exam, report, tasks
from grader.capstone.events import (
    Answers,
    Behaviour,
    Event,
    Failure,
    ProtocolError,
    Report,
    Trained,
    Translation,
    event_from,
    line_of,
)
from grader.capstone.exam import BrokenOffError
from grader.capstone.session import Session, own_process
from tests.tools.capstone_runs import right, trial

TRAINED = Trained(3, 1.0, 0.5, stopped=False, behaviour=Behaviour())


def session_saying(*events: Event | str) -> Session:
    """A session with a process that says these things, whatever it is asked."""
    lines = [event if isinstance(event, str) else line_of(event) for event in events]
    return Session(io.StringIO("".join(lines)), io.StringIO(), lambda: "It ended.", lambda: None)


def said(event: Event, **changed: object) -> str:
    return json.dumps({"event": type(event).__name__, **asdict(event), **changed}) + "\n"


@pytest.mark.parametrize(
    "line",
    [
        said(TRAINED, exact=1.0),  # the process has no word on how good its model is
        said(TRAINED, step=-1),
        said(TRAINED, step=10**400),
        said(TRAINED, seconds=1e300),
        said(TRAINED, seconds=float("nan")),
        said(TRAINED, positions=[[0.0], [0.0, 1.0]]),
        said(TRAINED, positions=[[0.0] * 1000] * 1000),
        said(TRAINED, positions=[[float("inf")]]),
        said(TRAINED, embedding=[[0.0, 1e9]]),
        said(TRAINED, behaviour={"future": "yes"}),
        said(TRAINED, behaviour={"teacher_forced": 2.0}),
        said(TRAINED, translations=[asdict(Translation("a", "b"))] * 1000),
        said(Translation("a", "b"), target="b" * 100_000),
        said(Translation("a", "b"), attention=[[2.0]]),
        said(Answers(["a"]), texts=["a" * 1000]),
        said(Answers(["a"]), texts=[["a"]]),
        said(Report(1, 1.0, 1.0, 1.0), scores=[1.0]),
        "[" * 100_000 + "\n",
        '{"event": ["Report"]}\n',
        '{"event": "Report", "step": ' + "9" * 5000 + "}\n",
    ],
)
def test_an_event_out_of_bounds_is_refused(line: str) -> None:
    with pytest.raises(ProtocolError):
        event_from(line)
    assert isinstance(session_saying(line).hear(), Failure)


def test_a_number_that_is_none_is_a_missing_loss() -> None:
    event = event_from(said(Report(1, 1.0, float("inf"), 1.0)))
    assert isinstance(event, Report)
    assert event.loss != event.loss


def test_events_survive_their_way() -> None:
    for event in (TRAINED, Report(1, 2.0, 3.0, 0.1, ["2026-11-21"], [-0.5])):
        assert event_from(line_of(event)) == event


def test_an_answer_where_none_was_asked_ends_the_training() -> None:
    outcome = session_saying(Translation("a", "b")).hear()
    assert isinstance(outcome, Failure)


def test_a_process_that_reports_for_ever_is_given_up() -> None:
    session = session_saying(*[Report(1, 1.0, 1.0, 1.0)] * 50)
    session.begin({"plan": {"seconds": 0.0}}, seconds=0.0)
    session.reports = 20
    heard = [session.hear() for _ in range(21)]
    assert isinstance(heard[19], Report)
    assert isinstance(heard[20], Failure)


def test_reports_buy_no_time() -> None:
    session = session_saying(*[Report(1, 1.0, 1.0, 1.0)] * 5)
    session.begin({"plan": {"seconds": 0.0}}, seconds=1.0)
    session.limit = time.monotonic() - 1
    outcome = session.hear()
    assert isinstance(outcome, Failure)
    assert "was stopped" in outcome.said


def test_nobody_waits_again_for_a_process_that_has_ended_or_does_not_answer() -> None:
    began = time.monotonic()
    ended = session_saying()
    assert isinstance(ended.hear(), Failure)
    assert (ended.faults(), ended.diagnose("masks", b""), ended.faults()) == ([], [], [])
    reading, writing = os.pipe()
    with os.fdopen(reading) as never, os.fdopen(writing, "w"):
        late = Session(never, io.StringIO(), lambda: "It ended.", lambda: None)
        late.limit = time.monotonic() - 1
        assert isinstance(late.hear(), Failure)
        assert (late.faults(), late.diagnose("masks", b"")) == ([], [])
    assert time.monotonic() - began < 20


def test_no_more_lines_wait_than_there_is_room_for() -> None:
    endless = io.StringIO(line_of(Report(1, 1.0, 1.0, 1.0)) * 10_000)
    session = Session(endless, io.StringIO(), lambda: "", lambda: None)
    time.sleep(0.2)
    assert session.lines.qsize() <= 8
    assert endless.tell() < 10_000


class Examinee:
    """A model that always answers the same."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def answers(self, texts: Sequence[str]) -> list[str]:
        return [self.answer for _ in texts]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def test_the_exam_counts_what_is_right_itself() -> None:
    questions = [exam.Example(str(n), "1" if n < 3 else "2", "", "odd") for n in range(10)]
    held = exam.AnswerExam(questions, 2).hold(TRAINED, Examinee("1"))
    assert (held.exact, held.count, len(held.wrong)) == (0.3, 10, 7)
    assert held.languages == {"odd": 0.3}


def test_a_forged_report_of_answers_is_measured() -> None:
    questions = [exam.Example("a", "b", "", ""), exam.Example("c", "d", "", "")]
    held = exam.AnswerExam(questions, 2)
    before = held.progress(Report(1, 1.0, 1.0, 1.0, ["b", "x"]), None)
    assert before.exact == 0.5
    assert held.progress(Report(2, 1.0, 1.0, 1.0, ["b"]), before).exact == 0.5


def test_too_few_answers_break_the_exam_off() -> None:
    session = session_saying(Answers(["a"]))
    with pytest.raises(BrokenOffError, match="1 answers to 2 questions"):
        session.answers(["a", "b"])


@pytest.mark.full
def test_code_that_writes_a_perfect_result_into_the_line_is_not_believed() -> None:
    forged = json.dumps(
        {"event": "Learnt", "exact": 1.0, "count": 100, **asdict(TRAINED)}, default=str
    )
    source = (
        "import gc, io\n"
        "for writer in gc.get_objects():\n"
        "    if isinstance(writer, io.TextIOWrapper) and not writer.closed and writer.writable():\n"
        f"        writer.write({forged!r} + chr(10)); writer.flush()\n" + right("masks")
    )
    with own_process() as session:
        outcome = trial({"masks": source}, steps=1).outcome(session)
    assert isinstance(outcome, Failure)
    assert "own line" in outcome.said


def test_a_picture_that_does_not_fit_its_text_is_not_drawn() -> None:
    odd = Trained(
        1,
        1.0,
        1.0,
        stopped=False,
        behaviour=Behaviour(),
        translations=[Translation("abc", "2026", [[0.5]])],
        positions=[[0.0, 1.0]],
        embedding=[[0.0, 1.0]],
    )
    for name in tasks.NAMES:
        task = tasks.find(name)
        learnt = exam.Learnt(**vars(odd), exact=0.0, count=1)
        drawn = task.figures(learnt, [])
        assert not any(file.startswith(("attention", "embedding")) for file in drawn)
        assert list(task.lines(learnt))
        assert list(task.symptoms(learnt, [])) is not None
        assert json.loads(report.as_json(learnt, [], [], 1, "process", []))["exact_match"] == 0
