"""Wrong answers made of right ones: known mistakes in every form that they have, and pairs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import product

from grader.curriculum import stubs
from grader.curriculum.mistakes import Mistake, MistakeError, forms, load


@dataclass(frozen=True)
class Variant:
    """A right answer with mistakes in it: their names, and the source."""

    mistakes: tuple[str, ...]
    source: str


def variants(exercise: str) -> list[Variant]:
    """Every known mistake of an exercise in every form that it is known in."""
    sources = {"": stubs.reference_source(exercise), **forms(exercise)}
    return [
        Variant((mistake.name,), _edited(mistake, number, sources))
        for mistake in load(exercise)
        for number in range(len(mistake.edits))
    ]


def misfits(exercise: str) -> list[str]:
    """What is to be said of the edits that do not fit the answer any more, one line each."""
    sources = {"": stubs.reference_source(exercise), **forms(exercise)}
    found = []
    for mistake in load(exercise):
        for number in range(len(mistake.edits)):
            try:
                _edited(mistake, number, sources)
            except MistakeError as error:
                found.append(str(error))
    return found


def _edited(mistake: Mistake, number: int, sources: dict[str, str]) -> str:
    form = mistake.edits[number].form
    if form not in sources:
        raise MistakeError(
            f"{mistake.exercise}/{mistake.name}: there is no form {form!r}. Forms are the files of "
            f"grader/curriculum/mistakes/forms/{mistake.exercise}/."
        )
    return mistake.apply(sources[form], number)


def both(first: Mistake, second: Mistake) -> Variant | None:
    """A right answer with two mistakes at once, if there is a form that takes both."""
    sources = {"": stubs.reference_source(first.exercise), **forms(first.exercise)}
    for one, other in product(range(len(first.edits)), range(len(second.edits))):
        form = first.edits[one].form
        if form != second.edits[other].form:
            continue
        for left, right in ((first, second), (second, first)):
            numbers = (one, other) if left is first else (other, one)
            with contextlib.suppress(MistakeError):
                edited = right.apply(left.apply(sources[form], numbers[0]), numbers[1])
                return Variant((first.name, second.name), edited)
    return None
