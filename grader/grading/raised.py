"""What is wrong for certain at the lines that raised, and with what the exercise called them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from torch import Tensor

from grader import curriculum
from grader.curriculum import stubs
from grader.feedback import text
from grader.feedback.exceptions import certain
from grader.feedback.finding import Place
from grader.feedback.mismatch import Edited, Mismatch, NoGradient, WrongShape
from grader.feedback.results import Diagnosis, ExerciseResult
from grader.grading.own_line import made_at, place_of, quoted
from grader.recognition.functions import Functions, own_nodes
from grader.recognition.graph import changed_before_backward, cut, edited
from grader.recognition.likeness import parsed
from grader.recognition.misplaced import misplaced
from grader.recognition.raised_line import Fact, written
from grader.recognition.raising import at_call, at_raise, convolution
from grader.recognition.spelling import suggestion
from grader.recognition.unset import missing_attribute, without_super
from grader.remote.session import StudentError, clean

RAISES = "raises"
MAX_NAMED = 2
ASKS_SHAPE = (
    "The exercise gives the shapes of all parameters. Which sizes should this one be made from?"
)
_OTHER_TYPE = "`{0}` of `{1}` is of the type `{2}` in this call, which has no `{3}`"
_PLAIN = (Tensor, bool, int, float, str, type(None))


@lru_cache(maxsize=32)
def fact_of(error: StudentError, source: str, exercise: str) -> Fact | None:
    """Return what is wrong at the line of an exercise's source that raised; None if unknown.

    An error is asked about when its check is explained, and again when mistakes are named.
    """
    entries = curriculum.find(exercise).entries
    if "ParameterShapeError" in error.kinds:
        parameter = error.text.partition(" ")[0]
        made = made_at(parameter, exercise, source)
        shape = Fact(f"The parameter {error.text}.", ASKS_SHAPE, made[0].line) if made else None
        return convolution(parameter, source) or shape
    is_here = PurePosixPath(error.file or "").stem == exercise
    if "AttributeError" in error.kinds:
        unset = _unset(str(error), source, error.line or 0 if is_here else 0)
        if unset is not None:
            return unset
    if error.line is None:
        return changed_before_backward(str(error), source) or at_call(str(error), source, entries)
    if not is_here:
        return None
    values = _values(error.asked, source, entries) if error.asked else {}
    return (
        _called_wrongly(error, source, exercise)
        or at_raise(str(error), source, error.line, entries, values)
        or _meant(error, source)
    )


def _called_wrongly(error: StudentError, source: str, exercise: str) -> Fact | None:
    """Return that the call of the function that raised is wrong: then its line may be right.

    Arguments are in each other's place there, or one has a type that the function can't use.
    """
    code = Functions(parsed(source))
    place = code.at(error.line or 0)
    if place is None:
        return None
    function, statement = place
    is_made = function.node.name == "__init__" and function.owner is not None
    name = function.owner.name if is_made and function.owner else function.node.name
    called = re.compile(rf"`(?:self\.)?{re.escape(name)}` is (?:called|made) with ")
    found = [each for each in misplaced_in(exercise, source) if called.match(each[0])]
    if len(found) == 1:
        return Fact(found[0][0], "", found[0][1])
    said = re.search(r"'(\w+)' object has no attribute '(\w+)'", str(error))
    if said is None or said[1] in ("Tensor", "NoneType", "tuple"):
        return None
    of_it = [
        node.value.id
        for node in own_nodes(statement)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.attr == said[2] and node.value.id in function.parameters
    ]
    calls = [
        node
        for node in ast.walk(code.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name
    ]
    if len({*of_it}) != 1 or not calls:
        return None
    tells = _OTHER_TYPE.format(of_it[0], name, said[1], said[2])
    if len(calls) > 1:
        asks = f"Which call of `{name}` passes that? Is each of its arguments in its place?"
        return Fact(f"{tells}.", asks, error.line or 0)
    tells = f"{tells}: `{written(calls[0])}` passes it."
    return Fact(tells, "Is each argument of this call in its place?", calls[0].lineno)


def proven_by(mismatch: Mismatch, source: str, exercise: str) -> Fact | None:
    """Return which line is the cause of what a check found without an error; None if unclear."""
    match mismatch:
        case WrongShape(parameter=parameter):
            made = made_at(parameter, exercise, source)
            if made and not misplaced_in(exercise, source):  # else the sizes it gets are wrong
                return Fact(mismatch.finding.headline, ASKS_SHAPE, made[0].line)
        case NoGradient(parameter=parameter):
            return cut(parameter, source)
        case Edited(argument=argument):
            return edited(argument, source)
    return None


@lru_cache(maxsize=16)
def misplaced_in(exercise: str, source: str) -> tuple[tuple[str, int], ...]:
    """Return a sentence on each call with arguments in each other's place, and its line."""
    return tuple(misplaced(source, map(stubs.reference_source, curriculum.find(exercise).needs)))


