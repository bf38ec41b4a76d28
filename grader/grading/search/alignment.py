"""Where a student's source differs from a right answer that is nearly the same.

Many students write what the paper's formulas and the stub's docstring suggest, statement by
statement. What is wrong is then in one of the few statements in which a right answer differs, since
all the others are right together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache

from grader.curriculum import mistakes, stubs
from grader.recognition.likeness import parsed, without_texts

MOST = 300  # statements
NEARLY = 0.7  # the share of the statements that have to be the same
FEW = 4  # statements that may differ
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Statement:
    """A simple statement, or the head of a compound one, and the lines it is on.

    `place` says which blocks contain it; the same text in another is not the same statement.
    """

    place: str
    text: str
    first: int
    last: int


# By line, the statements that a right answer has there.
Differences = dict[int, str]


def differences(exercise: str, source: str) -> Differences | None:
    """Return the lines that differ from the nearest right answer, with what it has there.

    None if no right answer is nearly the same, or if the source isn't Python or is too long.
    """
    changes = _changes(exercise, source)
    if changes is None:
        return None
    differing: Differences = {}
    for change in changes:
        for line in change.there:
            differing.update(dict.fromkeys(range(line.first, line.last + 1), change.wanted))
    return differing


def has_one_fault(exercise: str, source: str) -> bool:
    """Return whether a source is a right answer apart from one place within one statement."""
    changes = _changes(exercise, source) or []
    if sum(change.count for change in changes) != 1:
        return False
    (change,) = changes
    own, wanted = _WORD.findall(change.own), _WORD.findall(change.wanted)
    steps = SequenceMatcher(None, own, wanted, autojunk=False).get_opcodes()
    return [kind == "equal" for kind, *_ in steps].count(False) == 1


@dataclass(frozen=True)
class _Change:
    """Statements in a row that a right answer has otherwise: `own` in place of those `wanted`.

    There are `count` of them, on the lines of `there`. If something is missing, these are the
    statements around the gap.
    """

    own: str
    wanted: str
    count: int
    there: Sequence[Statement]


@lru_cache(maxsize=16)
def _changes(exercise: str, source: str) -> list[_Change] | None:
    """Return what differs from the nearest right answer; None as `differences` does."""
    own = _statements(source)
    if not own:
        return None
    texts = [(line.place, line.text) for line in own]
    matchers = [
        (SequenceMatcher(None, texts, right, autojunk=False), right) for right in _right(exercise)
    ]
    best, right = max(matchers, key=lambda matcher: matcher[0].ratio())
    if best.ratio() < NEARLY:
        return None
    changes = [
        _Change(
            "\n".join(text for _, text in texts[start:end]),
            "\n".join(text for _, text in right[begin:stop]),
            max(end - start, stop - begin),
            own[start:end] or own[max(start - 1, 0) : start + 1],
        )
        for kind, start, end, begin, stop in best.get_opcodes()
        if kind != "equal"
    ]
    return changes if sum(change.count for change in changes) <= FEW else None


def is_right(exercise: str, source: str) -> bool:
    """Return whether a source is a right answer, apart from comments and docstrings."""
    return without_texts(source) in _right_texts(exercise)


@cache
def _right_texts(exercise: str) -> frozenset[str]:
    return frozenset(map(without_texts, _right_sources(exercise))) - {""}


@cache
def _right(exercise: str) -> list[list[tuple[str, str]]]:
    return [
        [(line.place, line.text) for line in _statements(source)]
        for source in _right_sources(exercise)
    ]


def _right_sources(exercise: str) -> tuple[str, ...]:
    return (stubs.reference_source(exercise), *mistakes.forms(exercise).values())


def _statements(source: str) -> list[Statement]:
    """Return the statements in their order, but for texts that stand alone."""
    try:
        placed = [*_placed(parsed(source))]
        if len(placed) > MOST:
            return []
        return [_statement(node, place) for node, place in placed if not _is_text(node)]
    except RecursionError:
        return []


def _placed(node: ast.AST, place: str = "") -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements inside a node in their order, each with its place."""
    for name, children in ast.iter_fields(node):
        for child in children if isinstance(children, list) else ():
            if isinstance(child, ast.stmt):
                yield child, place + name[0]
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield from _placed(child, place + name[0])


def _statement(node: ast.stmt, place: str) -> Statement:
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    text = ast.unparse(node)
    if body:
        head = 1 + len(getattr(node, "decorator_list", ()))
        text = "\n".join(text.splitlines()[:head])
    return Statement(place, text, node.lineno, max(node.lineno, last))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
