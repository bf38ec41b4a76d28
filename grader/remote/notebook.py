"""Runs a notebook's cells as its kernel would, up to the tests of the exercise that is asked for.

Cells run in order, one statement at a time; an error, `sys.exit` or a cell's budget ends that cell
and no more. When an exercise is asked for, the cells above its tests run that have not run yet, and
what the names mean then is what is examined. Names of exercises that it needs mean the reference's.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import importlib
import linecache
import os
import resource
import signal
import sys
import time
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.remote import absences, commands
from grader.remote.event_loop import EventLoop
from grader.remote.guard import ForbiddenCall
from grader.remote.history import History
from grader.remote.modules import Modules, file_name
from grader.remote.shell import Shell, parse, without_cell_magic
from grader.remote.standins import Nothing, StandIns, Withheld

# Who sleeps for so many seconds is woken; where cells slept for MAX_IDLE in all, after LEAST_IDLE.
IDLE, MAX_IDLE, LEAST_IDLE = 1.5, 3.0, 0.1
# A cell that has used up its time, and goes on, hears of it again after so many seconds.
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
    """What an exercise's names mean in a notebook, as the attributes of a module would."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        try:
            return self._names[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined where the tests stand") from None


class Notebook:
    """The cells of a submission in this process, and the names that they have made so far.

    `cells` are the sources, None for what is not run. `tests` says by exercise how many of them
    stand above its tests, `entries` the names of each exercise. `keep` says by exercise and cell
    which names of others that cell writes anew for itself. `seconds` are what a cell may take of
    the processor, and all of them. With `past_errors` a cell goes on below a line that fails.
    """

    def __init__(
        self,
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
        self.past_errors = past_errors
        self.position = 0
        self.idle = 0.0
        self.flags = 0
        self.notes: list[Note] = []
        self.undefined: list[str] = []
        self.own: dict[str, Any] = {}
        self.binder: dict[str, int] = {}
        self.given: dict[str, Any] = {}
        self.kept: Mapping[str, Sequence[str]] = {}
        self.modules = Modules({})
        self.main = types.ModuleType("__main__", "Automatically created module for IPython")
        self.names: dict[str, Any] = self.main.__dict__
        self.armed = False
        self.loop: EventLoop | None = None
        self.awaiting = False
        self._begin()

    def _begin(self) -> None:
        for name in ("grader", "IPython"):
            sys.modules.pop(name, None)
        sys.modules["__main__"] = self.main
        shell = self.shell = Shell(self.names, self._run_here)
        sys.meta_path.insert(0, StandIns(shell))
        self.names.update(
            __builtins__=builtins,
            get_ipython=lambda: shell,
            display=_display,
            exit=_nothing,
            quit=_nothing,
        )
        self.history = History(self.names)
        sys.path.insert(0, "")
        sys.argv = ["ipykernel_launcher.py", "-f", "kernel.json"]
        commands.run_none()

    def load(self, exercise: str, references: Mapping[str, bytes]) -> Names:
        """Runs what stands above the tests of an exercise, and gives what its names mean there."""
        self.kept = self.keep.get(exercise, {})
        self._give(references)
        begun, end = self.position, self.tests[exercise]
        with _quiet():
            while self.position < end:
                index, self.position = self.position, self.position + 1
                source = self.cells[index]
                if source is not None:
                    self._cell(index, source)
        if self.position > begun:
            # The cells may have changed the reference's objects. What is examined gets others.
            self._give(references)
        self.undefined = [name for name in self.entries[exercise] if name not in self.names]
        return Names(self.names)

    def files(self, exercise: str) -> dict[str, str]:
        """The cells that are an exercise's answer, by the names of their files."""
        return {
            f"cell_{index}": self.cells[index] or ""
            for index in self.answers[exercise]
            if index < self.tests[exercise]
        }

    def reload(self, cells: Mapping[str, str]) -> Names:
        """What an exercise's names mean once its own cells have run again, some of them edited.

        What they mean to the notebook stays as it is.
        """
        shown, self.names = self.names, dict(self.names)
        try:
            with _quiet():
                for file, source in cells.items():
                    self._run(int(file.removeprefix("cell_")), source)
            anew = {name for names in self.kept.values() for name in names}
            self.names.update({name: one for name, one in self.given.items() if name not in anew})
            return Names(self.names)
        finally:
            self.names = shown

    def told(self) -> dict[str, Any]:
        """What is to be told of the cells that ran last, and the names that they left out."""
        notes, self.notes = self.notes, []
        return {"notes": notes, "undefined": self.undefined}

    def _give(self, references: Mapping[str, bytes]) -> None:
        """Lets the names of these exercises mean the reference's from now on, and no others."""
        self.modules.prepare(references)
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
        """What a name of an exercise means: the reference's if it is given, unless written anew."""
        own = self.own.get(entry, _ABSENT)
        anew = entry in self.kept.get(str(self.binder.get(entry)), ())
        return own if anew else self.given.get(entry, own)

    def _cell(self, index: int, source: str) -> None:
        begun = time.process_time()
        self.history.begin(source)
        try:
            with self._limited():
                self.shell.events.trigger("pre_run_cell")
                self.history.shown(self._run(index, source), source)
                self.shell.events.trigger("post_run_cell")
        except CellTimeUpError as error:
            self._note(index, [None, *_lines(error, index)][-1], "time", str(error))
        except BaseException as error:
            self._note_error(index, error)
        self.seconds -= time.process_time() - begun
        for file, line, what in absences.take():
            if file in (None, _file(index)):
                self._note(index, line, "absent", what)
        for entries in self.entries.values():
            for entry in entries:
                now = self.names.get(entry, _ABSENT)
                if now is not self._shown(entry):
                    self.own[entry] = now
                    self.binder[entry] = index
        self._show()

    def _run(self, index: int, source: str) -> Any:
        """Runs a cell. Gives what its last line gives."""
        # A kernel's loop always runs. To run a statement in one takes ten times as long.
        self.awaiting = "async" in source or "await" in source
        file = _file(index)
        lines = source.splitlines(keepends=True)
        linecache.cache[file] = (len(source), None, lines, file)
        try:
            tree = parse(without_cell_magic(source, self.shell), file, self.flags)
            return self._body(tree, index)
        finally:
            self.shell.end_capture()

    def _body(self, tree: ast.Module, index: int) -> Any:
        found = None
        for node in tree.body:
            found = None
            try:
                found = self._statement(node, _file(index))
            except ForbiddenCall as error:
                # What it would have given is not there, and what is made of it goes by as well.
                self._note_error(index, error)
                self._withhold(node)
            except Exception as error:
                if self._needs_withheld(node):
                    self._withhold(node)
                elif self.past_errors:
                    self._note_error(index, error)
                else:
                    raise
        return found

    def _run_here(self, source: str) -> Any:
        """Runs what stands in a magic, in the cell that is running. Gives what it gives."""
        found = None
        for node in parse(source, "<magic>", self.flags).body:
            found = self._statement(node, "<magic>")
        return found

    def _statement(self, node: ast.stmt, file: str) -> Any:
        flags = self.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        if isinstance(node, ast.Expr):
            code = compile(ast.Expression(node.value), file, "eval", flags, dont_inherit=True)
        else:
            code = compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                self.flags |= getattr(__future__, alias.name).compiler_flag
        if not self.awaiting:
            return eval(code, self.names)
        self.loop = self.loop or EventLoop()
        return self.loop.evaluate(code, self.names)

    def _withhold(self, node: ast.stmt) -> None:
        """Gives what a statement would have bound a meaning that nothing can be made of."""
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.With, ast.For)):
            for one in ast.walk(node):
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                    self.names[one.id] = Withheld()

    def _needs_withheld(self, node: ast.stmt) -> bool:
        names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
        return any(type(self.names.get(name)) is Withheld for name in names)

    def _note_error(self, index: int, error: BaseException) -> None:
        kind = "forbidden" if isinstance(error, ForbiddenCall) else "error"
        line = next(_lines(error, index), None)
        if isinstance(error, SyntaxError) and error.filename == _file(index):
            line = error.lineno
        try:
            text = str(error)
        except BaseException:  # its __str__ is the student's too
            text = ""
        self._note(index, line, kind, f"{type(error).__name__}: {text}"[:MAX_TEXT])

    def _note(self, index: int, line: int | None, kind: str, text: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append((index, line, kind, text))

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        seconds = max(LEAST, min(self.cell_seconds, self.seconds))
        patience = max(LEAST_IDLE, min(IDLE, MAX_IDLE - self.idle))
        ran, read = time.process_time(), _blocks_read()

        def used_up(*_: object) -> None:
            if self.armed:
                raise CellTimeUpError(f"{seconds:.2g} seconds of processor time")

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


def cell_sources(cells: Sequence[str | None]) -> dict[str, str]:
    """The cells that are run, by the names of their files."""
    return {f"cell_{index}": source for index, source in enumerate(cells) if source is not None}


def _blocks_read() -> int:
    """How often this process has waited for a disk, which is no idleness of its own."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_inblock + used.ru_majflt


def _file(index: int) -> str:
    return file_name(f"cell_{index}")


def _lines(error: BaseException, index: int) -> Iterator[int]:
    """The lines of a cell that an exception passed, that at the top of the cell first."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _file(index):
            yield trace.tb_lineno
        trace = trace.tb_next


def _nothing(*_args: Any, **_options: Any) -> None:
    return None


def _display(*_args: Any, display_id: Any = None, **_options: Any) -> Any:
    return Nothing() if display_id else None


def _leave(*_: Any, **_options: Any) -> None:
    raise SystemExit


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
