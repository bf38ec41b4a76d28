"""Right answers with several known mistakes at once, built and run on demand.

Their replies are cached: a class makes the same mistakes again and again.
"""

from __future__ import annotations

from types import ModuleType

from grader.curriculum import reference
from grader.curriculum.mistakes.variants import together
from grader.grading.diagnosis.fingerprints import Library
from grader.grading.question import Goal
from grader.recognition.features import Prints

MAX_KEPT = 1000  # answers; a module takes about 50 KB

Names = tuple[str, ...]


class Combined:
    """Combinations of one exercise's mistakes, and what they reply."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.modules: dict[Names | int, ModuleType | None] = {}
        self.known: dict[tuple[Names, int], Prints] = {}
        self.rows: dict[str, int | None] = {}
        self._held_out_prints: dict[tuple[Names | int, int], Prints | None] = {}

    def made(self, mistakes: Names) -> bool:
        """Return whether there is a form of the answer that takes all of these mistakes."""
        if len(mistakes) == 1:
            return self._row(*mistakes) is not None
        return self._module(tuple(sorted(mistakes))) is not None

    def prints(self, mistakes: Names, number: int, goal: Goal) -> Prints | None:
        """Return the replies of an answer with all of these mistakes to one probe.

        None if no form of the answer takes them all, or if the `goal` is out of reach before the
        probe is complete.
        """
        names = tuple(sorted(mistakes))
        if len(names) == 1:
            row = self._row(*names)
            return None if row is None else self.library.known[row][self.library.checks == number]
        module = self._module(names)
        if module is None:
            return None
        key = (names, number)
        if key not in self.known:
            prints = self.library.questions[number].tried(module, goal)
            if prints is None:
                return None
            self.known[key] = prints
        return self.known[key]

    def held_out(self, made: Names | int, number: int) -> Prints | None:
        """Return an answer's replies to one held-out probe.

        The answer is the one with these mistakes at once (the right one if there are none), or the
        known one of a row.
        """
        if made == ():
            return self.library.held_out[number].right_prints
        key = (made, number)
        if key not in self._held_out_prints:
            if len(self._held_out_prints) >= MAX_KEPT:
                self._held_out_prints.clear()
            module = self._module(made)
            probe = self.library.held_out[number]
            self._held_out_prints[key] = None if module is None else probe.asked(module)
        return self._held_out_prints[key]

    def _row(self, name: str) -> int | None:
        """Return the row of one mistake in the first form that takes it."""
        if name not in self.rows:
            variant = together([self.library.mistakes[name]])
            sources = [variant.source for variant in self.library.variants]
            self.rows[name] = sources.index(variant.source) if variant else None
        return self.rows[name]

    def _module(self, made: Names | int) -> ModuleType | None:
        if made not in self.modules:
            if len(self.modules) >= MAX_KEPT:
                self.modules.clear()
                self.known.clear()
            variant = self._variant(made)
            self.modules[made] = variant if isinstance(variant, ModuleType) else None
        return self.modules[made]

    def _variant(self, made: Names | int) -> ModuleType | Exception | None:
        library = self.library
        if isinstance(made, int):
            return reference.variant(library.exercise, library.variants[made].source)
        variant = together([library.mistakes[name] for name in made])
        return reference.variant(library.exercise, variant.source) if variant else None
