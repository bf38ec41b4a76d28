"""Mistakes that the source alone proves: what is never used, or not what it seems to be.

Right code reads every argument that an exercise gives it and drops no result. So where code is
wrong and the known mistakes do not explain all of it, these are named as well.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from grader.curriculum import stubs
from grader.feedback.mismatch import Proven, WrongShape
from grader.feedback.results import Diagnosis, ExerciseResult
from grader.grading.own_line import place_of, quoted
from grader.grading.raised import (
    RAISES,
    lines_of,
    misplaced_in,
    proven,
    proven_by,
)
from grader.recognition.dead_ends import (
    dropped,
    never_filled,
    unused_arguments,
    unused_layers,
)
from grader.recognition.graph import unseen
from grader.recognition.python_traps import misused_self, python_traps
from grader.recognition.unused import kept_only

MAX_NAMED = 2
_DROPPED = "result-dropped"
_PROVEN = "line-proven"
_NOTHING_READS = "No line of `{function}` reads {arguments}, so {what} here."
_KEPT = "`{name}` is kept in `{attribute}`, which no line reads, so it changes nothing here."
_ASKS_ARGUMENT = "What should change with {it}, and which line of your code makes it change?"
_ASKS = "What is this line for, and should anything use its result?"
_MAKES_DROPOUT = re.compile(r"[dD]ropout\d?d?\(")
_ASKS_SELF = "What does Python do with `self` here?"
_ASKS_FILLED = "Which numbers should a new module start with, and which line sets them?"
_ASKS_PYTHON = "What does Python do here? Try it on a small example."


def without_effect(
    result: ExerciseResult,
    source: str,
    named: AbstractSet[str] = frozenset(),
    mismatches: Mapping[str, Proven] = MappingProxyType({}),
) -> tuple[Diagnosis, ...]:
    """Return what nothing uses in a wrong answer, or what isn't what it seems to be.

    `mismatches` are those of checks that need no numbers.

    Arguments that were `named` already, each after its function, and lines that are shown in the
    result are not told again.
    """
    exercise = result.exercise
    shown = {line.place.line for line in result.lines}.union(*map(lines_of, result.diagnoses))
    raises = any(diagnosis.mistakes == (RAISES,) for diagnosis in result.diagnoses)
    known = any(diagnosis.mistakes != (RAISES,) for diagnosis in result.diagnoses)
    found = [
        *(("self-misused", line, tells, _ASKS_SELF) for tells, line in misused_self(source)),
        *_of_mismatches(mismatches, result, source),
        *((_DROPPED, line, tells, _ASKS) for tells, line in dropped(source)),
        *(("never-filled", line, tells, _ASKS_FILLED) for tells, line in never_filled(source)),
        # A known mistake says it more precisely, if there is one.
        *(("exchanged", n, tells, "") for tells, n in misplaced_in(exercise, source) if not known),
        *(("python", n, tells, _ASKS_PYTHON) for tells, n in python_traps(source) if not known),
        *(("argument-unread", *each) for each in _of_arguments(exercise, source, named)),
    ]
    if not (result.lines or raises):
        # A slip in a name is one fault: the part that then goes unused is not another.
        about_dropout = any(
            "dropout" in check.check and check.points < check.max_points for check in result.checks
        )
        found += [
            ("part-unused", line, tells, _ASKS)
            for tells, line in unused_layers(source)
            # One that nothing uses does no harm where another drops.
            if about_dropout or not _MAKES_DROPOUT.search(quoted(source, line))
        ]
    new = [each for each in found if each[1] not in shown][:MAX_NAMED]
    return tuple(
        proven(name, tells, asks, place_of(exercise, line, source))
        for name, line, tells, asks in new
    )


def _of_mismatches(
    mismatches: Mapping[str, Proven], result: ExerciseResult, source: str
) -> Iterator[tuple[str, int, str, str]]:
    """Yield the line that a check proves wrong: it cuts off a gradient, or makes a part.

    It is the first one.
    """
    for check in result.checks:
        mismatch = mismatches.get(check.check)
        fact = proven_by(mismatch, source, result.exercise) if mismatch else None
        if fact is None and "gradient" in check.check and check.points < check.max_points:
            fact = unseen(source)
        if fact is not None:
            yield _PROVEN, fact.line, fact.tells, fact.asks
            return


def told_as_unread(result: ExerciseResult, source: str) -> ExerciseResult:
    """Return the result with suspect lines that raise for a result which nothing reads named so.

    There, the edit that helps merely keeps the line from raising.
    """
    if not result.lines:
        return result
    raised = {
        place.line for check in result.checks if check.finding for place in check.finding.places
    }
    unread = {line: tells for tells, line in dropped(source) if line in raised}
    named = [
        proven(_DROPPED, unread[line.place.line], _ASKS, line.place)
        for line in result.lines
        if line.place.line in unread
    ]
    left = tuple(line for line in result.lines if line.place.line not in unread)
    return replace(result, diagnoses=(*result.diagnoses, *named), lines=left)


def without_detours(result: ExerciseResult, mismatches: Mapping[str, Proven]) -> ExerciseResult:
    """Return the result without an edit elsewhere that gives a parameter its right shape.

    The line that makes the parameter is known, and told.
    """
    made = {
        check.check: check.finding.places[0].line
        for check in result.checks
        if check.finding and check.finding.places
        if isinstance(mismatches.get(check.check), WrongShape)
    }
    left = (
        line
        for line in result.lines
        if line.place.line in made.values() or made.keys().isdisjoint(line.checks)
    )
    return replace(result, lines=tuple(left))


def _of_arguments(
    exercise: str, source: str, named: AbstractSet[str]
) -> Iterator[tuple[int, str, str]]:
    """Yield the line of each function that does not read some of its arguments, and the words."""
    by_line: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    kept = kept_only(source)
    for whole, line in unused_arguments(source):
        function, _, name = whole.rpartition(".")
        if whole not in _arguments(exercise) - named:
            continue
        if whole in kept:
            attribute, there = kept[whole]
            yield (
                there,
                _KEPT.format(attribute=attribute, name=name),
                _ASKS_ARGUMENT.format(it="it"),
            )
        else:
            by_line[line, function].append(f"`{name}`")
    for (line, function), unread in by_line.items():
        several = len(unread) > 1
        listed = f"{', '.join(unread[:-1])} or {unread[-1]}" if several else unread[0]
        what = "they change nothing" if several else "it changes nothing"
        asks = _ASKS_ARGUMENT.format(it="each of them" if several else "it")
        yield line, _NOTHING_READS.format(function=function, arguments=listed, what=what), asks


@cache
def _arguments(exercise: str) -> frozenset[str]:
    """Return the arguments of the functions that an exercise asks for, each after its function."""
    tree = ast.parse(stubs.reference_source(exercise))
    owners = [("", tree.body)]
    owners += [(f"{node.name}.", node.body) for node in tree.body if isinstance(node, ast.ClassDef)]
    return frozenset(
        f"{owner}{node.name}.{argument.arg}"
        for owner, body in owners
        for node in body
        if isinstance(node, ast.FunctionDef)
        for argument in (*node.args.args, *node.args.kwonlyargs)
    )
