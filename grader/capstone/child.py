"""The process that trains: takes the student's files over a line, reports over the same.

What it reads and says are lines of JSON, see `grader.capstone.events`. It reads a job first, then
texts to translate; "stop" ends the training early and keeps what was learnt.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import torch

from grader.capstone import behaviour, dates, looking, parts, probing, wholes
from grader.capstone.dates import BOS
from grader.capstone.events import (
    Event,
    Example,
    Failure,
    Fault,
    Learnt,
    Translation,
    line_of,
)
from grader.capstone.pieces import Pieces, Sources, entries_of, failure, standing
from grader.capstone.training import SIZES, THREADS, ContractError, Plan, Training

__all__ = ["hidden_files", "main", "serve", "warm", "warm_further"]

MOST_WRONG = 12
SHOWN = ("English", "Japanese", "Spanish")  # of each the longest, with its attention
POSITIONS = 40
WITH_PROBES = (parts, wholes)  # imported for the probes that they hold
# Steps are measured in processor time, so that a busy machine ends nobody's training; code that
# waits instead is ended after so many times as long.
WAITING = 2.5


class Worker:
    """One training and the translations after it, over a line in each direction."""

    def __init__(self, reading: TextIO, writing: TextIO) -> None:
        self.reading = reading
        self.writing = writing
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.done = threading.Event()
        self.asked: queue.Queue[str | None] = queue.Queue()
        self.doing = "reading your files"
        self.last_sign = _clocks()
        self.patience = 0.0  # the job says it

    def work(self) -> None:
        """Everything, until the other side hangs up."""
        job = json.loads(self.reading.readline())
        self.patience = job["patience"]
        main_thread = threading.get_ident()
        threading.Thread(target=self.listen, daemon=True).start()
        threading.Thread(target=self.watch, args=(main_thread,), daemon=True).start()
        pieces = Pieces(Sources(**job["sources"]))
        try:
            training = self.train(pieces, job)
            while (text := self.asked.get()) is not None:
                self.sign("translating")
                self.tell(translation(training, text))
                self.doing = ""
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self.fail(error, pieces, job)
        finally:
            self.done.set()
            pieces.close()

    def train(self, pieces: Pieces, job: Mapping[str, Any]) -> Training:
        """Trains, reports what was learnt, and gives the trained model back."""
        plan = Plan(**job["plan"])
        self.sign("running your files")
        entries = entries_of(pieces, job["entries"])
        self.sign("making the model")
        training = Training(entries, plan)
        self.sign("training")
        training.run(self.stop.is_set, self.tell, self.sign)
        own = {name: pieces.module(name) for name in job["entries"] if pieces.is_own(name)}
        self.tell(conclude(training, entries, own, self.stop.is_set(), self.sign))
        self.doing = ""
        return training

    def fail(self, error: BaseException, pieces: Pieces, job: Mapping[str, Any]) -> None:
        """Reports that the student's code could not go on, and what the probes say to it."""
        told = failure(error, self.doing)
        if isinstance(error, ContractError):
            told = Failure(self.doing, str(error), faults=contract_faults(error))
        own = [name for name in job["entries"] if pieces.is_own(name)]
        modules: dict[str, Any] = {}
        for name in own:
            with contextlib.suppress(Exception, SystemExit):
                modules[name] = pieces.module(name)
        self.sign("measuring your pieces")
        found = [*probing.faults(modules), *told.faults]
        self.tell(
            Failure(told.doing, told.said, told.file, told.line, told.source, told.inside, found)
        )

    def sign(self, doing: str = "") -> None:
        """Notes that the code is alive, and what it does next."""
        self.last_sign = _clocks()
        self.doing = doing or self.doing

    def tell(self, event: Event) -> None:
        """Sends an event."""
        with self.lock:
            self.writing.write(line_of(event))
            self.writing.flush()

    def listen(self) -> None:
        """Takes what the other side says meanwhile, in a thread of its own."""
        for line in self.reading:
            said = json.loads(line)
            if "stop" in said:
                self.stop.set()
            else:
                self.asked.put(said["translate"])
        self.stop.set()
        self.asked.put(None)

    def out_of_patience(self) -> bool:
        """Whether the code has worked, or waited, too long since its last sign."""
        worked, passed = (now - then for now, then in zip(_clocks(), self.last_sign, strict=True))
        return worked >= self.patience or passed >= WAITING * self.patience

    def watch(self, main_thread: int) -> None:
        """Ends the process when the student's code does not come back, and says where it stands."""
        while not self.done.wait(0.2):
            if not self.doing or not self.out_of_patience():
                continue
            place = standing(sys._current_frames().get(main_thread))
            said = f"It did not come back within {self.patience:.0f} seconds."
            self.tell(Failure(self.doing, said, *place))
            os._exit(0)


