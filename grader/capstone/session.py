"""The parent's side: it starts the training process and reads its reports.

Every report is checked field by field before it is used, and none gets the process more time.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import queue
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, TextIO, TypeVar

from grader.capstone.events import (
    LONGEST_LINE,
    Answers,
    Event,
    Failure,
    Fault,
    Faults,
    Named,
    Prediction,
    ProtocolError,
    Report,
    Scored,
    Trained,
    Translation,
    event_from,
)
from grader.capstone.exam import BrokenOffError
from grader.sandbox.program import CLOSED, Program, command, ending_in_words

STEP_SECONDS = 60.0
# The process itself reports where it hangs, and code that waits after 2.5 times its seconds. If it
# can't even do that, it is ended after this many times as long, plus these seconds.
LAST_RESORT = 3.0
SILENCE = 45.0
MOST_REPORTS = 20  # per second
MOST_LINES = 8  # unread lines; the process waits until there is room
_LATE = "It was not done in time and was stopped."
T = TypeVar("T", Translation, Faults, Named, Answers, Scored, Prediction)


class Session:
    """A training process, at the other end of a connection.

    `ending` is a sentence on how it ended, once it has, and `close` ends it.
    """

    def __init__(
        self,
        reading: TextIO,
        writing: TextIO,
        ending: Callable[[], str],
        close: Callable[[], None],
    ) -> None:
        self.writing = writing
        self.ending = ending
        self.end = close
        self.silence = LAST_RESORT * STEP_SECONDS + SILENCE
        self.lines: queue.Queue[str | None] = queue.Queue(MOST_LINES)
        self.limit = math.inf
        self.reports = 0.0
        self.is_late = False  # once it is, nobody waits for it again
        threading.Thread(target=self._listen, args=(reading,), daemon=True).start()

    def begin(self, job: dict[str, Any], seconds: float = STEP_SECONDS) -> None:
        """Start the training. One step may take the code so many `seconds` of CPU time."""
        self.silence = LAST_RESORT * seconds + SILENCE
        planned = job["plan"]["seconds"]
        self.limit = time.monotonic() + planned + 2 * self.silence
        self.reports = MOST_REPORTS * (planned + self.silence)
        self._say({**job, "patience": seconds})

    def hear(self) -> Report | Trained | Failure:
        """Return the next event: reports, and at last a trained model or a failure."""
        event: Report | Trained | Failure = self._next("training", Report, Trained)
        self.reports -= 1
        if self.reports < 0:
            return Failure("training", "It reports more often than a training does.")
        return event

    def stop(self) -> None:
        """Ask for the end of the training, with what was learnt so far."""
        self.limit = min(self.limit, time.monotonic() + 2 * self.silence)
        self._say({"stop": True})

    def translate(self, text: str) -> Translation | Failure:
        """Return what the trained model makes of a text."""
        return self._ask({"translate": text}, Translation)

    def faults(self) -> list[Fault]:
        """Return what public tests say of the pieces; nothing if the process has ended."""
        event = self._ask({"faults": True}, Faults, "running the public tests")
        return event.faults if isinstance(event, Faults) else []

    def diagnose(self, exercise: str, known: bytes) -> list[str]:
        """Return which of the `known` mistakes the student's piece has, in the words of that file.

        `known` is the content of the exercise's file of mistakes.
        """
        question = {"diagnose": exercise, "known": b64encode(known).decode()}
        event = self._ask(question, Named, "looking for the mistake")
        return event.mistakes if isinstance(event, Named) else []

    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return the model's answers to the questions of an exam."""
        answers = _examined(self._ask({"answers": list(texts)}, Answers, "answering")).texts
        if len(answers) != len(texts):
            message = f"It gave {len(answers)} answers to {len(texts)} questions."
            raise BrokenOffError(Failure("answering", message))
        return answers

    def scored(self, text: str) -> Scored:
        """Return the text as tokens, and how probable the model finds each."""
        return _examined(self._ask({"scored": text}, Scored, "reading unseen text"))

    def predicted(self, ids: Sequence[int]) -> Prediction:
        """Return what the model expects after these tokens."""
        return _examined(self._ask({"predicted": list(ids)}, Prediction, "predicting"))

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError, ValueError):
            self.writing.close()
        self.end()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _say(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError, ValueError):  # that it has ended is heard when it is read
            self.writing.write(json.dumps(message) + "\n")
            self.writing.flush()

    def _ask(
        self, question: dict[str, Any], kind: type[T], doing: str = "translating"
    ) -> T | Failure:
        """Ask a question of the process; the answer is of the kind wanted, or a failure."""
        self.limit = time.monotonic() + self.silence
        self._say(question)
        answer: T | Failure = self._next(doing, kind)
        return answer

    def _next(self, doing: str, *kinds: type[Event]) -> Any:
        """Return the next event, if it is of a kind that is wanted now."""
        if self.is_late:
            return Failure(doing, _LATE)
        deadline = min(time.monotonic() + self.silence, self.limit)
        line: str | None = ""
        while line == "":
            # Wait in short pieces, so that Ctrl-C also works on Windows.
            with contextlib.suppress(queue.Empty):
                line = self.lines.get(timeout=0.5)
            if time.monotonic() > deadline and line is not None:
                self.is_late = True
                return Failure(doing, _LATE)
        if line is None:
            self.lines.put(None)  # whatever is asked next, nothing comes any more
            return Failure(doing, self.ending())
        try:
            event: Event | None = event_from(line)
        except ProtocolError:
            event = None
        if isinstance(event, (*kinds, Failure)):
            return event
        return Failure(doing, "It wrote something into the grader's own line.")

    def _listen(self, reading: TextIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := reading.readline(LONGEST_LINE):
                self.lines.put(line)
        self.lines.put(None)


def _examined(event: T | Failure) -> T:
    """Return the event. Raises `BrokenOffError` for a failure."""
    if isinstance(event, Failure):
        raise BrokenOffError(event)
    return event


def own_process() -> Session:
    """Return a session with a process of its own, on any system: for one's own code."""
    # Threads that wait for each other must not use up the CPU time of other programs.
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONIOENCODING": "utf-8"}
    child = Program(command("grader.capstone.child"), environment, apart=True)
    process = child.process
    assert process.stdin is not None

    def ending() -> str:
        try:
            return ending_in_words(process.wait(10))
        except subprocess.TimeoutExpired:
            return CLOSED

    def close() -> None:
        process.kill()
        process.wait()
        child.errors.close()

    return Session(
        io.TextIOWrapper(child.replies, "utf-8", "replace"),
        io.TextIOWrapper(process.stdin, "utf-8"),
        ending,
        close,
    )


def session_on(sock: Any, ending: Callable[[], str], close: Callable[[], None]) -> Session:
    """Return a session with a process at the other end of a socket, such as one in a jail."""
    sock.settimeout(None)
    reading = sock.makefile("r", encoding="utf-8", errors="replace")
    return Session(reading, sock.makefile("w", encoding="utf-8"), ending, close)
