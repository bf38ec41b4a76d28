"""The side that waits: starts the process that trains, and hears what it says.

Nothing that comes from there is believed before it is read field by field.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, cast

from grader.capstone.events import (
    LONGEST_LINE,
    Event,
    Failure,
    ProtocolError,
    Translation,
    event_from,
)

STEP_SECONDS = 60.0
# The process itself says where it hangs, code that waits after 2.5 times its seconds; if it cannot
# even do that, it is given up after so many times as long, and these.
LAST_RESORT = 3.0
SILENCE = 45.0
ROOT = Path(__file__).resolve().parents[2]


class Session:
    """A process that trains, at the other end of two lines.

    `ending` says in a sentence how it ended, once it has, and `close` ends it.
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
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, args=(reading,), daemon=True).start()

    def begin(self, job: dict[str, Any], seconds: float = STEP_SECONDS) -> None:
        """Starts the training. One step may take the code so many `seconds` of processor time."""
        self.silence = LAST_RESORT * seconds + SILENCE
        self._say({**job, "patience": seconds})

    def hear(self) -> Event:
        """What happens next, `Progress` until a `Learnt` or a `Failure`, which is the last."""
        return self._next("training")

    def stop(self) -> None:
        """Asks for the end of the training, with what was learnt so far."""
        self._say({"stop": True})

    def translate(self, text: str) -> Translation | Failure:
        """What the trained model makes of a text."""
        self._say({"translate": text})
        event = self._next("translating")
        if isinstance(event, (Translation, Failure)):
            return event
        return Failure("translating", "It answered with something else than a translation.")

    def close(self) -> None:
        """Ends the process."""
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

    def _next(self, doing: str) -> Event:
        deadline = time.monotonic() + self.silence
        line: str | None = ""
        while line == "":
            # In short pieces, so that Ctrl-C is heard on Windows as well.
            with contextlib.suppress(queue.Empty):
                line = self.lines.get(timeout=0.5)
            if line == "" and time.monotonic() > deadline:
                return Failure(doing, f"It has said nothing for {self.silence:.0f} seconds.")
        if line is None:
            return Failure(doing, self.ending())
        try:
            return event_from(line)
        except ProtocolError:
            return Failure(doing, "It wrote something into the grader's own line.")

    def _listen(self, reading: TextIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := reading.readline(LONGEST_LINE):
                self.lines.put(line)
        self.lines.put(None)


def own_process() -> Session:
    """A session with a process of its own, on any system: for one's own code."""
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        "from grader.capstone.child import main; main()"
    )
    # Threads that wait for each other must not burn the time of other programs.
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONIOENCODING": "utf-8"}
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=environment,
        **apart,
    )
    writing, reading = cast(TextIO, process.stdin), cast(TextIO, process.stdout)

    def ending() -> str:
        try:
            status = process.wait(10)
        except subprocess.TimeoutExpired:
            return "Your code closed its connection to the grader."
        if status in (-11, 3221225477):
            return "Your code crashed Python (segmentation fault)."
        if status == -9:
            return "Your code's process was killed: did it ask for too much memory?"
        return "Your code ended its own process (os._exit does that)."

    def close() -> None:
        process.kill()
        process.wait()

    return Session(reading, writing, ending, close)


def session_on(sock: Any, ending: Callable[[], str], close: Callable[[], None]) -> Session:
    """A session with a process at the other end of a socket, such as one in a jail."""
    sock.settimeout(None)
    reading = sock.makefile("r", encoding="utf-8", errors="replace")
    return Session(reading, sock.makefile("w", encoding="utf-8"), ending, close)
