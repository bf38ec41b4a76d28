"""Run a notebook's cells as its kernel would, up to the tests of the requested exercise.

Cells run in order, one statement at a time; an error, `sys.exit` or a cell's budget ends that cell
and no more. When an exercise is asked for, the cells above its tests run that have not run yet, and
what the names mean then is what is examined. Names of exercises that it needs mean the reference's.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.notebook import commands
from grader.notebook.shell import Shell
from grader.remote import absences
from grader.remote.guard import ForbiddenCall
from grader.remote.modules import Modules, file_name, file_of, hide
from grader.remote.standins import Nothing

# A sleeping cell is interrupted after this long; once all slept for MAX_IDLE, after LEAST_IDLE.
IDLE, MAX_IDLE, LEAST_IDLE = 1.5, 3.0, 0.1
# A cell that continues after using up its time is interrupted again after this long.
AGAIN = 0.05
LEAST = 0.05
MAX_NOTES = 50
MAX_TEXT = 200
_ABSENT = object()

# What became of a cell: its number, the line, a word for it, and more words.
Note = tuple[int, int | None, str, str]


class CellTimeUpError(BaseException):
    """A cell has used up its time. No `Exception`, so that few cells catch it."""


class Names:
    """An exercise's names in a notebook, as attributes like those of a module."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        try:
            return self._names[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined where the tests stand") from None


class Notebook:
    """The cells of a submission in this process, and the names they have defined so far.

    `cells` are the sources, None for what is not run. `tests` says by exercise how many of them
    stand above its tests, `entries` the names of each exercise. `keep` says by exercise and cell
    which names of others that cell writes anew for itself. `seconds` are what a cell may take of
    the processor, and all of them. With `past_errors` a cell goes on below a line that fails.
    """

    def __init__(
        self,
        shell: Shell,
        cells: Sequence[str | None],
        tests: Mapping[str, int],
        answers: Mapping[str, Sequence[int]],
        entries: Mapping[str, Sequence[str]],
        keep: Mapping[str, Mapping[str, Sequence[str]]],
        seconds: Sequence[float],
        past_errors: bool = False,
    ) -> None:
        self.cells = cells
        self.tests = tests
        self.answers = answers
        self.entries = entries
        self.keep = keep
        self.cell_seconds, self.seconds = seconds
        self.position = 0
        self.idle = 0.0
        self.index = 0
        self.notes: list[Note] = []
        self.undefined: list[str] = []
        self.own: dict[str, Any] = {}
        self.binder: dict[str, int] = {}
        self.given: dict[str, Any] = {}
        self.kept: Mapping[str, Sequence[str]] = {}
        self.modules = Modules({})
        self.armed = False
        self.shell = shell
        self.names: dict[str, Any] = shell.user_ns
        shell.past_errors, shell.failed = past_errors, self._note_error
        shell.enter()
        sys.modules["grader"] = Nothing("grader")  # for `%load_ext grader`
        os.environ["MPLBACKEND"] = "agg"
        sys.path.insert(0, "")
        sys.argv = ["ipykernel_launcher.py", "-f", "kernel.json"]
        commands.run_none()

    @property
    def sources(self) -> dict[str, str]:
        """The cells that are run, by the names of their files."""
        return {
            f"cell_{index}": source for index, source in enumerate(self.cells) if source is not None
        }

    def load(self, exercise: str, references: Mapping[str, bytes]) -> Names:
        """Run the cells above the tests of an exercise, and return its names as they are there."""
        self.kept = self.keep.get(exercise, {})
        needed = list(references)
        # The cells may change the reference's objects. What is examined gets others, which are made
        # before a cell could look for what they are made of.
        self.modules.prepare(references)
        fresh = self.modules.imported()
        self.modules.prepare(references)
        hide(references)
        self._give(needed)
        begun, end = self.position, self.tests[exercise]
        with quiet():
            while self.position < end:
                index, self.position = self.position, self.position + 1
                source = self.cells[index]
                if source is not None:
                    self._cell(index, source)
        if self.position > begun:
            sys.modules.update(fresh)
            self._give(needed)
        self.undefined = [name for name in self.entries[exercise] if name not in self.names]
        return Names(self.names)

    def reload(self, exercise: str, texts: Mapping[str, str]) -> Names:
        """Return the meaning of an exercise's names after running its cells again, some edited.

        What they mean to the notebook stays as it is. Raises what a cell raises.
        """
        del exercise
        with self.shell.apart() as names, quiet():
            for file, source in texts.items():
                self._run(int(file.removeprefix("cell_")), source).raise_error()
            anew = {name for kept in self.kept.values() for name in kept}
            names.update({name: own for name, own in self.given.items() if name not in anew})
            self.notes.clear()
            return Names(names)

    def examine(self, programs: Sequence[bytes], program: bytes, token: str) -> Any:
        """Tests of the instructor's own are for a process of their own."""
        raise NotImplementedError

    def told(self) -> dict[str, Any]:
        """Return remarks on the cells that ran last, and the names they did not define."""
        notes, self.notes = self.notes, []
        return {"notes": notes, "undefined": self.undefined}

    def _give(self, references: Sequence[str]) -> None:
        """Let the names of these exercises mean the reference's from now on, and no others."""
        self.given = {}
        for need in references:
            module = importlib.import_module(f"exercises.{need}")
            self.given.update({entry: getattr(module, entry) for entry in self.entries[need]})
        self._show()

    def _show(self) -> None:
        for entries in self.entries.values():
            for entry in entries:
                shown = self._shown(entry)
                if shown is not _ABSENT:
                    self.names[entry] = shown
                else:
                    self.names.pop(entry, None)

    def _shown(self, entry: str) -> Any:
        """Return the value of a name: the reference's if provided, unless redefined."""
        own = self.own.get(entry, _ABSENT)
        anew = entry in self.kept.get(str(self.binder.get(entry)), ())
        return own if anew else self.given.get(entry, own)

    def _cell(self, index: int, source: str) -> None:
        begun = time.process_time()
        try:
            with self._limited():
                self._run(index, source, store_history=True)
                _close_figures()
        except BaseException as error:  # IPython has let it out
            self._note_error(error)
        self.seconds -= time.process_time() - begun
        for line, message in absences.take(_file(index)):
            self._note(line, "absent", message)
        for entries in self.entries.values():
            for entry in entries:
                now = self.names.get(entry, _ABSENT)
                if now is not self._shown(entry):
                    self.own[entry] = now
                    self.binder[entry] = index
        self._show()

    def _run(self, index: int, source: str, store_history: bool = False) -> Any:
        """Run a cell. Gives what IPython says of it."""
        self.index = index
        self.shell.compile.file, self.shell.compile.text = _file(index), source
        return self.shell.run_cell(source, store_history=store_history)

    def _note_error(self, error: BaseException) -> None:
        if isinstance(error, CellTimeUpError):
            self._note(_line(error, self.index, within=True), "time", str(error))
            return
        kind = "forbidden" if isinstance(error, ForbiddenCall) else "error"
        line = _line(error, self.index)
        if isinstance(error, SyntaxError) and error.filename == _file(self.index):
            line = error.lineno
        try:
            text = str(error)
        except BaseException:  # its __str__ is the student's too
            text = ""
        self._note(line, kind, f"{type(error).__name__}: {text}"[:MAX_TEXT])

    def _note(self, line: int | None, kind: str, text: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append((self.index, line, kind, text))

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        seconds = max(LEAST, min(self.cell_seconds, self.seconds))
        patience = max(LEAST_IDLE, min(IDLE, MAX_IDLE - self.idle))
        ran, read = time.process_time(), _blocks_read()

        def used_up(*_: object) -> None:
            if self.armed:
                raise CellTimeUpError(f"{seconds:.2g} seconds of CPU time")

        def look(*_: object) -> None:
            nonlocal ran, read
            before, ran = (ran, read), time.process_time()
            read = _blocks_read()
            if self.armed and ran - before[0] < patience / 50 and read == before[1]:
                self.idle += patience
                raise CellTimeUpError(f"{patience:.2g} seconds in which it did nothing")

        exits = os._exit, os.abort
        os._exit = os.abort = _leave  # type: ignore[assignment]
        signal.signal(signal.SIGPROF, used_up)
        signal.signal(signal.SIGALRM, look)
        self.armed = True
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
        signal.setitimer(signal.ITIMER_REAL, patience, patience)
        try:
            yield
        finally:
            self.armed = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            os._exit, os.abort = exits


def _blocks_read() -> int:
    """Return how often this process has waited for a disk, which does not count as idle."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_inblock + used.ru_majflt


def _file(index: int) -> str:
    return file_name(f"cell_{index}")


def _line(error: BaseException, index: int, within: bool = False) -> int | None:
    """Return the line of a cell that raised, outside its functions or `within` them, if any."""
    frames = [
        (frame.f_code.co_name, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if file_of(frame) == _file(index)
    ]
    # Below a magic there are two outside all functions: that of the magic comes first.
    lines = [line for name, line in frames if within or name == "<module>"]
    return lines[-1] if lines else None


def _close_figures() -> None:
    """Forget all figures at the end of a cell, as a kernel does when it has shown them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def _leave(*_: Any, **_options: Any) -> None:
    raise SystemExit


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Show no warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
