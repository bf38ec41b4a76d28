"""What a named mistake looks like in the student's own code: their numbers, and their line.

The numbers are those of a check that the mistake fails. The line is where the code raised; else the
one most like the line that the mistake is made in, if no other is nearly as like it.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from grader.curriculum import mistakes, stubs
from grader.curriculum.mistakes.variants import Variant, variants
from grader.feedback import quoting, text
from grader.feedback.finding import Place
from grader.judging.explanation import quoted
from grader.judging.fingerprints import Library
from grader.report.results import CheckResult, Diagnosis

ALIKE = 0.5  # the weight of what two lines share, of all that is in them
CLEAR = 0.08  # by how much the next line has to be less alike

_WORD = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[@*/+~-]|[<>=!]=|[<>|&]")
_SAME = {"matmul": "@", "bmm": "@", "mm": "@", "div": "/", "mul": "*", "mT": "transpose"}
_SAYS_NOTHING = {"self", "torch", "F", "nn", "return", "Tensor", "functional", "dim", "import"}
_NAME = 0.4  # what the name of a variable counts for, which people choose as they like

_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
Words = Mapping[str, float]


def in_own_words(
    diagnosis: Diagnosis, library: Library, checks: Sequence[CheckResult], source: str
) -> Diagnosis:
    """The diagnosis with what it is seen by, in the results of the checks and in the source."""
    fails = library.fails(diagnosis.mistakes)
    found = [one.finding for one in checks if one.check in fails and one.finding is not None]
    numbers = next(filter(None, map(quoting.numbers, found)), "")
    raised = [one.places for one in found if one.places]
    line = quoting.line(raised[0]) if raised else ""
    if not line:
        place = line_of(diagnosis.mistakes, library.exercise, source)
        line = f"Is it here? {text.place(place)}" if place is not None else ""
    return replace(diagnosis, shows="\n".join(filter(None, (numbers, line))))


def line_of(names: Sequence[str], exercise: str, source: str) -> Place | None:
    """The student's line that is most like those in which these mistakes are made, if one is."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    lines = list(_statements(tree))
    common = Counter(word for one in lines for word in one.words)
    best: dict[int, float] = {}
    for wrong in (one for name in names for one in _made_in(exercise, name)):
        for one in lines:
            score = _likeness(one.words, wrong, common)
            best[one.number] = max(best.get(one.number, 0.0), score)
    if not best:
        return None
    (number, score), *others = sorted(best.items(), key=lambda item: -item[1])
    if score < ALIKE or (others and score - others[0][1] < CLEAR):
        return None
    return Place(f"{exercise}.py", number, quoted(source, number))


@dataclass(frozen=True)
class _Line:
    number: int
    words: Words


def _statements(tree: ast.AST) -> Iterator[_Line]:
    """Every simple statement of a function, and what the others begin with."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While)):
            yield _Line(node.lineno, _words(ast.unparse(node.test)))
        elif isinstance(node, ast.For):
            yield _Line(node.lineno, _words(f"for {ast.unparse(node.iter)}"))
        elif isinstance(node, _SIMPLE) and not isinstance(node.value, (ast.Constant, type(None))):
            yield _Line(node.lineno, _words(ast.unparse(node)))


@cache
def _made_in(exercise: str, name: str) -> list[Words]:
    """The lines that the mistake changes, as they are with it."""
    forms = {"": stubs.reference_source(exercise), **mistakes.forms(exercise)}
    before = {line for source in forms.values() for line in _simple(source)}
    wrong = [one.source for one in _all(exercise) if name in one.mistakes]
    return [_words(line) for source in wrong for line in _simple(source) if line not in before]


@cache
def _all(exercise: str) -> list[Variant]:
    return variants(exercise)


def _simple(source: str) -> list[str]:
    """The simple statements of a source, each on one line."""
    tree = ast.parse(source)
    return [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, _SIMPLE)]


def _words(code: str) -> Words:
    """What a line is made of; the names that people choose count for less."""
    called = set(re.findall(r"\.(\w+)|(\w+)\(", code))
    known = {part for pair in called for part in pair}
    return {
        _SAME.get(word, word): 1.0 if word in known or not word.isidentifier() else _NAME
        for word in _WORD.findall(code)
        if word not in _SAYS_NOTHING
    }


def _likeness(mine: Words, wrong: Words, common: Counter[str]) -> float:
    """The weight of the words in both, of that of all; a word that is everywhere tells little."""

    def weight(words: Iterable[str]) -> float:
        shares = (
            max(mine.get(one, 0.0), wrong.get(one, 0.0)) / math.sqrt(max(1, common[one]))
            for one in words
        )
        return sum(shares)

    whole = weight(mine.keys() | wrong.keys())
    return weight(mine.keys() & wrong.keys()) / whole if whole else 0.0
