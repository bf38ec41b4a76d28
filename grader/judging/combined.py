"""Right answers with several known mistakes at once, made where somebody asks what they reply.

What is found is kept: a class has the same mistakes again and again.
"""

from __future__ import annotations

from types import ModuleType

from grader.curriculum import reference
from grader.curriculum.mistakes.variants import together
from grader.feedback.prints import Prints
from grader.judging.fingerprints import Library, asked

MAX_KEPT = 1000  # answers; a module takes about 50 KB

Names = tuple[str, ...]


class Combined:
    """The mistakes of one exercise, put together."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.modules: dict[Names, ModuleType | None] = {}
        self.known: dict[tuple[Names, int], Prints] = {}
        self.rows: dict[str, int | None] = {}

    def prints(self, mistakes: Names, number: int) -> Prints | None:
        """What all of these mistakes at once answer to the probe of that number.

        None if no form of the answer takes them all.
        """
        names = tuple(sorted(mistakes))
        if len(names) == 1:
            return self._alone(names[0], number)
        module = self._module(names)
        if module is None:
            return None
        key = (names, number)
        if key not in self.known:
            self.known[key] = asked(self.library.probes[number], module)
        return self.known[key]

    def _alone(self, name: str, number: int) -> Prints | None:
        """What one mistake answers, in the first form that takes it: the library holds it."""
        if name not in self.rows:
            variant = together([self.library.mistakes[name]])
            sources = [one.source for one in self.library.variants]
            self.rows[name] = sources.index(variant.source) if variant else None
        row = self.rows[name]
        return None if row is None else self.library.known[row][self.library.checks == number]

    def _module(self, names: Names) -> ModuleType | None:
        if names not in self.modules:
            if len(self.modules) >= MAX_KEPT:
                self.modules.clear()
                self.known.clear()
            variant = together([self.library.mistakes[name] for name in names])
            found = variant and reference.variant(self.library.exercise, variant.source)
            self.modules[names] = found if isinstance(found, ModuleType) else None
        return self.modules[names]
