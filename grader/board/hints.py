"""Hints on what is wrong, one at a time: what it is, a question, where to read, where to look.

Each time that somebody asks about the same code they get one step more. Changed code starts anew.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.board.known import Known, diagnose, load
from grader.board.result import Result
from grader.feedback import quoting
from grader.feedback.likeness import likely_line

_WRONG, _QUESTION, _READ, _WHERE, _NEARLY = (
    "What is wrong", "A question", "Where to read", "Where to look", "Nearly the answer",
)  # fmt: skip
_UNKNOWN = (
    "No single one of the mistakes that are known here looks like this. It may be two at once: "
    "mend what you find, and ask again."
)
_OR = "Or, which looks the same from here: {}"
_PENCIL = (
    "Take the small numbers of the failing test and work them out with a pencil, line by line of "
    "your code; print what each line gives. Which is the first line where the two differ?"
)
_LINE = "Is it line {}?\n{}"
_LAST = "That was the last hint. Change something, and hints start anew."
_AGAIN = "For the next hint, ask once more."


@dataclass(frozen=True)
class Hint:
    """One step: what kind of step it is, and what it says."""

    title: str
    text: str


@dataclass(frozen=True)
class Shown:
    """The hints of an exercise that somebody has asked for so far, the newest last.

    `note` says whether there are more.
    """

    exercise: str
    hints: tuple[Hint, ...]
    note: str

    @property
    def heading(self) -> str:
        """Such as "hint 2"."""
        return f"hint {len(self.hints)}"


def ask(
    exercise: str,
    failures: Sequence[Result],
    module: Any,
    source: str,
    given: MutableMapping[str, Any],
) -> Shown:
    """One hint more on the failures of an exercise.

    `module` holds what the student wrote, or is None where it cannot be imported; `source` is its
    text. Raises `NoHintsError`.
    """
    known = load(exercise)
    named = diagnose(known, module) if module is not None else []
    return shown(exercise, source, steps(failures, named, known, source), given)


def steps(
    failures: Sequence[Result], named: Sequence[Sequence[str]], known: Known, source: str
) -> tuple[Hint, ...]:
    """All steps on the mistake that explains most, or on the failure where none is known."""
    seen = _seen(failures)
    if not named:
        return _filled((_WRONG, _joined(_UNKNOWN, seen)), (_QUESTION, _PENCIL), (_READ, known.read))
    first, *others = (known.words[name] for name in named[0])
    tells = [first["tells"], *(_OR.format(one["tells"]) for one in others)]
    asks = [one["asks"] for one in (first, *others)]
    return _filled(
        (_WRONG, _joined(*tells, seen)),
        (_QUESTION, _joined(*asks)),
        (_READ, first["read"] or known.read),
        (_WHERE, _place(named[0], known, source)),
        (_NEARLY, "" if others else first["nearly"]),
    )


def _place(names: Sequence[str], known: Known, source: str) -> str:
    """The line of the student's that is most like those where the mistake is made, if one is."""
    number = likely_line(source, [line for name in names for line in known.lines[name]])
    return "" if number is None else _LINE.format(number, source.splitlines()[number - 1].strip())


def shown(
    exercise: str, source: str, every: Sequence[Hint], given: MutableMapping[str, Any]
) -> Shown:
    """The steps so far and one more; `given` holds how many there were, and for which code."""
    before: Mapping[str, Any] = given.get(exercise, {})
    code = _digest(source)
    count = before.get("count", 0) if before.get("code") == code else 0
    count = min(count + 1, len(every))
    given[exercise] = {"code": code, "count": count}
    return Shown(exercise, tuple(every[:count]), _AGAIN if count < len(every) else _LAST)


def _seen(failures: Sequence[Result]) -> str:
    """The student's own numbers and line, of the first failure that has some."""
    findings = [one.finding for one in failures if one.finding is not None]
    numbers = next(filter(None, map(quoting.numbers, findings)), "")
    # Where numbers are wrong, nobody knows the line yet: the place is where they come out.
    raised = [one.places for one in findings if one.grid is None]
    line = next(filter(None, map(quoting.line, raised)), "")
    return _joined(numbers, line)


def _filled(*hints: tuple[str, str]) -> tuple[Hint, ...]:
    return tuple(Hint(title, text) for title, text in hints if text)


def _joined(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _digest(source: str) -> str:
    """What stands for code: the same for other comments and other empty lines."""
    with contextlib.suppress(SyntaxError, ValueError):
        source = ast.dump(ast.parse(source))
    return hashlib.sha256(source.encode(errors="replace")).hexdigest()[:16]
