"""Right answers with two known mistakes at once, made where somebody asks what they reply.

What is found is kept: a class has the same mistakes again and again.
"""

from __future__ import annotations

from types import ModuleType

from grader.curriculum import reference
from grader.curriculum.mistakes.variants import both
from grader.feedback.prints import Prints
from grader.judging.fingerprints import Library, asked

MAX_KEPT = 1000  # pairs; a module takes about 50 KB


class Combined:
    """The pairs of one exercise's mistakes."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.modules: dict[tuple[str, str], ModuleType | None] = {}
        self.known: dict[tuple[str, str, int], Prints] = {}

    def prints(self, first: str, second: str, number: int) -> Prints | None:
        """What both mistakes at once answer to the probe of that number.

        None if no form of the answer takes both.
        """
        names = (first, second) if first < second else (second, first)
        module = self._module(names)
        if module is None:
            return None
        key = (*names, number)
        if key not in self.known:
            self.known[key] = asked(self.library.probes[number], module)
        return self.known[key]

    def _module(self, names: tuple[str, str]) -> ModuleType | None:
        if names not in self.modules:
            if len(self.modules) >= MAX_KEPT:
                self.modules.clear()
                self.known.clear()
            variant = both(*(self.library.mistakes[name] for name in names))
            found = variant and reference.variant(self.library.exercise, variant.source)
            self.modules[names] = found if isinstance(found, ModuleType) else None
        return self.modules[names]
