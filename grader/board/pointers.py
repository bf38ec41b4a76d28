"""From wrong numbers to a line: the question of the known mistake that would give these numbers.

A public test sees that a number is wrong, and asks what holds for every wrong number. Where the
data on the known mistakes of the exercise is at hand, as it is unless somebody changes the kit, one
that explains all that the code answers asks its own question instead, and points to the line that
is most like those in which it is made.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from grader.board import known
from grader.board.dead_ends import dropped, unused_parts
from grader.board.misplaced import ONE, SEVERAL, misplaced
from grader.board.result import Result
from grader.board.workspace import Workspace
from grader.curriculum import CurriculumError, find
from grader.curriculum.hint_limit import HintLimit
from grader.feedback.finding import Finding, Place, Status
from grader.recognition.likeness import likely_line, parsed

_ERROR = r"^\w+Error: "
_IS_IT = "Is it this line?"


def point(
    exercise: str,
    failures: Sequence[Result],
    workspace: Workspace,
    module: Callable[[], Any],
) -> None:
    """Give the first of these failures, and those that say the same, a better question and line.

    `module` returns what holds the student's names, or None where it cannot be imported. Nothing
    changes where the cause is known already, where no known mistake explains what is wrong, or
    where the instructor does not want hints to go that far.
    """
    if not failures or any(result.endless for result in failures):
        return
    shown = failures[0]
    if shown.finding is None:
        return
    if not (shown.is_comparison or _comes_out_late(shown.finding)):
        return
    try:
        limit = workspace.limit_of_hints
        knowledge = known.load(exercise) if known.is_at_hand(exercise) else None
    except (known.NoHintsError, CurriculumError):
        return
    if _say_what_is_misplaced(exercise, failures, workspace, limit):
        return
    named: list[tuple[str, ...]] = []
    if knowledge is not None and (theirs := module()) is not None:
        named = known.diagnose(knowledge, theirs, patient=False)
    place = _place(exercise, named[0], knowledge, workspace) if knowledge and named else None
    end = _end(dropped, exercise, shown, workspace, limit)
    if end is None and place is None:
        end = _end(unused_parts, exercise, shown, workspace, limit)
    if end is not None and end[1] != place:
        told, place = end
        asked = f"{shown.finding.help} " if shown.names_cause else ""
        _say(failures, f"{asked}{told}", (place,))
        return
    if knowledge is None or not named:
        return
    is_elsewhere = place is not None and not _concerns(place, shown, exercise, workspace)
    if is_elsewhere or not limit.allows("question"):
        return
    asks = dict.fromkeys(knowledge.words[name]["asks"] for name in named[0])
    help = shown.finding.help if shown.names_cause else " Or: ".join(asks)
    places = shown.finding.places
    if not shown.is_comparison:
        if place is None or not limit.allows("line"):
            return
        if place in places:
            if re.match(_ERROR, shown.finding.headline):  # nothing but what Python says
                _say(failures, f"{shown.finding.help} {help}".strip(), places)
            return
        said_already = [shown.finding.help] if shown.finding.help else []
        help, places = "\n".join([*said_already, f"{help} {_IS_IT}"]), (place,)
    elif _is_made_at(places):  # a parameter that is missing or has another shape
        help = shown.finding.help or help
    elif place is not None and limit.allows("line"):
        help, places = f"{help} {_IS_IT}", (place,)
    _say(failures, help, places)


def _say_what_is_misplaced(
    exercise: str, failures: Sequence[Result], workspace: Workspace, limit: HintLimit
) -> bool:
    """Name the call with arguments in each other's place, if there is one that matters here."""
    shown = failures[0]
    assert shown.finding is not None
    others = [workspace.source(name) for name in find(exercise).needs]
    found = misplaced(workspace.source(exercise), others)
    if ONE in shown.finding.headline or SEVERAL in shown.finding.headline:
        return True  # the error says it already
    if len(found) != 1 or not limit.allows("line"):
        return False
    told, number = found[0]
    place = workspace.line(exercise, number, _around(workspace.source(exercise), number))
    if not _concerns(place, shown, exercise, workspace):
        return False
    asked = f"{shown.finding.help}\n" if shown.names_cause or not shown.is_comparison else ""
    _say(failures, f"{asked}{told}", (place,))
    return True


def _end(
    ends: Callable[[str], Sequence[tuple[str, int]]],
    exercise: str,
    shown: Result,
    workspace: Workspace,
    limit: HintLimit,
) -> tuple[str, Place] | None:
    """Return where the code leads nowhere, if that is one place, and the failing test runs it."""
    if not shown.is_comparison or _is_made_at(shown.places) or not limit.allows("line"):
        return None
    source = workspace.source(exercise)
    there = [
        (told, workspace.line(exercise, line, _around(source, line))) for told, line in ends(source)
    ]
    there = [end for end in there if _concerns(end[1], shown, exercise, workspace)]
    return there[0] if len(there) == 1 else None


def _say(failures: Sequence[Result], help: str, places: tuple[Place, ...]) -> None:
    """Give the first failure, and those that say the same, this help and these places."""
    shown = failures[0]
    assert shown.finding is not None
    finding = replace(shown.finding, help=help, places=places)
    said = shown.text()
    for result in failures:
        if result.status is Status.FAILED and result.text() == said:
            result.finding = finding


def _place(
    exercise: str, names: Sequence[str], knowledge: known.Known, workspace: Workspace
) -> Place | None:
    """Return the line of the student's that is most like those where the mistake is made."""
    source = workspace.source(exercise)
    number = likely_line(source, [line for name in names for line in knowledge.lines[name]])
    if number is None:
        return None
    return workspace.line(exercise, number, _around(source, number))


def _comes_out_late(finding: Finding) -> bool:
    """Return whether it is an error, whose reason may stand on another line.

    Two tensors that do not fit raise one where they meet, not where they are made.
    """
    return any(re.search(_ERROR, text) for text in (finding.headline, finding.help))


def _is_made_at(places: Sequence[Place]) -> bool:
    """Return whether the message points at the line that makes what it is about."""
    return any(
        place.inside.endswith("__init__") and place.source.startswith("self.") for place in places
    )


def _around(source: str, number: int) -> str:
    """Return the function that holds a line, as Python names it; "" outside of all."""
    names = []
    nodes: list[ast.stmt] = parsed(source).body
    while nodes:
        inner = [
            node
            for node in nodes
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
            and node.lineno <= number <= (node.end_lineno or 0)
        ]
        names += [node.name for node in inner]
        nodes = [statement for node in inner for statement in node.body]
    return ".".join(names)


def _concerns(place: Place, result: Result, exercise: str, workspace: Workspace) -> bool:
    """Return whether the failing test runs the function or class that holds the line."""
    entry = place.inside.partition(".")[0]
    test = workspace.tests(exercise).get(result.test)
    entries = find(exercise).entries
    used = [name for name in entries if test is not None and name in test.uses]
    if entry not in entries or entry in used or not used:
        return True
    tree = parsed(workspace.source(exercise))
    return any(
        isinstance(name, ast.Name) and name.id == entry
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in used
        for name in ast.walk(node)
    )
