"""The board and the messages above it, as lines of styled text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from grader.board.progress import (
    BLOCKED,
    CHANGED,
    DONE,
    NOT_RUN,
    PART,
    TODO,
    WRONG,
    Progress,
    has_hidden_checks,
    next_exercise,
)
from grader.board.result import Result, place_lines
from grader.board.workspace import Workspace
from grader.curriculum import NAMES, architecture, find
from grader.curriculum.rules import listed
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
    CHANGED: {"yellow": True},
    NOT_RUN: {"light": True},
}
WIDTH = 80
# Where to see the failing tests that are not shown.
_REST: Line = [(" To see all: --tb=long", "quiet")]


def messages(
    by_exercise: dict[str, Progress], width: int, in_full: bool, rest: Line = _REST
) -> Iterator[Line]:
    """Yield what is wrong, exercise by exercise: the first failing test of each, or all of them."""
    for name in NAMES:
        progress = by_exercise.get(name)
        if progress is None or progress.status != WRONG:
            continue
        groups = grouped(progress.failures())
        shown = len(groups) if in_full else 1
        for group in groups[:shown]:
            yield from message(name, group, width)
        count = sum(map(len, groups[shown:]))
        if count:
            yield [(f"{name}: ", WRONG), (others_fail(count), "title"), *rest]
            yield []


def behind_others(progress: Progress, width: int) -> Iterator[Line]:
    """Yield what is wrong in an exercise that builds on others that aren't right, and says so."""
    needs = listed(progress.blocked_by)
    wrong = "isn't right" if len(progress.blocked_by) == 1 else "aren't right"
    own = progress.own_failures()
    if own:
        yield from message(progress.exercise, own[:1], width)
    yield [(f"{progress.exercise} builds on {needs}, which {wrong} yet: start there.", BLOCKED)]


def others_fail(count: int) -> str:
    """Return the sentence on failing tests that are not shown."""
    tests = "one more test fails" if count == 1 else f"{count} more tests fail"
    return f"{tests}, perhaps for the same reason."


def board(by_exercise: dict[str, Progress], workspace: Workspace) -> Iterator[Line]:
    """Yield one line per exercise, the points of the assigned ones, and what to do next."""
    yield from overview(by_exercise, workspace)
    if by_exercise:
        yield []
        yield from _next(by_exercise, workspace)


def overview(by_exercise: dict[str, Progress], workspace: Workspace) -> Iterator[Line]:
    """Yield one line per exercise, and the points of the assigned ones."""
    in_order = [by_exercise[name] for name in NAMES if name in by_exercise]
    if not in_order:
        yield [("No test of an exercise was selected.", "")]
        return
    counted = [row for row in in_order if row.exercise in workspace.assigned] or in_order
    further = [row for row in in_order if row not in counted]
    begun = [row for row in further if row.results and not workspace.is_untouched(row.exercise)]
    shown = [*counted, *begun]
    widths = max(len(row.exercise) for row in shown), max(len(_status(row)) for row in shown)
    for progress in counted:
        yield from _rows(progress, workspace, *widths)
    yield []
    yield from _architecture(shown, workspace)
    untouched = [row.exercise for row in further if row not in begun]
    yield from _further(begun, untouched, workspace, widths)
    yield from _sum(counted)
    yield from _payoff(by_exercise, workspace)


def _payoff(by_exercise: dict[str, Progress], workspace: Workspace) -> Iterator[Line]:
    """Yield what a finished `attention` is already good for, until `multi_head` is done as well."""
    done = {name for name, progress in by_exercise.items() if progress.status == DONE}
    has_masks = workspace.code_path("masks").is_file()
    if "attention" in done and "multi_head" not in done and has_masks:
        folder = workspace.shown(workspace.folder)
        where = "" if folder == "exercises" else f" {folder}"
        yield []
        yield [("Your attention can already learn to sort digits, ", "title"), ("in 30 s:", "")]
        yield [(f"  grader capstone{where} --task sort", "code")]


