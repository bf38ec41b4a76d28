"""Facts for which no known mistake is needed: what is never used, or not what it seems to be.

Right code reads every argument that an exercise gives it, drops no result, and leaves the next call
what this one found. So where code is wrong and the known mistakes do not explain all of it, these
lines are shown.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache

from grader import curriculum
from grader.curriculum import stubs
from grader.feedback.finding import Place
from grader.feedback.results import ExerciseResult, SuspectLine
from grader.grading.explanation import quoted
from grader.recognition.dead_ends import (
    changed_in_forward,
    dropped,
    kept_from_first_call,
    misnamed_keys,
    never_filled,
    unused_arguments,
    unused_layers,
)
from grader.recognition.likeness import parsed
from grader.recognition.misplaced import misplaced
from grader.recognition.python_traps import misused_self, python_traps
from grader.recognition.unused import kept_only

KIND = "without effect"
MAX_LINES = 2
_NOTHING_READS = "No line reads {arguments}, so {what} here."
_KEPT = "`{name}` is kept in `{attribute}`, which no line reads, so it changes nothing here."
_ASKS_ARGUMENT = "What should change with {it}, and which line of your code makes it change?"
_ASKS = "What is this line for, and where should its result be used?"
_ASKS_KEY = "Which keys does that dictionary have?"
# What a check says of a module without dropout whose training mode differs.
_DIFFERS_IN_TRAINING = "In training mode your module returns other numbers"
_ASKS_DROPOUT = (
    "What does your module return for the same x in training mode and in evaluation mode?"
)
_ASKS_SELF = "What does Python do with `self` here?"
_ASKS_FILLED = "Which numbers should a new module start with, and which line sets them?"
_ASKS_PYTHON = "What does Python do here? Try it on a small example."
_ASKS_NEXT = "What does a second call, with a different input, find there?"


def without_effect(
    result: ExerciseResult, source: str, named: AbstractSet[str] = frozenset()
) -> tuple[SuspectLine, ...]:
    """Return the lines of a wrong answer whose arguments or results nothing uses.

    Arguments that were `named` already, each after its function, and lines that are shown in the
    result are not told again.
    """
    exercise = result.exercise
    shown = {line.place.line for line in result.lines}
    for diagnosis in result.diagnoses:
        shown |= {int(line) for line in re.findall(r"\bline (\d+)\b", diagnosis.shows)}
    lines = [
        *((line, tells, _ASKS_SELF) for tells, line in misused_self(source)),
        *_of_dropouts(result, source),
        *((line, tells, _ASKS_KEY) for tells, line in misnamed_keys(source)),
        *((line, tells, _ASKS) for tells, line in dropped(source)),
        *((line, tells, _ASKS_FILLED) for tells, line in never_filled(source)),
        # A known mistake says it more precisely, if there is one.
        *((n, tells, "") for tells, n in _misplaced(exercise, source) if not result.diagnoses),
        *((n, tells, _ASKS_PYTHON) for tells, n in python_traps(source) if not result.diagnoses),
        *((line, tells, _ASKS_NEXT) for tells, line in kept_from_first_call(source)),
        *((line, tells, _ASKS_NEXT) for tells, line in changed_in_forward(source)),
        *_of_arguments(exercise, source, named),
        # A slip in a name is one fault: the part that then goes unused is not another.
        *((line, tells, _ASKS) for tells, line in unused_layers(source) if not result.lines),
    ]
    return tuple(
        SuspectLine(
            Place(f"{exercise}.py", line, quoted(source, line)), KIND, asks=asks, tells=tells
        )
        for line, tells, asks in lines
        if line not in shown
    )[:MAX_LINES]


def _of_dropouts(result: ExerciseResult, source: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line of the only dropout in code that should do the same in both modes."""
    differs = any(
        check.finding and check.finding.headline.startswith(_DIFFERS_IN_TRAINING)
        for check in result.checks
    )
    made = [
        node
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Call) and re.search(r"[dD]ropout\d?d?$", ast.unparse(node.func))
    ]
    made = [node for node in made if not ast.unparse(node.func).startswith("self.")]
    if differs and len(made) == 1:
        tells = f"`{ast.unparse(made[0])}` acts in training mode. This exercise has no dropout."
        yield made[0].lineno, tells, _ASKS_DROPOUT


def _misplaced(exercise: str, source: str) -> list[tuple[str, int]]:
    """Return a sentence on each call with arguments in each other's place, and its line."""
    return misplaced(source, map(stubs.reference_source, curriculum.find(exercise).needs))


def told_as_unread(result: ExerciseResult, source: str) -> tuple[SuspectLine, ...]:
    """Return the suspect lines, with those that raise for a result which nothing reads said so.

    There, the edit that helps merely keeps the line from raising.
    """
    if not result.lines:
        return ()
    raised = {
        place.line for check in result.checks if check.finding for place in check.finding.places
    }
    unread = {line: tells for tells, line in dropped(source) if line in raised}
    return tuple(
        replace(line, kind=KIND, asks=_ASKS, tells=unread[line.place.line], hints=())
        if line.place.line in unread
        else line
        for line in result.lines
    )


def _of_arguments(
    exercise: str, source: str, named: AbstractSet[str]
) -> Iterator[tuple[int, str, str]]:
    """Yield the line of each function that does not read some of its arguments, and the words."""
    by_line: defaultdict[int, list[str]] = defaultdict(list)
    for whole, line in unused_arguments(source):
        if whole in _arguments(exercise) - named:
            by_line[line].append(whole)
    kept = kept_only(source)
    for line, wholes in by_line.items():
        names = {whole: whole.rpartition(".")[2] for whole in wholes}
        unread = [f"`{names[whole]}`" for whole in wholes if whole not in kept]
        sentences = [
            _KEPT.format(attribute=kept[whole], name=names[whole])
            for whole in wholes
            if whole in kept
        ]
        if unread:
            several = len(unread) > 1
            listed = f"{', '.join(unread[:-1])} or {unread[-1]}" if several else unread[0]
            what = "they change nothing" if several else "it changes nothing"
            sentences.insert(0, _NOTHING_READS.format(arguments=listed, what=what))
        asks = _ASKS_ARGUMENT.format(it="each of them" if len(wholes) > 1 else "it")
        yield line, " ".join(sentences), asks


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
