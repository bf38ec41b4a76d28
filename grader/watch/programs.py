"""Programs of the kit that are kept running, so that a save does not wait for `import torch`.

They read lines of JSON and write lines of JSON. One runs the public tests; where the hidden checks
are there, another runs those.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grader.sandbox import program

Message = dict[str, Any]
# A child that is forked costs a millisecond. macOS has forks too, but its own libraries may not be
# used after one; there, as on Windows, a fresh process waits ready for every run.
FORKS = sys.platform == "linux" and hasattr(os, "fork")
SPARES = 1 if FORKS else 2
# A process that forks must not have threads, and small tensors are fastest with one.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class ProgramError(Exception):
    """A program of the kit does not start. The message is the end of what it said."""


class Program(program.Program):
    """One running program. `heard` gets each of its messages, and None when it has ended.

    It is called in another thread.
    """

    def __init__(
        self, command: Sequence[str], heard: Callable[[Program, Message | None], None]
    ) -> None:
        # Two versions of a file may be of one second and one size, which compiled files go by.
        super().__init__(command, {**os.environ, **_ONE_THREAD, "PYTHONDONTWRITEBYTECODE": "1"})
        self.ready = False
        self.job = 0
        threading.Thread(target=self._listen, args=(heard,), daemon=True).start()

    def _listen(self, heard: Callable[[Program, Message | None], None]) -> None:
        for line in self.replies:
            heard(self, json.loads(line))
        heard(self, None)

    def kill(self) -> None:
        """End it at once, with what it runs."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()  # a forked child is ended by its parent
        try:
            self.process.wait(timeout=0.5 if FORKS else 0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()


class Runs:
    """Runs of the public tests, each in a fresh state of Python and at most one at a time.

    `heard` gets `(number, message)`, a message being what `runner` says, `{"over": True}` at the
    end of a run, or `{"failed": words}` where the program does not start. It is called in other
    threads.
    """

    def __init__(self, folder: Path, heard: Callable[[int, Message], None]) -> None:
        self.command = program.command("grader.watch.runner", str(folder))
        self.heard = heard
        self.number = 0
        self.busy: Program | None = None
        self.failure = ""
        self.lock = threading.Lock()
        self.spares = [Program(self.command, self._hears)]

    def ask(self, exercises: Sequence[str], hint: Message | None = None, picture: str = "") -> int:
        """Start a run of these exercises' tests and end the one before. Returns its number.

        With the hints `given` so far as `hint`, the run looks for the next hint instead; with a
        file as `picture`, it draws the exercise into that.
        """
        with self.lock:
            self._cut()
            self.number += 1
            self.busy = self.spares[0] if FORKS else self.spares.pop(0)
            self.busy.job = self.number
            job = {"number": self.number, "exercises": list(exercises), "hint": hint}
            self.busy.send({**job, "picture": picture})
            self._refill()
            return self.number

    def cut(self) -> None:
        """End what runs now, if anything does."""
        with self.lock:
            self._cut()

    def close(self) -> None:
        """End all processes."""
        self.heard = lambda *_: None
        with self.lock:
            running = {*self.spares, *filter(None, [self.busy])}
            self.spares, self.busy = [], None
        for running_program in running:
            running_program.kill()

    def _cut(self) -> None:
        busy, self.busy = self.busy, None
        if busy is not None and FORKS:
            busy.send({"number": 0, "exercises": []})
        elif busy is not None:
            threading.Thread(target=busy.kill, daemon=True).start()

    def _refill(self) -> None:
        if not self.spares:
            self.spares.append(Program(self.command, self._hears))

    def _hears(self, program: Program, message: Message | None) -> None:
        with self.lock:
            if message is None:
                self._ended(program)
            elif message.get("ready"):
                program.ready = True
                # The next one is not to slow this one down while it imports.
                if len(self.spares) < SPARES:
                    self.spares.append(Program(self.command, self._hears))
                return
            is_busy = program is self.busy
            number = program.job if message is None else message["number"]
            if is_busy and (message is None or message.get("over")):
                self.busy = None
            failure = self.failure
        if failure:
            self.heard(self.number, {"failed": failure})
        elif number and number == self.number:
            self.heard(number, message or {"over": True})

    def _ended(self, program: Program) -> None:
        if not program.ready:
            self.failure = program.last_words() or "It ended at once."
        elif program in self.spares:
            self.spares.remove(program)
            self._refill()