def _sum(counted: list[Progress]) -> Iterator[Line]:
    """Yield the points, or, where there are no hidden checks to earn them, how far it is."""
    if not has_hidden_checks():
        done = sum(progress.status == DONE for progress in counted)
        passed = f"All public tests pass in {done} of {len(counted)}"
        exercises = "exercise" if len(counted) == 1 else "exercises"
        yield [(f"{passed} {exercises}.", "title"), (f" {_HONESTLY}" if done else "", "")]
        return
    points = sum(progress.points for progress in counted)
    whole = sum(find(progress.exercise).points for progress in counted)
    if points:
        yield [(f"Points: up to {points} of {whole}. ", "title"), (_HONESTLY, "")]
    else:
        nothing = [(f"Points: 0 of {whole}.", "title")]
        is_any_passed = any(progress.rights() for progress in counted)
        yield [*nothing, (f" {_ALL_OR_NOTHING}", "")] if is_any_passed else nothing


def _architecture(shown: Sequence[Progress], workspace: Workspace) -> Iterator[Line]:
    """Yield the parts of a Transformer with what is done, once every assigned exercise was run."""
    run = {row.exercise for row in shown if row.status not in (NOT_RUN, PART)}
    done = {row.exercise for row in shown if row.status == DONE}
    if not done or len(workspace.assigned) == 1 or not set(workspace.assigned) <= run:
        return
    yield [("The Transformer so far ", "title"), (_MARKS, "quiet")]
    for left, right in architecture.rows(done, run):
        line: Line = [("  ", "")]
        for (name, state), width in ((left, 20), (right, 0)):
            mark, style = _STATES[state] if name else (" ", "")
            line += [(f"{mark} ", style), (f"{name:<{width}}", "")]
        yield line
    yield []


def _further(
    begun: list[Progress], untouched: list[str], workspace: Workspace, widths: tuple[int, int]
) -> Iterator[Line]:
    """Yield what is not assigned: rows for what was begun, and the names of the rest."""
    if begun:
        yield [("Not assigned, but started:", "title")]
        for progress in begun:
            yield from _rows(progress, workspace, *widths)
        yield []
    if untouched:
        names = ", ".join(untouched)
        for text, style in (
            (f"Not assigned, but there to try: {names}.", "quiet"),
            ("Where other exercises need one of these, a right answer takes its place.", "quiet"),
        ):
            yield from ([(line, style)] for ((line, _),) in wrapped(text, WIDTH, ""))
        yield []


_STATES = {
    architecture.DONE: ("✓", DONE),
    architecture.BEGUN: ("□", DONE),
    architecture.OPEN: ("□", ""),
    architecture.PROVIDED: ("·", "quiet"),
}
_MARKS = "(✓ tests pass, □ to do, · not assigned: the kit's own)"
# The state of an exercise where there are no hidden checks.
ALL_PASS = "all public tests pass"
_ALL_OR_NOTHING = "Here an exercise counts once all of its tests pass."
_HONESTLY = "The hidden checks test more and give the grade."


def _rows(
    progress: Progress, workspace: Workspace, name_width: int, status_width: int
) -> Iterator[Line]:
    worth = find(progress.exercise).points
    points = f"  {progress.points:>2} of {worth:>2}" if has_hidden_checks() else ""
    note = _note(progress)
    line: Line = [
        (f"  {progress.exercise:<{name_width}}  ", ""),
        (f"{_status(progress):<{status_width if note or points else 0}}", progress.status),
        (points, ""),
    ]
    yield [*line, (f"   {note}", "quiet")] if note else line
    if note and progress.unwritten():
        missing = workspace.unwritten(progress.exercise) or progress.unwritten()
        indent = f"  {'':<{name_width}}  "
        names = f"not written: {', '.join(missing)}"
        yield from ([(text, "quiet")] for ((text, _),) in wrapped(names, WIDTH, indent))


def _status(progress: Progress) -> str:
    if progress.status == DONE and not has_hidden_checks():
        return ALL_PASS
    if progress.status != BLOCKED:
        return progress.status
    first, *further = progress.blocked_by
    if not further:
        return f"blocked by {first}"
    return f"blocked by {first} + {len(further)}"


