"""The known mistakes: edits of the right answers, one data file an exercise.

Each says what is wrong and asks the question that leads on. `solutions/` is what they edit, so a
mistake whose text is no longer there is an error, not a mistake that nobody makes any more.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

from grader.curriculum.exercises import CurriculumError


class MistakeError(CurriculumError):
    """A mistake that cannot be applied, or a data file that is not as it should be."""


@dataclass(frozen=True)
class Mistake:
    """One way in which people get an exercise wrong.

    `find` is text of the answer, once in it, and `replace` what people write instead. `tells` says
    what is wrong, `asks` the question that leads on, `seen` where people really made it.
    """

    exercise: str
    name: str
    find: str
    replace: str
    tells: str
    asks: str
    seen: str = ""

    def apply(self, source: str) -> str:
        """The answer `source` with this mistake in it. Raises `MistakeError` if it does not fit."""
        count = source.count(self.find)
        if count != 1:
            raise MistakeError(
                f"{self.exercise}/{self.name}: `find` occurs {count} times in the solution, not "
                f"once. Correct it in grader/curriculum/mistakes/{self.exercise}.toml."
            )
        return source.replace(self.find, self.replace)


def load(exercise: str) -> list[Mistake]:
    """The known mistakes of an exercise, if any. Raises `MistakeError` for a malformed file."""
    file = resources.files(__package__) / f"{exercise}.toml"
    if not file.is_file():
        return []
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["mistake"]
    try:
        return [Mistake(exercise=exercise, **row) for row in rows]
    except TypeError as error:
        raise MistakeError(f"grader/curriculum/mistakes/{exercise}.toml: {error}") from None
