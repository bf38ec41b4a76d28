"""Hints, one at a time: what works and what does not, a question, the mistake, where to look.

The question comes before the mistake, so that there is something left to find out. Whoever asks
again about the same code gets one step more. Changed code starts anew.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.board.known import Known, NoHintsError, diagnose, load
from grader.board.result import Result
from grader.curriculum.hint_limit import STEPS, HintLimit
from grader.feedback import quoting
from grader.feedback.finding import Finding, Status
from grader.recognition.likeness import likely_line
from grader.remote.source_lines import source_lines

_STATE, _QUESTION, _WRONG, _READ, _WHERE, _NEARLY = (
    "What works, and what doesn't", "A question", "What is wrong", "Where to read", "Where to look",
    "Nearly the answer",
)  # fmt: skip
_TITLES = dict(zip(STEPS, (_STATE, _QUESTION, _WRONG, _READ, _WHERE, _NEARLY), strict=True))
_STEP_OF = {title: step for step, title in _TITLES.items()}
_RIGHT = "Right already: {}"
_FAILS = "Fails: {}"
_UNKNOWN = (
    "No single known mistake looks like this. There may be two at once: fix what you find and ask "
    "again."
)
_OR = "Or, with the same symptoms: {}"
_PENCIL = (
    "Take the small numbers of the failing test and go through your code line by line with a "
    "pencil; print what each line gives. On which line do the two first differ?"
)
_LINE = "Is it line {}?\n{}"
_LAST = "That was the last hint. Hints start over once your code changes."
_AGAIN = "Ask again for the next hint."


@dataclass(frozen=True)
class Hint:
    """One step: what kind of step it is, and what it says."""

    title: str
    text: str

    @property
    def step(self) -> str:
        """Its name among the `STEPS` that an instructor may limit hints to."""
        return _STEP_OF[self.title]


@dataclass(frozen=True)
class Shown:
    """The hints given on an exercise so far, the newest last.

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
    results: Sequence[Result],
    module: Any,
    source: str,
    given: MutableMapping[str, Any],
    limit: HintLimit,
) -> Shown:
    """Give one more hint on an exercise, from the results of its tests, up to the `limit`.

    `module` holds what the student wrote, or is None where it cannot be imported; `source` is its
    text. Raises `NoHintsError`.
    """
    if not limit.allows(STEPS[0]):
        raise NoHintsError(str(limit))
    known = load(exercise)
    named = diagnose(known, module, source) if module is not None else []
    all_steps = steps(results, named, known, source)
    allowed = tuple(hint for hint in all_steps if limit.allows(hint.step))
    return shown(exercise, source, allowed, given, _LAST if allowed == all_steps else str(limit))


def steps(
    results: Sequence[Result], named: Sequence[Sequence[str]], known: Known, source: str
) -> tuple[Hint, ...]:
    """Return all steps on the mistake that explains most, or on the failure if none is known."""
    state = _state(results)
    if not named:
        return _filled(
            (_STATE, state), (_QUESTION, _PENCIL), (_WRONG, _UNKNOWN), (_READ, known.read)
        )
    first, *alternatives = (known.words[name] for name in named[0])
    tells = [first.tells, *(_OR.format(texts.tells) for texts in alternatives)]
    asks = dict.fromkeys(texts.asks for texts in (first, *alternatives))
    return _filled(
        (_STATE, state),
        (_QUESTION, _joined(*asks)),
        (_WRONG, _joined(*tells)),
        (_READ, first.read or known.read),
        (_WHERE, _place(named[0], known, source)),
        (_NEARLY, "" if alternatives else first.nearly),
    )


def _place(names: Sequence[str], known: Known, source: str) -> str:
    """Return the student's line that is most like those where the mistake is made, if any."""
    number = likely_line(source, [line for name in names for line in known.lines[name]])
    if number is None:
        return ""
    return _LINE.format(number, source_lines(source)[number - 1].strip())


def shown(
    exercise: str,
    source: str,
    all_steps: Sequence[Hint],
    given: MutableMapping[str, Any],
    last: str,
) -> Shown:
    """Return the steps so far and one more; `last` is the note that comes with the last of them.

    `given` holds how many there were, and for which code.
    """
    code = _digest(source)
    match given.get(exercise):  # from a file, which may hold anything
        case {"code": str(before), "count": int(number)} if before == code:
            count = min(number + 1, len(all_steps))
        case _:
            count = min(1, len(all_steps))
    given[exercise] = {"code": code, "count": count}
    return Shown(exercise, tuple(all_steps[:count]), _AGAIN if count < len(all_steps) else last)


def _state(results: Sequence[Result]) -> str:
    """Return what is right already, and the first failure with the student's numbers and line."""
    right = [result.title for result in results if result.status is Status.PASSED]
    failures = [result for result in results if result.status is Status.FAILED]
    findings = [failure.finding for failure in failures if failure.finding is not None]
    return _joined(
        _RIGHT.format(" ".join(right)) if right else "",
        _FAILS.format(" ".join(failure.title for failure in failures)) if failures else "",
        next(filter(None, map(_quoted, findings)), ""),
    )


def _quoted(finding: Finding) -> str:
    """Return the student's numbers, or what is wrong and the line that it is about.

    Both are those of one test: the line of another says nothing about these numbers. Where numbers
    are wrong, the line is unknown: the place is only where they come out.
    """
    if finding.grid is not None:
        return quoting.numbers(finding) or finding.headline
    return _joined(finding.headline, quoting.line(finding.places))


def _filled(*hints: tuple[str, str]) -> tuple[Hint, ...]:
    return tuple(Hint(title, text) for title, text in hints if text)


def _joined(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _digest(source: str) -> str:
    """Return a hash of the code that comments and empty lines do not change."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        source = ast.dump(ast.parse(source))
    return hashlib.sha256(source.encode(errors="replace")).hexdigest()[:16]
