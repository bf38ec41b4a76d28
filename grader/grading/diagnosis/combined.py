"""Right answers with several known mistakes at once, built and run on demand.

Their replies are cached: a class makes the same mistakes again and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType

from grader.curriculum import reference
from grader.curriculum.mistakes import rounding
from grader.curriculum.mistakes.variants import Variant, together
from grader.grading.diagnosis.fingerprints import Library
from grader.grading.question import Goal
from grader.recognition.features import Prints

MAX_KEPT = 1000  # answers; a module takes about 50 KB

Names = tuple[str, ...]
_Made = tuple[tuple[str, int], ...]


class Combined:
    """Combinations of one exercise's mistakes, and what they reply."""

    def __init__(self, library: Library) -> None:
        """`nearest` gives the number of the form to take of a mistake. It is set from outside."""
        self.library = library
        self.nearest: Mapping[str, int] = {}
        self.modules: dict[_Made | int, ModuleType | None] = {}
        self.known: dict[tuple[_Made, int], Prints] = {}
        self.rows: dict[_Made, int | None] = {}
        self._held_out_prints: dict[tuple[_Made | int, int], Prints | None] = {}

    def made(self, mistakes: Names) -> bool:
        """Return whether there is a form of the answer that takes all of these mistakes."""
        if len(mistakes) == 1:
            return self._row(*mistakes) is not None
        return self._module(self._formed(mistakes)) is not None

    def prints(self, mistakes: Names, number: int, goal: Goal) -> Prints | None:
        """Return the replies of an answer with all of these mistakes to one probe.

        None if no form of the answer takes them all, or if the `goal` is out of reach before the
        probe is complete.
        """
        if len(mistakes) == 1:
            row = self._row(*mistakes)
            return None if row is None else self.library.known[row][self.library.checks == number]
        made = self._formed(mistakes)
        module = self._module(made)
        if module is None:
            return None
        key = (made, number)
        if key not in self.known:
            share = rounding(self.library.exercise, mistakes)
            goal = replace(goal, wanted=goal.wanted.coarser(share))
            prints = self.library.questions[number].tried(module, goal)
            if prints is None:
                return None
            self.known[key] = prints.coarser(share)
        return self.known[key]

    def held_out(self, made: Names | int, number: int) -> Prints | None:
        """Return an answer's replies to one held-out probe.

        The answer is the one with these mistakes at once (the right one if there are none), or the
        known one of a row.
        """
        if made == ():
            return self.library.held_out[number].right_prints
        key = (made if isinstance(made, int) else self._formed(made), number)
        if key not in self._held_out_prints:
            if len(self._held_out_prints) >= MAX_KEPT:
                self._held_out_prints.clear()
            module = self._module(key[0])
            probe = self.library.held_out[number]
            prints = None if module is None else probe.asked(module)
            names = self.library.variants[made].mistakes if isinstance(made, int) else made
            share = rounding(self.library.exercise, names)
            self._held_out_prints[key] = prints.coarser(share) if prints else None
        return self._held_out_prints[key]

    def _formed(self, mistakes: Names) -> _Made:
        """Return each of these mistakes with the number of its nearest form, sorted."""
        return tuple(sorted((name, self.nearest.get(name, 0)) for name in mistakes))

    def _row(self, name: str) -> int | None:
        """The row of one mistake in the nearest form that takes it."""
        made = self._formed((name,))
        if made not in self.rows:
            variant = self._together(made)
            sources = [variant.source for variant in self.library.variants]
            self.rows[made] = sources.index(variant.source) if variant else None
        return self.rows[made]

    def _together(self, made: _Made) -> Variant | None:
        return together([self.library.mistakes[name] for name, _ in made], dict(made))

    def _module(self, made: _Made | int) -> ModuleType | None:
        if made not in self.modules:
            if len(self.modules) >= MAX_KEPT:
                self.modules.clear()
                self.known.clear()
            variant = self._variant(made)
            self.modules[made] = variant if isinstance(variant, ModuleType) else None
        return self.modules[made]

    def _variant(self, made: _Made | int) -> ModuleType | Exception | None:
        library = self.library
        if isinstance(made, int):
            return reference.variant(library.exercise, library.variants[made].source)
        variant = self._together(made)
        return reference.variant(library.exercise, variant.source) if variant else None
