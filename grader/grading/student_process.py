"""The process that holds one submission's code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from grader.curriculum import NAMES, closure, reference
from grader.curriculum.rules import memory, together
from grader.grading.ordinary_calls import words_of
from grader.remote.budget import Budget
from grader.remote.channel import Channel, Times
from grader.remote.modules import PACKAGE
from grader.remote.session import CellNotes, StudentError, cell_notes
from grader.sandbox.host import Host, HostError

# The programs that a sandbox runs for grading, which serve a judge with a student's code: files, or
# notebooks as well, for which IPython takes a sixth of a second to import.
PROGRAM = "grader.remote.child"
WITH_NOTEBOOKS = "grader.notebook.child"
# The same for notebooks with tests of the instructor's own.
WITH_OWN_TESTS = "grader.notebook.own_tests"

# An import of an exercise, or of several. Parsing takes 5 ms, and each answer is loaded once.
_IMPORTED = re.compile(
    rf"\b(?:{PACKAGE}|from\s+)\.(\w+)|\bfrom\s+(?:{PACKAGE}|\.)\s+import\b([\w\s,()\\]+)"
)
_BINDING = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*=", re.MULTILINE)


def references(exercise: str, sources: Mapping[str, str]) -> tuple[str, ...]:
    """Return the exercises of which an answer gets the reference, in curriculum order.

    These are the exercises that it needs, and earlier ones that the answer imports although the
    submission has no file for them.
    """
    given = {*closure(exercise)}
    for name in _imported(sources.get(exercise, "")):
        if name in NAMES[: NAMES.index(exercise)] and name not in sources:
            given |= {name, *closure(name)}
    return tuple(name for name in NAMES if name in given)


def _imported(source: str) -> set[str]:
    """Return the modules of the package `exercises` that a source seems to import, by name."""
    found = _IMPORTED.findall(source)
    return {module for module, _ in found} | {
        word for _, names in found for word in words_of(names)
    }


class AnswerText:
    """The answer to an exercise as one text, whatever files or cells it is in."""

    def __init__(self, exercise: str, texts: Mapping[str, str]) -> None:
        self.exercise = exercise
        self.text = "\n\n".join(texts.values())
        self.before: dict[str, int] = {}  # how many lines of the text precede each file or cell
        lines = 0
        for name, text in texts.items():
            self.before[name] = lines
            lines += text.count("\n") + 2

    def moved(self, error: StudentError) -> StudentError:
        """Return the error as it would be in a file of the exercise that holds the text."""
        name = PurePosixPath(error.file or "").stem
        if error.line is None or name not in self.before or name == self.exercise:
            return error
        line = self.before[name] + error.line
        moved = StudentError(error.kinds, error.text, f"{self.exercise}.py", line)
        moved.asked = error.asked
        return moved

    def placed(self, words: str) -> str:
        """Return words in which "attention.py, line 20" is the line of the file or cell."""
        return re.sub(rf"\b{self.exercise}\.py, line (\d+)\b", self._place, words)

    def _place(self, found: re.Match[str]) -> str:
        line = int(found[1])
        name, before = [item for item in self.before.items() if item[1] < line][-1]
        return f"{name}.py, line {line - before}"


class StudentProcess:
    """One submission before the judge, and the process that holds its code.

    Forking a process costs as much as checking a small exercise. So it is handed on from one
    exercise to the next, for as long as what comes next is right in it. All that is imported in it
    keeps the rules of all these exercises, `rules`, together. The `budget` is the submission's.
    `remarks` are those on the files, by exercise, once they are `noted`, when one was loaded.
    """

    def __init__(
        self,
        sources: Mapping[str, str],
        rules: Iterable[str],
        host: Host,
        budget: Budget,
        times: Times | None = None,
        notebook: Mapping[str, Any] | None = None,
    ) -> None:
        """`sources` are files by name; with a `notebook`, what that holds is run in their place.

        Raises `HostError` if the host's program cannot run that.
        """
        if notebook and host.program not in (WITH_NOTEBOOKS, WITH_OWN_TESTS):
            raise HostError(f"{host.program} runs no notebooks")
        self.sources = sources
        self.notebook = notebook
        self.given: set[str] = set()
        self.cells = CellNotes()
        self.rules = tuple(rules)
        self.host = host
        self.times = times
        self.budget = budget
        self.channel: Channel | None = None
        self.borrowed: Channel | None = None
        self.remarks: dict[str, list[str]] = {}
        self.noted = False

    def another(self, rules: Iterable[str], budget: Budget, times: Times | None) -> StudentProcess:
        """Return a further process for the same submission, with other rules, budget and limits."""
        process = StudentProcess(self.sources, rules, self.host, budget, times, self.notebook)
        process.remarks, process.noted = self.remarks, self.noted
        return process

    def successor(
        self, rules: Iterable[str], budget: Budget, times: Times | None
    ) -> StudentProcess:
        """Return a further process, as `another` does: what runs here, if anything does.

        Until it is left it keeps the rules of this one, and has the exercise loaded that was loaded
        last; here the next exercise gets a new process, unless `take_back` gets this one. A
        notebook has its limits from the start, so that its further process is a new one.
        """
        process = self.another(rules, budget, times)
        if self.channel is not None and self.notebook is None:
            self._hand_over(process)
            process.borrowed = process.channel
        return process

    def take_back(self, successor: StudentProcess) -> None:
        """Take over again what runs in a successor, if that is what it was made with."""
        if successor.borrows:
            successor._hand_over(self)

    @property
    def borrows(self) -> bool:
        """Whether what runs here was taken over from another one."""
        return self.channel is not None and self.channel is self.borrowed

    def _hand_over(self, process: StudentProcess) -> None:
        """Let another one have what runs here, with its own budget and limits."""
        assert self.channel is not None
        process.channel, self.channel = self.channel, None
        process.given, self.given = self.given, set()
        process.channel.budget = process.budget
        process.channel.times = process.times or Times()

    def texts(self, exercise: str) -> dict[str, str]:
        """Return the texts that are the answer to an exercise, by file or cell."""
        if self.notebook is None:
            return {exercise: self.sources[exercise]}
        cells, end = self.notebook["cells"], self.notebook["tests"][exercise]
        answers = (index for index in self.notebook["answers"][exercise] if index < end)
        return {f"cell_{index}": cells[index] or "" for index in answers}

    def answer(self, exercise: str) -> AnswerText:
        """Return the answer to an exercise as one text."""
        return AnswerText(exercise, self.texts(exercise))

    def helpers(self, exercise: str) -> list[str]:
        """Return the texts of a notebook's other cells that seem to bind a name in an answer."""
        if self.notebook is None:
            return []
        cells, end = self.notebook["cells"], self.notebook["tests"][exercise]
        own = set(self.texts(exercise).values())
        others = [cell for cell in cells[:end] if cell and cell not in own]
        entries = {entry for names in self.notebook["entries"].values() for entry in names}
        used, helpers = set[str](), list[str]()
        more = list(own)
        while more:
            helpers += more
            used.update(*map(words_of, more))
            more = [text for text in others if (_bound(text) - entries) & used]
            others = [text for text in others if text not in more]
        return helpers[len(own) :]

    @property
    def holds_code(self) -> bool:
        """Whether the student's code already runs in the process."""
        return self.channel is not None

    def load(
        self, exercise: str, given: Iterable[str] | None = None, budget: Budget | None = None
    ) -> Channel:
        """Return a connection to a process with this exercise, and the reference's for `given`.

        Those are by default what `references` says. It may use up the `budget`, by default that of
        the submission. Raises `StudentError`, `Lost` and `ForbiddenUse`, all of them for what an
        import does.
        """
        channel = self.open()
        if given is None:
            given = references(exercise, {} if self.notebook else self.sources)
        given = tuple(given)
        self.given.update(given)
        # What a notebook's cells take is not the exercise's.
        channel.budget = self.budget if self.notebook else budget or self.budget
        try:
            told = channel.load(exercise, reference.compiled(given))
        finally:
            if channel.remarks is not None:
                self.remarks, self.noted = channel.remarks, True
        self.cells = cell_notes(told) if self.notebook else CellNotes()
        channel.budget = budget or self.budget
        return channel

    def open(self) -> Channel:
        """Return a connection to the process, started if need be; no code has run in it yet."""
        if self.channel is None:
            self.channel = Channel(self.host.fork(), self.budget, self.times)
            files = {} if self.notebook else self.sources
            rules = together(self.rules)
            self.channel.admit(files, rules, self.notebook, memory(self.rules), not self.noted)
        return self.channel

    def leave(self) -> None:
        """Kill the process, if there is one; the next exercise gets a new one."""
        if self.channel is not None:
            self.channel.close()
            self.channel = None
            self.given.clear()

    def __enter__(self) -> StudentProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


def _bound(text: str) -> set[str]:
    """Return the names that a cell seems to bind at its top level."""
    return {match[1] or match[2] for match in _BINDING.finditer(text)}