def _unset(error: str, source: str, line: int) -> Fact | None:
    """Return why an object of the student's has no such attribute; None if unknown."""
    left_out = without_super(error, source)
    missing = missing_attribute(source, error, line) if left_out is None else None
    return Fact(missing[0], "", missing[1]) if missing else left_out


def _meant(error: StudentError, source: str) -> Fact | None:
    """Return what the error itself proves at its line; None if the line may be right."""
    line = error.line or 0
    own = quoted(source, line)
    known = certain(str(error), own, suggestion(str(error), source, line)) if own else None
    return None if known is None else Fact(*known, line)


def with_raised(
    errors: Mapping[str, StudentError],
    result: ExerciseResult,
    source: str,
    unexplained: Collection[str],
    late: Mapping[tuple[str, ...], AbstractSet[str]],
) -> ExerciseResult:
    """Return the result with what is wrong at lines that raised in a check nothing explains.

    A line that the search found only because an edit of it goes round such a one is left out. So is
    a mistake that only shows in these checks and `late`, after the line has raised.
    """
    exercise, found = result.exercise, dict[int, Diagnosis]()
    facts = {
        check: fact
        for check, error in errors.items()
        if check in unexplained and (fact := fact_of(error, source, exercise)) is not None
    }
    explained = {*facts}
    remarks = {check.check for check in result.checks if not check.max_points}
    # An edit after which only some of these checks pass goes round the line that is wrong.
    hints = {
        line.place.line: line.hints
        for line in result.lines
        if not line.checks
        or {*line.checks, *remarks}
        >= {check for check, error in errors.items() if error.line == line.place.line}
    }
    for fact in facts.values():
        place = place_of(exercise, fact.line, source)
        named = proven(RAISES, fact.tells, fact.asks, place, hints.get(fact.line, ()))
        found.setdefault(fact.line, named)
    known = [
        diagnosis
        for diagnosis in result.diagnoses
        if not late.get(diagnosis.mistakes, {""}) <= explained or lines_of(diagnosis) & found.keys()
    ]
    shown = set[int]().union(*map(lines_of, known))
    new = {line: found[line] for line in sorted(found) if line not in shown}
    told = dict([*new.items()][:MAX_NAMED])
    # Two edits at once, one of them where it raises: the other line is wrong as well.
    beyond = any(line.place.line in told for line in result.lines)
    lines = tuple(
        line
        for line in result.lines
        if line.place.line not in told
        and (beyond or not (line.checks and explained >= {*line.checks}))
    )
    return replace(result, diagnoses=(*known, *told.values()), lines=lines)


def lines_of(diagnosis: Diagnosis) -> set[int]:
    """Return the numbers of the student's lines that a diagnosis shows."""
    return {int(number) for number in re.findall(r"\bline (\d+)\b", diagnosis.shows)}


def proven(
    name: str, tells: str, asks: str, place: Place | None, hints: tuple[str, ...] = ()
) -> Diagnosis:
    """Return a mistake that is certain, whatever else is wrong, with the student's line, if known.

    What it tells may name as much as the student's code does.
    """
    message = "\n".join(clean(words) for words in (tells, asks) if words)
    return Diagnosis((name,), message, hints, f"Look at {text.place(place)}" if place else "")


def _values(request: Mapping[str, Any], source: str, entries: Collection[str]) -> dict[str, object]:
    """Return what a request hands to a function of the student's, by its own names for that.

    Nothing if it is not clear which function that is.
    """
    handle, path = request.get("target", (None, ""))
    owners: Collection[str | None] = entries
    if request["op"] == "new":
        owners, name = [request["entry"]], "__init__"
    elif handle is None:
        owners, name = [None], path
    else:
        name = path.rpartition(".")[2] or "forward"
    functions = [
        function
        for function in Functions(parsed(source)).all
        if function.node.name == name
        and (function.owner.name if function.owner else None) in owners
    ]
    if len(functions) != 1 or "args" not in request:
        return {}
    arguments, names = functions[0].node.args, functions[0].parameters
    values: dict[str, object] = {}
    defaults = [*arguments.defaults, *arguments.kw_defaults]
    # From the end, since `self` may have a default as well and is not among the names.
    for parameter, default in zip(reversed(names), reversed(defaults), strict=False):
        value = getattr(default, "value", values)
        if isinstance(value, _PLAIN):
            values[parameter] = value
    given = dict(zip(names, request["args"], strict=False)) | request["kwargs"]
    for parameter, value in given.items():
        values.pop(parameter, None)
        if isinstance(value, _PLAIN):
            values[parameter] = value
    return values
