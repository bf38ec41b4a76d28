"""The training process. It receives the student's files over a connection and reports over it.

Messages are lines of JSON, see `grader.capstone.events`. The first one is the job; questions to the
model and mistakes to look for follow. "stop" ends the training early and keeps the model.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import ModuleType
from typing import Any, TextIO

import hypothesis
import hypothesis.strategies
import torch

from grader.board import probe
from grader.board.known import decoded
from grader.capstone import ablations, faults, mine
from grader.capstone.ablations import LeftOut
from grader.capstone.contract import ContractError
from grader.capstone.events import Answers, Event, Failure, Fault, Faults, Named, Report, line_of
from grader.capstone.faults import Tests
from grader.capstone.learners import LEARNERS
from grader.capstone.pieces import Pieces, Sources, entries_of, failure, standing
from grader.capstone.task import Learner, Plan
from grader.curriculum import find
from grader.feedback import comparison, gradients, parts, plain_data

__all__ = ["hidden_files", "main", "serve", "warm", "warm_further"]

THREADS = 2
_KIT: dict[str, ModuleType] = {}  # the kit's modules, for jailed children
# Modules of the kit that public tests import. In a jail, its files are gone by then.
TESTS_IMPORT = (comparison, gradients, parts, plain_data)
# Steps are limited in CPU time, so that a busy machine ends nobody's training. Code that waits
# instead is ended after this many times as long.
WAITING = 2.5


class Worker:
    """One training and the translations after it, over a connection to the parent."""

    def __init__(self, reading: TextIO, writing: TextIO) -> None:
        self.reading = reading
        self.writing = writing
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.done = threading.Event()
        self.asked: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.doing = "reading your files"
        self.last_sign = _clocks()
        self.patience = 0.0  # set by the job
        self.own: AbstractContextManager[Any] = nullcontext()  # the pieces in place of torch's

    def work(self) -> None:
        """Everything, until the other side hangs up."""
        job = json.loads(self.reading.readline())
        self.patience = job["patience"]
        main_thread = threading.get_ident()
        threading.Thread(target=self.listen, daemon=True).start()
        threading.Thread(target=self.watch, args=(main_thread,), daemon=True).start()
        sources = Sources(**job["sources"])
        tests = Tests(job["tests"], job["entries"], job["answers"])
        left_out = LeftOut(ablations.find(job["without"])) if job["without"] else None
        pieces = Pieces(sources, left_out)
        learner = None
        try:
            learner = self.train(pieces, job, left_out)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self.tell(refused(error, self.doing))
            self.doing = ""
        while (question := self.asked.get()) is not None:
            try:
                self.answer(question, learner, sources, tests)
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                self.tell(refused(error, self.doing))
            self.doing = ""
        self.done.set()
        pieces.close()

    def train(self, pieces: Pieces, job: Mapping[str, Any], left_out: LeftOut | None) -> Learner:
        """Train, report what was learnt, and return what was trained."""

        def tell(report: Report) -> None:
            if left_out is not None:
                left_out.check()
            self.tell(report)

        plan = Plan(**job["plan"])
        self.sign("running your files")
        entries = entries_of(pieces, job["entries"])
        self.sign("making the model")
        learner = LEARNERS[job["task"]](entries, plan, self.sign)
        notes = self.put_own(pieces, learner, job) if job["mine"] else []
        self.sign("training")
        with self.own:
            learner.run(self.stop.is_set, tell)
            trained = learner.conclude(self.stop.is_set())
        self.tell(replace(trained, notes=[*notes, *trained.notes]))
        self.doing = ""
        return learner

    def put_own(self, pieces: Pieces, learner: Learner, job: Mapping[str, Any]) -> list[str]:
        """Put the student's own small pieces in place of torch's, where they are right.

        Return sentences about it.
        """
        self.sign("putting your own pieces in place")
        tests = Tests(job["tests"], {name: find(name).entries for name in job["mine"]}, {})
        workspace = faults.PiecesWorkspace(pieces.sources.own)
        wrong = [fault.exercise for fault in faults.in_place(job["mine"], tests, workspace)]
        right = {name: pieces.module(name) for name in job["mine"] if name not in wrong}
        already = [name for name in right if name in job["entries"]]
        self.own, note = mine.put(learner.model, right, learner.example(), already)
        return [note, *(f"{name} fails its public tests, so torch's is used." for name in wrong)]

    def answer(
        self, question: Mapping[str, Any], learner: Learner | None, sources: Sources, tests: Tests
    ) -> None:
        """Answer a question about the pieces, or about the trained model."""
        match question:
            case {"faults": _}:
                self.tell(Faults(faults.faults(sources, tests, self.sign)))
            case {"diagnose": exercise, "known": content}:
                self.sign(f"looking for the mistake in {exercise}")
                known = decoded(exercise, b64decode(content))
                self.tell(Named(exercise, faults.diagnosed(exercise, known, sources, tests)))
            case _ if learner is None:
                self.tell(Failure("answering", "No model was trained."))
            case _:
                self.sign("answering")
                with self.own:
                    self.tell(answer(question, learner))

    def sign(self, doing: str = "") -> None:
        """Note that the code is alive, and what it does next."""
        self.last_sign = _clocks()
        self.doing = doing or self.doing

    def tell(self, event: Event) -> None:
        """Send an event."""
        with self.lock:
            self.writing.write(line_of(event))
            self.writing.flush()

    def listen(self) -> None:
        """Take what the other side says meanwhile, in a thread of its own."""
        for line in self.reading:
            message = json.loads(line)
            if "stop" in message:
                self.stop.set()
            else:
                self.asked.put(message)
        self.stop.set()
        self.asked.put(None)

    def out_of_patience(self) -> bool:
        """Return whether the code has worked, or waited, too long since its last sign."""
        worked, passed = (now - then for now, then in zip(_clocks(), self.last_sign, strict=True))
        return worked >= self.patience or passed >= WAITING * self.patience

    def watch(self, main_thread: int) -> None:
        """End the process when the student's code does not come back, and say where it is."""
        while not self.done.wait(0.2):
            if not self.doing or not self.out_of_patience():
                continue
            place = standing(sys._current_frames().get(main_thread))
            message = f"It did not come back within {self.patience:.0f} seconds."
            self.tell(Failure(self.doing, message, *place))
            os._exit(0)


