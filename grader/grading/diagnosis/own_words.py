"""What a named mistake looks like in the student's own code: their numbers and their line.

The numbers come from a check that the mistake fails. The line is the one most similar to the line
in which the mistake is made, provided that no other is nearly as similar; else the one that raised,
if that is what the mistake does.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from grader import curriculum
from grader.curriculum import mistakes, stubs
from grader.curriculum.mistakes.variants import variants
from grader.feedback import quoting, text
from grader.feedback.finding import SIDES, Finding, Place
from grader.feedback.results import CheckResult, Diagnosis
from grader.grading.diagnosis.fingerprints import Library
from grader.grading.own_line import quoted
from grader.recognition.likeness import (
    Change,
    Words,
    likely_line,
    simple_statements,
    words,
)
from grader.recognition.nesting import Step, steps
from grader.recognition.unused import lines_elsewhere

# A function or method as text: its first line, and all that is further in or ends its signature.
_FUNCTION = re.compile(r"^( *)def .*\n(?:(?:\1(?: +\S|\)).*)?\n)*", re.MULTILINE)
MOST_AT_ONCE = 2  # of the statements of a mistake that is made in one place
TELLING = 2.0  # what the words of a statement have to count for, if another one has more
# A statement that merely takes sizes.
_TAKES_SIZES = re.compile(r"[\w, ]+ = [\w.]+\.(shape(\[-?\d\])?|size\((-?\d)?\))")


@dataclass(frozen=True)
class Elsewhere:
    """The checks that don't report a mistake, though answers with it fail them.

    In those in `others` something else goes wrong first. In those in `unlike` what comes first is
    wrong in its form too, and not as with the mistake: a shape or a dtype, say. In those in `mixed`
    another mistake changes the same numbers, and where they are furthest off, it may be due to it.
    """

    others: frozenset[str] = frozenset()
    unlike: frozenset[str] = frozenset()
    mixed: frozenset[str] = frozenset()


def in_own_words(
    diagnosis: Diagnosis,
    library: Library,
    checks: Sequence[CheckResult],
    source: str,
    confirms: Callable[[int], bool] | None = None,
    configurations: Collection[str] = (),
    elsewhere: Elsewhere | None = None,
    raised_at: Mapping[str, int] = MappingProxyType({}),
) -> Diagnosis:
    """Return the diagnosis with its evidence from the checks' results and from the source.

    A line that only resembles the wrong one is shown if `confirms` agrees, where that can be asked.
    Lines that don't run in the `configurations` of the mistake are never shown, nor is anything of
    the checks that report a different mistake, according to `elsewhere`. `raised_at` holds the line
    that raised in a check; a finding may show another one, which is the cause.
    """
    elsewhere = elsewhere or Elsewhere()
    fails = library.fails(diagnosis.mistakes) - elsewhere.others
    raises = library.raises(diagnosis.mistakes)
    found = {
        check.check: check.finding
        for check in checks
        if check.check in fails and check.finding is not None
    }
    telling = (
        quoting.numbers(finding)
        for check, finding in found.items()
        if check not in (elsewhere.unlike if finding.grid is None else ())
        if check not in (elsewhere.mixed if finding.grid and finding.grid.sides == SIDES else ())
    )
    numbers = next(filter(None, telling), "")
    # Another fault may raise in a check that this mistake also fails.
    raised = [
        (finding, raised_at.get(check, finding.places[0].line) == finding.places[0].line)
        for check, finding in found.items()
        if check in raises and finding.places and not _only_notices(finding)
    ]
    # What is missing or has the wrong size may have the only line that can be the cause.
    placed = [one for one in found.values() if one.places and "Your code raised" not in one.help]
    placed = [one for one in placed if "Your code raised" not in one.headline]
    line = ""
    # The line that raises may be right, and one before it wrong. But one of many wrong ones is not.
    if _made_at_once(diagnosis.mistakes, library.exercise) if raised else not placed:
        place = line_of(diagnosis.mistakes, library.exercise, source, configurations)
        if (
            place is not None
            and not any(place.line == finding.places[0].line for finding, _ in raised)
            and (
                confirms is None
                or _is_known(diagnosis.mistakes, library.exercise, source, place.line)
                or confirms(place.line)
            )
        ):
            line = f"Is it here? {text.place(place)}"
    if not line and (raised or placed):
        finding, is_raised = raised[0] if raised else (placed[0], False)
        line = _where(finding, is_raised)
    return replace(diagnosis, shows="\n".join(filter(None, (numbers, line))))


def _made_at_once(names: Sequence[str], exercise: str) -> bool:
    """Return whether one of these mistakes can be made in a statement, or in two."""
    made = (_new(exercise, source) for name in names for source in _sources(exercise)[name])
    return any(len(new) <= MOST_AT_ONCE for new in made)


def _where(finding: Finding, is_raised: bool) -> str:
    """Return the line that a finding is about, and that it raises, if it does."""
    is_raised = is_raised and "Your code raised" in (finding.headline + finding.help)
    is_raised = is_raised and not re.match(r"(?:def|class)\b", finding.places[0].source)
    return quoting.line(finding.places, " raises an error" if is_raised else "")


def _only_notices(finding: Finding) -> bool:
    """Return whether the line that raised refuses what an earlier one made of the numbers."""
    return "probability tensor contains" in f"{finding.headline} {finding.help}"


def line_of(
    names: Sequence[str], exercise: str, source: str, configurations: Collection[str] = ()
) -> Place | None:
    """Return the student's line most like those in which these mistakes are made, if any."""
    wrong = [line for name in names for line in wrong_lines(exercise, name)]
    number = likely_line(source, wrong, lines_elsewhere(source, configurations))
    return None if number is None else Place(f"{exercise}.py", number, quoted(source, number))


