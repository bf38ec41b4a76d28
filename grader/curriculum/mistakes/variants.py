"""Wrong answers made of right ones: known mistakes in every form that they have, and pairs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise, product
from types import MappingProxyType

from grader.curriculum import stubs
from grader.curriculum.mistakes import Mistake, MistakeError, forms, load

# Where each of the changes begins and ends, in characters.
Places = tuple[tuple[int, int], ...]
NONE_NEARER: Mapping[str, int] = MappingProxyType({})
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Variant:
    """A right answer with mistakes in it: their names, and the source."""

    mistakes: tuple[str, ...]
    source: str


def variants(exercise: str) -> list[Variant]:
    """Return every known mistake of an exercise in every form that it is known in."""
    sources = {"": stubs.reference_source(exercise), **forms(exercise)}
    return [
        Variant((mistake.name,), _edited(mistake, number, sources))
        for mistake in load(exercise)
        for number in range(len(mistake.edits))
    ]


def misfits(exercise: str) -> list[str]:
    """Return a line for each edit that no longer fits the answer."""
    sources = {"": stubs.reference_source(exercise), **forms(exercise)}
    problems = []
    for mistake in load(exercise):
        for number in range(len(mistake.edits)):
            try:
                _edited(mistake, number, sources)
            except MistakeError as error:
                problems.append(str(error))
    return problems


def _edited(mistake: Mistake, number: int, sources: dict[str, str]) -> str:
    form = mistake.edits[number].form
    if form not in sources:
        raise MistakeError(
            f"{mistake.exercise}/{mistake.name}: there is no form {form!r}. Forms are the files of "
            f"grader/curriculum/mistakes/forms/{mistake.exercise}/."
        )
    return mistake.apply(sources[form], number)


def both(first: Mistake, second: Mistake) -> Variant | None:
    """Return a right answer with two mistakes in different lines, if there is a form for both."""
    return next(_in_turn([first, second], NONE_NEARER), None)


def together(
    mistakes: Sequence[Mistake], nearest: Mapping[str, int] = NONE_NEARER
) -> Variant | None:
    """Return a right answer with all of these mistakes, if one of its forms takes them all.

    `nearest` gives, for some of them, the number of the way to make it that comes first. Edits of
    the same line are merged if they change different tokens of it.
    """
    return next(_in_turn(mistakes, nearest), None) or next(_merged(mistakes, nearest), None)


def _in_turn(mistakes: Sequence[Mistake], nearest: Mapping[str, int]) -> Iterator[Variant]:
    """Yield the right answers in which each mistake can be edited after the others."""
    for source, edits in _ways(mistakes, nearest):
        for order in (edits, edits[::-1]):
            with contextlib.suppress(MistakeError):
                edited = source
                for mistake, number in order:
                    edited = mistake.apply(edited, number)
                yield Variant(tuple(mistake.name for mistake in mistakes), edited)


def _merged(mistakes: Sequence[Mistake], nearest: Mapping[str, int]) -> Iterator[Variant]:
    """Yield the right answers in which no two mistakes change the same tokens."""
    for source, edits in _ways(mistakes, nearest):
        changes = [_token_changes(*edit, source) for edit in edits]
        places = sorted(change for of_one in changes for change in of_one)
        apart = all(first[1] < second[0] for first, second in pairwise(places))
        if all(changes) and apart:
            edited = source
            for start, end, text in reversed(places):
                edited = edited[:start] + text + edited[end:]
            yield Variant(tuple(mistake.name for mistake in mistakes), edited)


def _ways(
    mistakes: Sequence[Mistake], nearest: Mapping[str, int]
) -> Iterator[tuple[str, tuple[tuple[Mistake, int], ...]]]:
    """Yield the sources of the forms, each with the edits that make all mistakes in it."""
    exercise = mistakes[0].exercise
    sources = {"": stubs.reference_source(exercise), **forms(exercise)}

    def is_far(edit: tuple[Mistake, int]) -> bool:
        mistake, number = edit
        return number != nearest.get(mistake.name, number)

    def far(form: str) -> int:
        return sum(all(map(is_far, _edits(mistake, form))) for mistake in mistakes)

    for form in sorted(sources, key=far):
        edits = (sorted(_edits(mistake, form), key=is_far) for mistake in mistakes)
        for way in product(*edits):
            yield sources[form], way


@lru_cache(maxsize=4096)
def _token_changes(mistake: Mistake, number: int, source: str) -> tuple[tuple[int, int, str], ...]:
    """Return what an edit changes in a source: from where to where, and what stands there then.

    Nothing if it doesn't fit, or changes what another one of its replacements has made.
    """
    changes = []
    for find, replace in mistake.edits[number].replacements:
        if source.count(find) != 1:
            return ()
        old, new = _TOKEN.findall(find), _TOKEN.findall(replace)
        begins = [0]
        for token in old:
            begins.append(begins[-1] + len(token))
        offset = source.index(find)
        for kind, first, last, start, end in SequenceMatcher(
            None, old, new, autojunk=False
        ).get_opcodes():
            if kind != "equal":
                text = "".join(new[start:end])
                changes.append((offset + begins[first], offset + begins[last], text))
    return tuple(changes)


def contradict(first: Mistake, second: Mistake) -> bool:
    """Return whether two mistakes cannot both be in one answer: they edit the same place of it."""
    if both(first, second) is not None:
        return False
    sources = {"": stubs.reference_source(first.exercise), **forms(first.exercise)}
    return any(
        _overlap(first_place, second_place)
        for form, source in sources.items()
        for first_place in _places(first, form, source)
        for second_place in _places(second, form, source)
    )


def _overlap(first: Places, second: Places) -> bool:
    return any(
        start <= other_end and other_start <= end
        for start, end in first
        for other_start, other_end in second
    )


def _places(mistake: Mistake, form: str, source: str) -> list[Places]:
    """Return the lines of a form that a mistake changes, for each way that fits."""
    spots = []
    for edited, number in _edits(mistake, form):
        places = []
        for find, replace in edited.edits[number].replacements:
            if find not in source:  # but for what an earlier replacement makes
                places.append((0, len(source)))
                continue
            head = _alike(find, replace)
            tail = _alike(find[head:][::-1], replace[head:][::-1])
            start = source.index(find)
            places.append((start + head, start + len(find) - tail))
        with contextlib.suppress(MistakeError):
            edited.apply(source, number)
            spots.append(tuple(places))
    return spots


def _alike(text: str, second: str) -> int:
    """With how many characters both begin."""
    pairs = enumerate(zip(text, second, strict=False))
    return next((n for n, (left, right) in pairs if left != right), min(len(text), len(second)))


def _edits(mistake: Mistake, form: str) -> list[tuple[Mistake, int]]:
    """Return the ways to make a mistake in a form: those meant for it, else those of the solution.

    Most of the solution's lines are in the other forms as well.
    """
    numbers = [number for number, edit in enumerate(mistake.edits) if edit.form == form]
    unconditional = [number for number, edit in enumerate(mistake.edits) if edit.form == ""]
    return [(mistake, number) for number in numbers or unconditional]
