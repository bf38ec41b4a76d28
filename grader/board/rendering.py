"""The board and the messages above it, as lines of styled text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from grader.board.progress import (
    BLOCKED,
    DONE,
    NOT_RUN,
    PART,
    TODO,
    WRONG,
    Progress,
    next_exercise,
)
from grader.board.result import Result, place_lines
from grader.board.workspace import Workspace
from grader.curriculum import NAMES, find
from grader.feedback import text

if TYPE_CHECKING:
    from grader.board.hints import Shown  # loaded only where somebody asks for a hint

# A line is made of (text, style) pairs; a style is a word of STYLES or "".
Line = list[tuple[str, str]]
STYLES: dict[str, dict[str, bool]] = {
    "": {},
    "title": {"bold": True},
    "quiet": {"light": True},
    "code": {"cyan": True},
    DONE: {"green": True},
    PART: {"green": True},
    WRONG: {"red": True, "bold": True},
    "cell": {"red": True},
    TODO: {},
    BLOCKED: {"yellow": True},
    NOT_RUN: {"light": True},
}
WIDTH = 88


def messages(by_exercise: dict[str, Progress], width: int, in_full: bool) -> Iterator[Line]:
    """What is wrong, exercise by exercise: the first failing test of each in full, or all."""
    for name in NAMES:
        progress = by_exercise.get(name)
        if progress is None or progress.status != WRONG:
            continue
        groups = _grouped(progress.failures())
        shown = len(groups) if in_full else 1
        for group in groups[:shown]:
            yield from message(name, group, width)
        if groups[shown:]:
            yield [(f"{name}: ", WRONG), ("this is wrong, too.", "title")]
            yield []
            for group in groups[shown:]:
                yield from wrapped(group[0].title, width, "  ")
                yield from wrapped(group[0].headline, width, "    ")
            yield []


def board(by_exercise: dict[str, Progress], workspace: Workspace) -> Iterator[Line]:
    """One line an exercise, the points of what is asked for, and what to do next."""
    in_order = [by_exercise[name] for name in NAMES if name in by_exercise]
    if not in_order:
        yield [("No test of an exercise was selected.", "")]
        return
    counted = [one for one in in_order if one.exercise in workspace.assigned] or in_order
    further = [one for one in in_order if one not in counted]
    begun = [one for one in further if one.results and not workspace.is_untouched(one.exercise)]
    shown = [*counted, *begun]
    widths = max(len(one.exercise) for one in shown), max(len(_status(one)) for one in shown)
    for progress in counted:
        yield from _rows(progress, *widths)
    yield []
    yield from _further(begun, [one.exercise for one in further if one not in begun], widths)
    points = sum(progress.points for progress in counted)
    whole = sum(find(progress.exercise).points for progress in counted)
    if points:
        yield [(f"Points: up to {points} of {whole}. ", "title"), (_HONESTLY, "")]
    else:
        nothing = [(f"Points: 0 of {whole}.", "title")]
        some = any(progress.rights() for progress in counted)
        yield [*nothing, (f" {_ALL_OR_NOTHING}", "")] if some else nothing
    yield []
    yield from _next(by_exercise, workspace)


def _further(
    begun: list[Progress], untouched: list[str], widths: tuple[int, int]
) -> Iterator[Line]:
    """What nobody asked for: the rows of what was begun all the same, and the names of the rest."""
    if begun:
        yield [("Not asked for, and begun:", "title")]
        for progress in begun:
            yield from _rows(progress, *widths)
        yield []
    if untouched:
        names = ", ".join(untouched)
        for text, style in (
            (f"Not asked for, and there to try: {names}.", "quiet"),
            ("What the others need of these is taken as it is handed out, solved.", "quiet"),
        ):
            yield from ([(line, style)] for ((line, _),) in wrapped(text, WIDTH, ""))
        yield []


_ALL_OR_NOTHING = "Here an exercise counts once all of its tests are right."
_HONESTLY = "The hidden checks look closer and give the grade."


def _rows(progress: Progress, name_width: int, status_width: int) -> Iterator[Line]:
    worth = find(progress.exercise).points
    points = f"{progress.points:>2} of {worth:>2}"
    note = _note(progress)
    line: Line = [
        (f"  {progress.exercise:<{name_width}}  ", ""),
        (f"{_status(progress):<{status_width}}", progress.status),
        (f"  {points}", ""),
    ]
    yield [*line, (f"   {note}", "quiet")] if note else line
    if note and progress.unwritten():
        names = ", ".join(progress.unwritten())
        yield [(f"  {'':<{name_width}}  not written: {names}", "quiet")]


def _status(progress: Progress) -> str:
    if progress.status != BLOCKED:
        return progress.status
    first, *others = progress.blocked_by
    if not others:
        return f"blocked by {first}"
    return f"blocked by {first} + {len(others)}"


def _note(progress: Progress) -> str:
    run, rights = len(progress.results), progress.rights()
    if progress.status in (DONE, NOT_RUN):
        return ""
    if progress.status == PART:
        return f"{rights} of {len(progress.tests)} tests run"
    notes = []
    if rights or progress.status == WRONG:
        notes.append(f"{rights} of {run} {'test' if run == 1 else 'tests'} right")
    if run < progress.selected:
        notes.append(f"{progress.selected - run} not run")
    return "; ".join(notes)


def _next(by_exercise: dict[str, Progress], workspace: Workspace) -> Iterator[Line]:
    name = next_exercise(by_exercise, workspace.assigned)
    everything = workspace.shown(workspace.folder)
    if name:
        code, tests = (
            workspace.shown(workspace.code_path(name)),
            workspace.shown(workspace.test_path(name)),
        )
        waiting = [n for n, s in by_exercise.items() if name in s.blocked_by]
        reason = f", which {waiting[0]} needs" if waiting and name not in by_exercise else ""
        if (
            name in by_exercise
            and by_exercise[name].status == TODO
            and not workspace.is_untouched(name)
        ):
            reason = ", which still comes to `raise NotImplementedError`"
        yield [(f"Next: {name}{reason}. ", "title"), (f"Edit {code}, then run", "")]
        yield [(f"  pytest {tests}", "code")]
    elif any(progress.status == PART for progress in by_exercise.values()):
        files = [workspace.shown(workspace.test_path(n)) for n in NAMES if n in by_exercise]
        yield [("Next: run all tests, not only some of them.", "title")]
        yield [(f"  pytest {files[0] if len(files) == 1 else everything}", "code")]
    elif not set(workspace.assigned) <= by_exercise.keys():
        yield [("Next: see where the others stand.", "title")]
        yield [(f"  pytest {everything}", "code")]
    else:
        yield [("All done. ", "title"), ("You have written a Transformer by hand.", "")]
        if find_spec("grader.judging") is not None:  # not in the student's edition
            yield [("See what the hidden checks say:", "")]
            yield [(f"  grader grade {everything} --isolation process", "code")]


def message(exercise: str, group: list[Result], width: int) -> Iterator[Line]:
    """One message, given once for all tests that fail in the same way."""
    result = group[0]
    title = result.title if len(group) == 1 else f"{len(group)} tests fail for the same reason."
    yield [(f"{exercise}: ", WRONG), (title, "title")]
    if len(group) == 1:
        yield [(f"  {result.where}", "quiet")]
    yield []
    for line in result.lines():
        yield from _styled(line, width)
    for place in result.places:
        where, *source = place_lines(place)
        yield []
        yield [(f"  {where}", "quiet")]
        yield from ([(f"  {code}", "code")] for code in source)
    if result.printed:
        yield []
        yield [("  Printed by your code:", "quiet")]
        yield from ([(f"    {line}", "")] for line in result.printed.splitlines())
    yield []


def hint_lines(shown: Shown, width: int) -> Iterator[Line]:
    """The hints so far, the newest last, and whether there are more."""
    yield [(f"{shown.exercise}: ", WRONG), (shown.heading, "title")]
    for hint in shown.hints:
        yield []
        yield [(f"  {hint.title}", "title")]
        for line in hint.text.splitlines():
            yield from wrapped(line, width, "  ")
    yield []
    yield [(f"  {shown.note}", "quiet")]
    yield []


def _styled(line: text.Line, width: int) -> Iterator[Line]:
    whole = "".join(piece for piece, _ in line)
    is_grid = whole.startswith("  ")
    if is_grid:
        yield [("  ", ""), *((piece, "cell" if wrong else "") for piece, wrong in line)]
    elif whole:
        yield from wrapped(whole, width, "  ")
    else:
        yield []


def wrapped(text: str, width: int, indent: str) -> Iterator[Line]:
    """A text in lines of readable length, indented."""
    lines = textwrap.wrap(
        text,
        min(width, WIDTH),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        yield [(line, "")]


def _grouped(failures: Iterable[Result]) -> list[list[Result]]:
    """Failures grouped by what is said about them, in order of their first."""
    groups: dict[str, list[Result]] = {}
    for result in failures:
        groups.setdefault(result.text(), []).append(result)
    return list(groups.values())
