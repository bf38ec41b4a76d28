"""Turning what happened in a public test into a result with a finding."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.board import origins, values
from grader.board.causes import (
    changed_lists,
    constructor_call,
    cutting,
    exchanged_arguments,
    kept_by_methods,
    off_the_graph,
    width_of_layer,
    without_raise,
    without_return,
)
from grader.board.forbidden import RuledOutError
from grader.board.left_on import HEADLINE, HELP, LeftOnError
from grader.board.result import Result
from grader.board.time_limit import TookTooLong
from grader.board.workspace import PublicTest, Workspace
from grader.curriculum import NAMES, find
from grader.curriculum.rules import AT_IMPORT
from grader.feedback.exceptions import SOMETHING_IS_NONE, WHICH_MASK, hint_for
from grader.feedback.finding import Finding, Place, Status
from grader.feedback.mismatch import Mismatch
from grader.feedback.tensors import type_name
from grader.recognition.raised_line import Fact
from grader.recognition.raising import at_call, at_raise
from grader.recognition.spelling import suggestion
from grader.recognition.unset import missing_attribute, without_super

_ENDLESS = "Your code didn't finish and was stopped. Is there an infinite loop?"
_OWN_RAISE = (
    "Your own `raise` ends this call, but the test expects no error. Check its condition, and "
    "what the call is given."
)
_OWN_RAISE_LATER = (
    "Your own `raise` ends this call, but the test expects no error. Check its condition, what "
    "the call is given, and what earlier calls left in {}."
)
_REFUSED = "Code of another exercise rejects its arguments. Does your line pass the right ones?"
# Errors that the shapes of the tensors in the line explain, and what they make unnecessary.
_ABOUT_SIZES = r"\bdim\b|\bsizes?\b|\bshapes?\b|\b[Dd]imensions?\b"
_PRINT = r" Print (?:both shapes|its shape)\."
_GIVEN_MASK = (
    "`{}` is as the test gave it. Are these scores of all its queries with all its keys, and no "
    "others?"
)
_WRONG_PART = r", not with `(\w+)`\.$"  # of `where_to_look`
_START = r"\bstarts? (?:as|between|with)\b"  # what a parameter holds first
_AFTER = r"After (\w+), the list "  # of lists that were given and have changed
_OFF_GRAPH = "cut off by a `detach`"
_COUNTS_ALL = "argmax()"
_ARGMAX = "`argmax` without a `dim` returns a single index into all numbers, counted row after row."
_FLAKY = Finding(
    "Your code gives different results for the same input.",
    help="Is something random left on, or kept from one call to the next?",
)


def failure(error: BaseException, exercise: str, test: PublicTest, workspace: Workspace) -> Result:
    """Return the result of a test of `exercise` that ended with `error`."""
    result = Result(
        exercise,
        test.name,
        test.title,
        f"{workspace.shown(workspace.test_path(exercise))}:{test.line}",
        Status.FAILED,
        example=_smallest_case(error),
    )
    error = _unwrapped(error)
    frames = list(workspace.places(error.__traceback__))
    if isinstance(error, NotImplementedError) and _is_own_raise(error, frames, workspace):
        path, place = frames[-1]
        result.waits_for, result.unwritten = path.stem, place.inside
        result.status = Status.TODO if path.stem == exercise else Status.FAILED
        headline = f"{place.inside or path.stem} is not written yet."
        result.finding = Finding(headline, places=(place,))
    elif isinstance(error, Mismatch):
        places = _mismatch_places(error, exercise, test, workspace)
        result.finding = replace(error.finding, places=places)
        result.is_comparison = error.__cause__ is None and error.place is None
        result.names_cause = error.names_cause
        if "is a `return` missing" in error.finding.headline:
            result.finding = _missing_return([exercise], workspace) or result.finding
            result.is_comparison = False
        is_refusal = error.points_at == "raise"
        unraised = without_raise(workspace.source(exercise)) if is_refusal else None
        if unraised is not None:
            sentence, line = unraised
            place = workspace.line(exercise, line, "")
            result.finding = Finding(error.finding.headline, help=sentence, places=(place,))
            result.is_comparison = False
    elif isinstance(error, LeftOnError):
        result.finding = Finding(HEADLINE, help=HELP, places=(error.place,))
    elif isinstance(error, ImportError) and not frames:
        result.finding = Finding(_explain_import(result, error, workspace))
    elif isinstance(error, AssertionError) and not frames:
        headline = _text(error).split("\nassert ")[0] or "This should be true, and isn't."
        places = answers(headline, test, workspace, exercise, "return")
        result.finding = Finding(headline, places=places)
        result.is_comparison = True
    else:
        try:
            result.finding = _explain_error(result, error, frames, test, workspace)
        except Exception:  # an object of the student's may raise at any question
            result.finding = Finding(_one_line(error), places=tuple(p for _, p in frames[-1:]))
    return result


def _missing_return(
    exercises: Iterable[str], workspace: Workspace, frames: Sequence[tuple[Path, Place]] = ()
) -> Finding | None:
    """Return the message about a function without a result, in files that an error passed.

    `frames` are the lines on the way of the error.
    """
    for exercise in dict.fromkeys(exercises):
        raised = [place.line for path, place in frames if path.stem == exercise]
        ending = without_return(workspace.source(exercise), raised)
        if ending is not None:
            name, line = ending
            place = workspace.line(exercise, line, name)
            sentence = f"`{name}` ends without a `return`, so it returns None."
            return Finding(sentence, places=(place,))
    return None


def _mismatch_places(
    error: Mismatch, exercise: str, test: PublicTest, workspace: Workspace
) -> tuple[Place, ...]:
    if error.place is not None:
        return (error.place,)
    cause = error.__cause__
    part = re.search(_WRONG_PART, error.finding.help)
    used = workspace.use(exercise, part[1]) if part is not None else None
    if used is not None:
        return (used,)
    cuts = cutting(workspace.source(exercise)) if _OFF_GRAPH in error.finding.help else []
    if len(cuts) == 1:
        return (workspace.line(exercise, *cuts[0]),)
    after = re.match(_AFTER, error.finding.headline)
    edited = changed_lists(workspace.source(exercise), after[1]) if after is not None else []
    if after is not None and len(edited) == 1:
        return (workspace.line(exercise, edited[0], after[1]),)
    frames = [place for _, place in workspace.places(cause.__traceback__)] if cause else []
    places = answers(error.finding.headline, test, workspace, exercise, error.points_at)
    if frames and error.points_at == "raise":  # another error came before that of the condition
        return (*(place for place in places if place.source.startswith("if ")), frames[-1])
    return tuple(frames[-1:]) or places


def _explain_import(result: Result, error: ImportError, workspace: Workspace) -> str:
    """Return why the test file could not import a name: the file or the name is missing."""
    module = error.name or ""
    stem = module.rpartition(".")[2]
    result.in_import = True
    result.waits_for = stem if stem in NAMES and stem != result.exercise else ""
    file = workspace.shown(workspace.code_path(stem))
    if isinstance(error, ModuleNotFoundError) and module.startswith(f"{workspace.folder.name}."):
        return f"The file {file} is missing. `grader reset {stem}` restores it."
    if stem in NAMES:
        missing = [n for n in find(stem).entries if f"'{n}'" in _text(error)]
        name = missing[0] if missing else "a name that is needed"
        return f"{file} does not define `{name}`. Was it renamed or deleted?"
    return _one_line(error)


def _explain_error(
    result: Result,
    error: BaseException,
    frames: list[tuple[Any, Place]],
    test: PublicTest,
    workspace: Workspace,
) -> Finding:
    """Return an error raised in the student's code, or by torch at the student's line."""
    syntax = workspace.syntax_place(error) if isinstance(error, SyntaxError) else None
    if syntax is not None:
        frames = [*frames, syntax]
    places: tuple[Place, ...] = ()
    if frames:
        deepest, place = frames[-1]
        own_places = [p for path, p in frames if path.stem == result.exercise]
        way = {(p.file, p.line): p for p in (*own_places[:1], *own_places[-1:], place)}
        places = tuple(way.values())
        result.in_import = syntax is not None or all(not p.inside for _, p in frames)
        missing = (error.name or "").rpartition(".")[2] if isinstance(error, ImportError) else ""
        reason = missing if missing in NAMES else deepest.stem
        if result.in_import and reason in NAMES and reason != result.exercise:
            result.waits_for = reason
    if isinstance(error, TookTooLong):
        return Finding(_ENDLESS, places=places)
    if isinstance(error, RuledOutError):
        return Finding(str(error), help=AT_IMPORT if result.in_import else "", places=places)
    if type_name(error).startswith("Flaky"):
        return replace(_FLAKY, places=places)
    result.is_tests_own = _is_of_test(error, workspace)
    line = _one_line(error)
    left_out = without_super(line, workspace.source(result.exercise))
    if left_out is not None:
        result.names_cause = True
        place = workspace.line(result.exercise, left_out.line, "__init__")
        return Finding(left_out.tells, help=line, places=(place,))
    missing_part = missing_attribute(workspace.source(result.exercise), line)
    if missing_part is not None:
        result.names_cause = True
        sentence, number, inside = missing_part
        place = workspace.line(result.exercise, number, inside)
        line = line if frames else f"{line}, which the test reads"
        return Finding(sentence, help=line, places=(*(p for _, p in frames[-1:]), place))
    exchanged, caller = exchanged_arguments(error.__traceback__, workspace)
    if exchanged:
        result.names_cause = True
        return Finding(exchanged, help=line, places=(caller,) if caller is not None else places)
    if "NoneType" in line:
        returned = _missing_return(
            [*(path.stem for path, _ in reversed(frames)), result.exercise], workspace, frames
        )
        if returned is not None:
            result.names_cause = True
            return replace(returned, help=line)
    if not isinstance(error, NotImplementedError):
        made = constructor_call(error.__traceback__, workspace, result.exercise)
        line = f"{line}\n{made}" if made else line
    width = width_of_layer(error.__traceback__) if "cannot be multiplied" in line else ""
    called = values.uncallable(error.__traceback__, workspace) if "callable" in line else ""
    is_tests_own = isinstance(error, AssertionError) and not _is_theirs(error, workspace)
    if is_tests_own:
        sentence = values.sizes(error.__traceback__, workspace)
        came, lines = origins.of_shapes(error, workspace, result.exercise) if sentence else ("", ())
        result.shows_origin = bool(came)
        headline, help = _text(error).split("\nassert ")[0], f"{sentence} {came}".strip()
        return Finding(headline, help=help, places=(*lines, *places))
    fact = None if called else _fact(line, frames, result.exercise, workspace)
    if fact is not None:
        result.names_cause = True
        made_at = workspace.line(result.exercise, fact.line, "")
        return Finding(f"{fact.tells} {fact.asks}", help=line, places=places or (made_at,))
    hint = called or width or _meaning(line, frames, workspace)
    if "NoneType" in line:
        named = values.nones(error.__traceback__, workspace)
        hint = hint.replace(SOMETHING_IS_NONE, named) if named else hint
    elif _is_own_raise(error, frames, workspace):
        sentence = values.condition(error.__traceback__, workspace)
        sentence = sentence or values.given(error.__traceback__, workspace)
        is_here = frames[-1][0].stem == result.exercise
        kept = kept_by_methods(workspace.source(result.exercise), frames[-1][1].line)
        names = " and ".join(f"`{name}`" for name in kept)
        own = _OWN_RAISE_LATER.format(names) if kept else _OWN_RAISE
        hint = f"{own if is_here else _REFUSED} {sentence}".rstrip()
    elif "does not require grad" in line:
        hint = off_the_graph(workspace.source(result.exercise)) or hint
    elif re.search(r"^\w+Error: .*(?:\bout of bounds\b|\bindex out of range\b)", line):
        counts = _ARGMAX if _COUNTS_ALL in workspace.source(result.exercise) else ""
        lengths = values.lengths(error.__traceback__, workspace) if "range" in line else ""
        hint = " ".join(filter(None, (hint, counts, lengths)))
    elif re.search(_ABOUT_SIZES, line) and not _is_raised(frames):
        sentence = "" if width else values.sizes(error.__traceback__, workspace, result.exercise)
        came, lines = origins.of_shapes(error, workspace, result.exercise)
        for name in origins.as_given(error, workspace) if WHICH_MASK in hint else ():
            hint = hint.replace(WHICH_MASK, _GIVEN_MASK.format(name)) if "mask" in name else hint
        hint = " ".join(
            filter(None, (re.sub(_PRINT, "", hint) if sentence else hint, sentence, came))
        )
        result.shows_origin = bool(came)
        places = (*lines, *places)
    if not frames:
        points_at = "__init__" if "__init__" in hint else "def"
        places = answers(line, test, workspace, result.exercise, points_at)
    return Finding(hint, help=line, places=places) if hint else Finding(line, places=places)


def _meaning(line: str, frames: list[tuple[Any, Place]], workspace: Workspace) -> str:
    if not frames:
        return hint_for(line)
    path, place = frames[-1]
    return hint_for(line, place.source, suggestion(line, workspace.source(path.stem), place.line))


def _fact(
    line: str, frames: list[tuple[Any, Place]], exercise: str, workspace: Workspace
) -> Fact | None:
    """Return what is wrong for certain where "Type: text" was raised; None if unknown."""
    source, entries = workspace.source(exercise), find(exercise).entries
    if not frames:
        return at_call(line, source, entries)
    path, place = frames[-1]
    return at_raise(line, source, place.line, entries) if path.stem == exercise else None


def answers(
    words: str,
    test: PublicTest,
    workspace: Workspace,
    exercise: str,
    points_at: str,
    ran: Collection[int] = (),
) -> tuple[Place, ...]:
    """Return where the answer is made: the entry that the message names, or that the test uses.

    `ran` are the lines that the test runs, if they are known.
    """
    entries = find(exercise).entries
    named = [name for name in re.findall(r"\w+", words) if name in entries]
    used = [entry for entry in test.uses if entry in entries]
    part = re.search(r"`(?:self\.)?(\w+)[\w.]*`", words)
    key = re.search(r"^[^`]*?\byour '(\w+)'", words, re.IGNORECASE)
    for entry in (*named, *used, *entries):
        find_line = workspace.start if re.search(_START, words) else workspace.assignment
        made = find_line(exercise, entry, part[1]) if part else None
        if made is not None and (points_at == "__init__" or "your `" in words):
            return (made,)
        methods = re.findall(rf"\b{entry}\.(\w+)", words) + ([part[1]] if part else [])
        calls = (*methods, "forward", *test.calls)
        place = workspace.answer(exercise, entry, points_at, calls, key[1] if key else "", ran)
        if place is not None:
            return (place,)
    return ()


def _is_raised(frames: list[tuple[Any, Place]]) -> bool:
    """Return whether the student's line, the last on the way, is a `raise`."""
    return bool(frames) and re.search(r"\braise\b", frames[-1][1].source) is not None