def _note(progress: Progress) -> str:
    run, rights = len(progress.results), progress.rights()
    if progress.status in (DONE, NOT_RUN):
        return ""
    if progress.status == PART:
        return f"{rights} of {len(progress.tests)} tests run"
    notes = []
    if rights or progress.status == WRONG:
        notes.append(f"{rights} of {run} {'test' if run == 1 else 'tests'} passed")
    if run < progress.selected:
        notes.append(f"{progress.selected - run} not run")
    return "; ".join(notes)


def _next(by_exercise: dict[str, Progress], workspace: Workspace) -> Iterator[Line]:
    name = next_exercise(by_exercise, workspace.assigned)
    everything = workspace.shown(workspace.folder)
    if name in by_exercise and by_exercise[name].status == CHANGED:
        yield from restoring(name, workspace)
    elif name:
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
            reason = ", which still reaches `raise NotImplementedError`"
        yield [(f"Next: {name}{reason}. ", "title"), (f"Edit {code}, then run", "")]
        yield [(f"  pytest {tests}", "code")]
    elif any(progress.status == PART for progress in by_exercise.values()):
        files = [workspace.shown(workspace.test_path(n)) for n in NAMES if n in by_exercise]
        yield [("Next: run all tests.", "title")]
        yield [(f"  pytest {files[0] if len(files) == 1 else everything}", "code")]
    elif not set(workspace.assigned) <= by_exercise.keys():
        yield [("Next: see where the other exercises stand.", "title")]
        yield [(f"  pytest {everything}", "code")]
    elif has_hidden_checks():
        yield [("All done. ", "title"), ("You have written a Transformer by hand.", "")]
        yield [("To see what the hidden checks say:", "")]
        yield [(f"  grader grade {everything} --isolation process", "code")]
    else:
        yield [("All public tests pass. ", "title"), ("Every assigned exercise is written.", "")]


def restoring(name: str, workspace: Workspace) -> Iterator[Line]:
    """Yield what to do about tests that are not those that were handed out."""
    file = workspace.shown(workspace.test_path(name))
    yield [(f"{file} is not as it was handed out. ", "title"), ("To restore it:", "")]
    yield [(f"  grader reset test_{name}", "code")]


def message(exercise: str, group: list[Result], width: int) -> Iterator[Line]:
    """Yield one message, given once for all tests that fail in the same way."""
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
    """Yield the hints so far, the newest last, and whether there are more."""
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
    """Yield a text in lines of readable length, indented."""
    for line in _wrap(text, min(width, WIDTH), indent, indent):
        yield [(line, "")]


def fitted(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines, none longer than `WIDTH` columns."""
    for line in lines:
        whole = "".join(text for text, _ in line)
        if len(whole) <= WIDTH:
            yield line
        elif all(style == "code" for _, style in line):
            indent = " " * (len(whole) - len(whole.lstrip()))
            for text in _wrap(whole.strip(), WIDTH, indent, indent + "    ", words=True):
                yield [(text, "code")]
        else:
            indent = " " * (len(whole) - len(whole.lstrip()))
            yield from _restyled(line, _wrap(whole.strip(), WIDTH, indent, indent + "  "))


def _restyled(line: Line, wrapped: list[str]) -> Iterator[Line]:
    """Yield the pieces of a line, broken where `wrapped` breaks its text."""
    styles = [style for piece, style in line for letter in piece if letter != " "]
    number = 0
    for row in wrapped:
        pieces: Line = []
        for letter in row:
            style = pieces[-1][1] if letter == " " and pieces else ""
            if letter != " ":
                style, number = styles[number], number + 1
            if pieces and pieces[-1][1] == style:
                pieces[-1] = (pieces[-1][0] + letter, style)
            else:
                pieces.append((letter, style))
        yield pieces


def _wrap(text: str, width: int, first: str, following: str, words: bool = False) -> list[str]:
    """Return the text in lines; with `words`, one that is longer than a line is broken, too."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=words,
        break_on_hyphens=False,
    )


def grouped(failures: Iterable[Result]) -> list[list[Result]]:
    """Return failures grouped by their message, in the order of the first of each group."""
    groups: dict[str, list[Result]] = {}
    for result in failures:
        groups.setdefault(result.text(), []).append(result)
    return list(groups.values())
