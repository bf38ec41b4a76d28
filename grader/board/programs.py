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
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Message = dict[str, Any]
# A child that is forked costs a millisecond. macOS has forks too, but its own libraries may not be
# used after one; there, as on Windows, a fresh process waits ready for every run.
FORKS = sys.platform == "linux" and hasattr(os, "fork")
SPARES = 1 if FORKS else 2
# What is forked must not have had threads, and small tensors are fastest with one.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class ProgramError(Exception):
    """A program of the kit does not start. The message is the end of what it said."""


class Program:
    """One running program. `heard` gets each of its messages, and None when it has ended.

    It is called in another thread.
    """

    def __init__(
        self, command: Sequence[str], heard: Callable[[Program, Message | None], None]
    ) -> None:
        self.ready = False
        self.job = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when the program has died
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # Two versions of a file may be of one second and one size, which compiled files go by.
            env={**os.environ, **_ONE_THREAD, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        threading.Thread(target=self._listen, args=(heard,), daemon=True).start()

    def _listen(self, heard: Callable[[Program, Message | None], None]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            heard(self, json.loads(line))
        heard(self, None)

    def send(self, message: Message) -> None:
        """Sends a message; what has died says so by itself."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()[-2000:]

    def kill(self) -> None:
        """Ends it at once, with what it runs."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # a forked child is ended by its parent
        try:
            self._process.wait(timeout=0.5 if FORKS else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


class Runs:
    """Runs of the public tests, each in a fresh state of Python and at most one at a time.

    `heard` gets `(number, message)`, a message being what `runner` says, `{"over": True}` at the
    end of a run, or `{"failed": words}` where the program does not start. It is called in other
    threads.
    """

    def __init__(self, folder: Path, heard: Callable[[int, Message], None]) -> None:
        self.command = [sys.executable, "-m", "grader.board.runner", str(folder)]
        self.heard = heard
        self.number = 0
        self.busy: Program | None = None
        self.failure = ""
        self.lock = threading.Lock()
        self.spares = [Program(self.command, self._hears)]

    def ask(self, exercises: Sequence[str], hint: Message | None = None) -> int:
        """Starts a run of these exercises' tests and ends the one before. Returns its number.

        With the hints `given` so far as `hint`, one more on what is wrong is looked for instead.
        """
        with self.lock:
            self._cut()
            self.number += 1
            program = self.spares[0] if FORKS else self.spares.pop(0)
            self.busy = program
            program.job = self.number
            job = {"number": self.number, "exercises": list(exercises), "hint": hint}
            program.send(job)
            self._refill()
            return self.number

    def cut(self) -> None:
        """Ends what runs now, if anything does."""
        with self.lock:
            self._cut()

    def close(self) -> None:
        """Ends all processes."""
        self.heard = lambda *_: None
        with self.lock:
            running = {*self.spares, *filter(None, [self.busy])}
            self.spares, self.busy = [], None
        for program in running:
            program.kill()

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
            ours = program is self.busy
            number = program.job if message is None else message["number"]
            if ours and (message is None or message.get("over")):
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