def _is_known(names: Sequence[str], exercise: str, source: str, number: int) -> bool:
    """Return whether the statement on a line is, word for word, one of these mistakes."""
    wrong = {statement for name in names for statement in _wrong_statements(exercise, name)}
    return any(
        line == number and statement in wrong for line, statement in simple_statements(source)
    )


@cache
def wrong_lines(exercise: str, name: str) -> list[Words]:
    """Return what the lines that a mistake changes are made of, as they are with it."""
    return [words(statement) for statement in _wrong_statements(exercise, name)]


@cache
def _wrong_statements(exercise: str, name: str) -> list[str]:
    """Return the statements of the answers with a mistake that no right answer has.

    Of several, leave out those that make another mistake by themselves, and those that are right
    in a part that the exercise needs: people write such parts in the same file. A size that is
    merely taken is not wrong either.
    """
    wrong: list[str] = []
    for source in _sources(exercise)[name]:
        new = _new(exercise, source)
        if len(new) > 1:
            new = [one for one in new if _alone(exercise).get(one, {name}) == {name}] or new
            new = [one for one in new if one not in _statements_of_needed(exercise)] or new
            new = [one for one in new if not _TAKES_SIZES.fullmatch(one)] or new
        # A statement like `return self.dropout(x)` is merely the rest of a longer one.
        long = [statement for statement in new if sum(words(statement).values()) >= TELLING]
        wrong += long or new
    return wrong


def _new(exercise: str, source: str) -> list[str]:
    """Return the statements of a source that no right form has."""
    right = _right_statements(exercise)
    changed = _statements(_changed(exercise, source))
    return [statement for statement in changed if statement not in right]


@cache
def _changed(exercise: str, source: str) -> str:
    """Return a source without the functions that a right answer has word for word.

    Most are, and need not be read.
    """
    right = _right_functions(exercise)

    def emptied(function: re.Match[str]) -> str:
        return f"{function[1]}def _(): pass\n" if function[0] in right else function[0]

    return _FUNCTION.sub(emptied, source)


@cache
def _right_functions(exercise: str) -> frozenset[str]:
    forms = _right_sources(exercise)
    return frozenset(function[0] for form in forms for function in _FUNCTION.finditer(form))


@cache
def _right_statements(exercise: str) -> frozenset[str]:
    return frozenset(statement for form in _right_forms(exercise) for statement in form)


@cache
def _statements_of_needed(exercise: str) -> frozenset[str]:
    needed = curriculum.closure(exercise)
    return frozenset().union(*(_statements(stubs.reference_source(name)) for name in needed))


@cache
def _alone(exercise: str) -> dict[str, set[str]]:
    """Return the mistakes by statement, where one statement is all that a form of them changes."""
    made = defaultdict(set)
    for name, sources in _sources(exercise).items():
        for source in sources:
            if len(new := _new(exercise, source)) == 1:
                made[new[0]].add(name)
    return made


@cache
def changes(exercise: str, name: str) -> list[Change]:
    """Return what a mistake changes in each of the right answers that it is made in."""
    return [
        Change(*(list(filter(None, map(words, part))) for part in _difference(exercise, made)))
        for made in _sources(exercise)[name]
    ]


@cache
def new_steps(exercise: str, name: str) -> list[frozenset[Step]]:
    """Return the order of steps that a mistake introduces in each answer that it is made in."""
    before = _right_steps(exercise)
    return [steps(_changed(exercise, made)) - before for made in _sources(exercise)[name]]


@cache
def _right_steps(exercise: str) -> frozenset[Step]:
    return frozenset().union(*map(steps, _right_sources(exercise)))


def _difference(exercise: str, source: str) -> tuple[list[str], list[str]]:
    """Return what the nearest right answer has and a source has not, and the reverse."""
    wrong = _statements(source)
    differences = [(list(right - wrong), list(wrong - right)) for right in _right_forms(exercise)]
    return min(differences, key=lambda parts: sum(map(len, parts)))


@cache
def _right_forms(exercise: str) -> list[Counter[str]]:
    """Return the statements of each right answer that mistakes are made in."""
    return [_statements(form) for form in _right_sources(exercise)]


@cache
def _right_sources(exercise: str) -> tuple[str, ...]:
    return (stubs.reference_source(exercise), *mistakes.forms(exercise).values())


@cache
def _statements(source: str) -> Counter[str]:
    return Counter(statement for _, statement in simple_statements(source))


@cache
def _sources(exercise: str) -> dict[str, list[str]]:
    """Return the wrong answers that a mistake makes, by its name."""
    sources = defaultdict(list)
    for variant in variants(exercise):
        for name in variant.mistakes:
            sources[name].append(variant.source)
    return sources
