"""The known mistakes: edits of right answers, one data file per exercise.

A student first gets the question, then the mistake, then nearly the answer: so `asks` must neither
presuppose `tells` nor give the answer away. An edit that no longer fits its answer is an error, not
a mistake that nobody makes any more. The format of an entry:

    [[mistake]]
    name = "scaled-by-d-k"
    find = "math.sqrt(query.size(-1))"      # text of the answer, once in it
    replace = "query.size(-1)"
    tells = "Your scores are divided by d_k, not by its square root."
    asks = "What is the variance of a dot product of two random vectors of length d_k?"
    nearly = "Put a square root around the number you divide by."
    read = "Paper, section 3.2.1, footnote 4."  # optional: where to read on
    seen = "a repository"                    # optional: where people really made it

A mistake of several edits has `edits = [["find", "replace"], ...]`. What is edited is the answer in
`solutions/`, or with `form = "unrolled"` another right answer, forms/EXERCISE/unrolled.txt. What
the same mistake looks like elsewhere stands under it as `[[mistake.also]]`, with its own edits.
With `each = true` each of its edits is the mistake by itself, too: those at one sublayer connection
together. That may also stand under `[[mistake.also]]`.
With `unused = true`, which stands before `tells`, what the edit leaves unread of a function's
arguments is proof by itself: code that fails and does not read them either has the mistake. So is
that nothing sorts, for an edit that takes the sorting out.
With `where = 'regex'`, the mistake is only told of code in which the pattern is found, written as
`ast.unparse` writes it: `tells` may then speak of `roll`, say, though other code does the same; and
an exception that the mistake raises then speaks for it. With `unless = 'regex'`, it is not told of
code in which that pattern is found.
With `rounding = 0.05`, numbers that differ by that share of their size are taken for equal: the
mistake magnifies what rounding does, as a sine of a huge angle does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from grader.curriculum.exercises import CurriculumError

_EDIT = {"find", "replace", "edits", "form", "each"}
_CONNECTION = re.compile(r"\w+(?=\.(?:norm|dropout)\()")


class MistakeError(CurriculumError):
    """A mistake that cannot be applied, or a data file that is not as it should be."""


@dataclass(frozen=True)
class Edit:
    """One way to make the mistake: texts to replace in a right answer.

    `form` names the answer, "" the one in `solutions/`.
    """

    form: str
    replacements: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Mistake:
    """One way in which people get an exercise wrong.

    `tells` says what is wrong, `asks` the question that leads on, `read` where to read on, `nearly`
    what to write but for the writing, `seen` where people really made it. An `unused` one shows
    in the arguments that it leaves unread. It is not told of code that lacks the pattern `where`
    or has the pattern `unless`. `rounding` is the share of their size by which numbers may differ
    that other code with the mistake returns, 0 if it is the usual one.
    """

    exercise: str
    name: str
    edits: tuple[Edit, ...]
    tells: str
    asks: str
    read: str = ""
    nearly: str = ""
    seen: str = ""
    unused: bool = False
    where: str = ""
    unless: str = ""
    rounding: float = 0.0

    def apply(self, source: str, number: int = 0) -> str:
        """Return the answer `source` with this mistake in it, made in the way of that number.

        Raises `MistakeError` if it does not fit.
        """
        for find, replace in self.edits[number].replacements:
            count = source.count(find)
            if count != 1:
                raise MistakeError(
                    f"{self.exercise}/{self.name}: {find!r} occurs {count} times in the answer, "
                    f"not once. Correct it in grader/curriculum/mistakes/{self.exercise}.toml."
                )
            source = source.replace(find, replace)
        return source


@cache
def load(exercise: str) -> tuple[Mistake, ...]:
    """Return the known mistakes of an exercise. Raises `MistakeError` for a malformed file."""
    file = resources.files(__package__) / f"{exercise}.toml"
    if not file.is_file():
        return ()
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["mistake"]
    try:
        known = tuple(_mistake(exercise, row) for row in rows)
    except (TypeError, ValueError, KeyError) as error:
        raise MistakeError(f"grader/curriculum/mistakes/{exercise}.toml: {error}") from None
    names = [mistake.name for mistake in known]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MistakeError(f"grader/curriculum/mistakes/{exercise}.toml: twice: {', '.join(twice)}")
    return known


def rounding(exercise: str, names: Collection[str]) -> float:
    """Return by which share of their size numbers may differ in answers with these mistakes."""
    return max((known.rounding for known in load(exercise) if known.name in names), default=0.0)


def forms(exercise: str) -> dict[str, str]:
    """Return the sources of the other right answers that mistakes edit, by name."""
    folder = resources.files(__package__) / "forms" / exercise
    if not folder.is_dir():
        return {}
    return {
        file.name.removesuffix(".txt"): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith(".txt")
    }


def _mistake(exercise: str, row: Mapping[str, Any]) -> Mistake:
    words = {key: value for key, value in row.items() if key not in _EDIT and key != "also"}
    parts = (row, *row.get("also", ()))
    whole = [_edit(part) for part in parts]
    single = (
        edit
        for part, several in zip(parts, whole, strict=True)
        if part.get("each")
        for edit in _single(several)
    )
    return Mistake(exercise=exercise, edits=(*whole, *single), **words)


def _single(edit: Edit) -> Iterator[Edit]:
    """Yield the replacements at each sublayer connection by itself."""
    by_connection: dict[str, list[tuple[str, str]]] = {}
    for find, replace in edit.replacements:
        connection = _CONNECTION.search(find)
        if connection is not None:
            by_connection.setdefault(connection[0], []).append((find, replace))
    for replacements in by_connection.values():
        yield Edit(edit.form, tuple(replacements))


def _edit(row: Mapping[str, Any]) -> Edit:
    pairs = [tuple(pair) for pair in row.get("edits", ())]
    if "find" in row:
        pairs.insert(0, (row["find"], row["replace"]))
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"an edit is a text to find and one to put in its place, not {row}")
    return Edit(row.get("form", ""), tuple((find, replace) for find, replace in pairs))