def _clocks() -> tuple[float, float]:
    return time.process_time(), time.monotonic()


def contract_faults(error: ContractError) -> list[Fault]:
    """What is wrong with the piece that gave back something else than its exercise says."""
    return [Fault(error.exercise, "use", str(error))]


def conclude(
    training: Training,
    entries: Mapping[str, Any],
    own: Mapping[str, Any],
    stopped: bool,
    sign: Callable[[str], None] = lambda _: None,
) -> Learnt:
    """What came of a training: all unseen dates translated, the model and its pieces measured.

    `own` are the student's modules; `sign` is told what is done next.
    """
    written: list[str] = []
    pairs = training.held_out
    for start in range(0, len(pairs), 100):
        sign("translating the unseen dates")
        sources = [pair.source for pair in pairs[start : start + 100]]
        written += map(dates.decode_target, training.translate(sources))
    sign("measuring what the model does")
    measured = behaviour.measure(training, written)
    sign("measuring your pieces")
    found = probing.faults(own)
    right = [one == pair.target for one, pair in zip(written, pairs, strict=True)]
    languages: dict[str, list[bool]] = {}
    for pair, is_right in zip(pairs, right, strict=True):
        languages.setdefault(pair.language, []).append(is_right)
    wrong = [
        Example(pair.source, pair.target, one, pair.language)
        for one, pair, is_right in zip(written, pairs, right, strict=True)
        if not is_right
    ]
    longest = sorted(pairs, key=lambda pair: len(pair.source))
    texts = {pair.language: pair.source for pair in longest if pair.language in SHOWN}
    table = entries["sinusoidal_table"](POSITIONS, SIZES["d_model"]).tolist()
    return Learnt(
        step=training.step,
        seconds=training.seconds,
        loss=training.loss,
        exact=sum(right) / len(right),
        count=len(right),
        languages={name: sum(ones) / len(ones) for name, ones in sorted(languages.items())},
        wrong=wrong[:MOST_WRONG],
        translations=[translation(training, text) for text in texts.values()],
        positions=[[round(float(number), 4) for number in row] for row in table],
        behaviour=measured,
        faults=found,
        stopped=stopped,
    )


def translation(training: Training, text: str) -> Translation:
    """What the model makes of a text, and how it looked at it."""
    source = dates.tidy(text)
    (ids,) = training.translate([source])
    target = dates.decode_target(ids)
    unknown = "".join(sorted(set(source) - set(dates.source_characters())))
    attention: list[list[float]] = []
    if source and target:
        decoder_input = torch.tensor([[BOS, *ids[1 : len(target)]]])
        src = torch.tensor([dates.encode_source(source)])
        training.model.eval()
        attention = looking.cross_attention(
            training.model, src, decoder_input, int(SIZES["n_heads"])
        )
    return Translation(source, target, attention, unknown)


def warm() -> None:
    """Called once before a jail's child is forked: all is imported already."""


def warm_further() -> None:
    """There is one child only."""


def hidden_files() -> dict[str, bytes]:
    """Nothing of the machine reads otherwise here."""
    return {}


def serve(sock: socket.socket) -> None:
    """A jailed child's work, on its socket. As in all jails, with one thread."""
    Worker(sock.makefile("r", encoding="utf-8"), sock.makefile("w", encoding="utf-8")).work()


def main() -> None:
    """The work of a process of its own: lines come on standard input and go to standard output.

    What the student's code prints is dropped.
    """
    torch.set_num_threads(THREADS)
    line, nothing = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(nothing, standard)
    writing, reading = (
        os.fdopen(line, "w", encoding="utf-8"),
        os.fdopen(os.dup(0), encoding="utf-8"),
    )
    os.dup2(nothing, 0)
    Worker(reading, writing).work()
    os._exit(0)  # the thread that reads still waits