def _clocks() -> tuple[float, float]:
    return time.process_time(), time.monotonic()


def answer(question: Mapping[str, Any], learner: Learner) -> Event:
    """Return what a trained model answers."""
    match question:
        case {"answers": texts}:
            return Answers(learner.answers(texts))
        case {"scored": text}:
            return learner.scored(text)
        case {"predicted": ids}:
            return learner.predicted(ids)
        case _:
            return learner.answer(question["translate"])


def refused(error: BaseException, doing: str) -> Failure:
    """That the student's code could not go on, in words."""
    if not isinstance(error, ContractError):
        return failure(error, doing)
    fault = Fault(error.exercise, error.exercise, "", str(error))
    return Failure(doing, str(error), faults=[fault])


def warm(_expected: Sequence[str]) -> None:
    """Run a hypothesis test once, so that all it needs is imported, and keep the kit."""

    @hypothesis.given(hypothesis.strategies.integers(1, 3))
    def use(number: int) -> None:
        assert number

    probe.calm(use)()
    _KIT.update({name: module for name, module in sys.modules.items() if _is_kit(name)})


def _is_kit(name: str) -> bool:
    return name.partition(".")[0] == "grader"


def warm_further() -> None:
    """There is one child only."""


def hidden_files() -> dict[str, bytes]:
    """Nothing of the machine reads otherwise here."""
    return {}


def serve(sock: socket.socket) -> None:
    """Run a jailed child on its socket, with a single thread as in all jails.

    A jail makes its children forget the kit. Public tests import a part of it, which is harmless
    here, since nothing is graded.
    """
    sys.modules.update(_KIT)
    Worker(sock.makefile("r", encoding="utf-8"), sock.makefile("w", encoding="utf-8")).work()


def main() -> None:
    """Run as a separate process that reads standard input and writes to standard output.

    Whatever the student's code prints is dropped.
    """
    torch.set_num_threads(THREADS)
    line, null = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(null, standard)
    writing, reading = (
        os.fdopen(line, "w", encoding="utf-8"),
        os.fdopen(os.dup(0), encoding="utf-8"),
    )
    os.dup2(null, 0)
    Worker(reading, writing).work()
    os._exit(0)  # the reading thread is still waiting