def _is_own_raise(
    error: BaseException, frames: list[tuple[Any, Place]], workspace: Workspace
) -> bool:
    """Return whether the student's own `raise` raised it, as a stub does, and not torch."""
    return _is_raised(frames) and _is_theirs(error, workspace)


def _is_theirs(error: BaseException, workspace: Workspace) -> bool:
    """Return whether the student's own line raised it, and no line of torch or of a test."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return (
        traceback is not None
        and workspace.holds_code(traceback.tb_frame.f_code.co_filename) is not None
    )


def _is_of_test(error: BaseException, workspace: Workspace) -> bool:
    """Return whether a line of the test file raised it, such as that of a model it stands in."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    file = Path(traceback.tb_frame.f_code.co_filename) if traceback is not None else Path()
    return workspace.exercise_of(file) is not None


def _unwrapped(error: BaseException) -> BaseException:
    """Return the error itself, out of what pytest and hypothesis wrap around it."""
    if type_name(error) == "CollectError" and error.__cause__ is not None:
        return error.__cause__
    if isinstance(error, BaseExceptionGroup) and not type_name(error).startswith("Flaky"):
        return error.exceptions[0]
    return error


def _smallest_case(error: BaseException) -> str:
    """Return hypothesis's failing arguments, such as "length=1, pad_id=3"."""
    for note in getattr(error, "__notes__", ()):
        head, _, arguments = note.partition("(\n")
        if head.startswith("Falsifying example"):
            return " ".join(
                line.strip() for line in arguments.partition("\n)")[0].splitlines()
            ).rstrip(",")
    return ""


def _one_line(error: BaseException) -> str:
    """ "Type: text", on one line and not too long."""
    text = " ".join(_text(error).split())
    text = text if len(text) <= 300 else f"{text[:300]} ..."
    said_nothing = text == "" or (text == "None" and not isinstance(error, KeyError))
    return type_name(error) if said_nothing else f"{type_name(error)}: {text}"


def _text(error: BaseException) -> str:
    try:
        return error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        return ""
