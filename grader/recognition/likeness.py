"""The line of somebody's code that is most similar to one where a known mistake is made.

Lines are compared by their words: calls, operators, numbers and, with less weight, names that
people choose freely. Words are stored as short hashes, so that a student's machine can recognise a
wrong line without being able to show it.
"""

from __future__ import annotations

import ast
import copy
import math
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.recognition.thresholds import (
    ALIKE,
    AS_IT_SHOULD_BE,
    CLEAR,
    NAME,
    THE_SAME,
    UNLIKE_WRONG,
)

# Answers have a few thousand characters and at most 1,400 nodes, 17 deep. Far larger sources are
# not read, since much here takes quadratic time.
MAX_SOURCE, MAX_NODES, MAX_DEPTH = 60_000, 5_000, 60
_MAX_BITS = 10_000  # Python refuses to write longer numbers
# Python takes quadratic time for a row of combining marks.
_LONG_ROW = re.compile(r"[^\x00-\x7f]{2000}")
# Of the patterns of known mistakes many begin inside a word, and try it from each of its letters.
_LONG_WORD = re.compile(r"\w{300}")

_WORD = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[@*/+~-]|[<>=!]=|[<>|&]")
_SAME = {"matmul": "@", "bmm": "@", "mm": "@", "div": "/", "mul": "*", "mT": "transpose"}
_SAYS_NOTHING = {"self", "torch", "F", "nn", "return", "Tensor", "functional", "dim", "import"}
_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)

# The words of a line: the weight of each, by its hash.
Words = Mapping[int, float]


@dataclass(frozen=True)
class Change:
    """The lines that a mistake removes from a right answer, and those that it adds."""

    right: Sequence[Words]
    wrong: Sequence[Words]


def words(code: str) -> Words:
    """Return what a line is made of."""
    # Without the boundary, a long name would be searched from each of its letters.
    called = {part for pair in re.findall(r"\.(\w+)|\b(\w+)\(", code) for part in pair}
    return {
        zlib.crc32(_SAME.get(word, word).encode()) & 0xFFFF: 1.0
        if word in called or not word.isidentifier()
        else NAME
        for word in _WORD.findall(code)
        if word not in _SAYS_NOTHING
    }


@lru_cache(maxsize=16)
def parsed(source: str | bytes) -> ast.Module:
    """Somebody's source as a tree; an empty one where it is no Python, too long or too deep.

    Many ask for the same one after the other, so they share it: it is not to be changed.
    """
    return _parsed(source)


def walk(tree: ast.AST) -> list[ast.AST]:
    """Return what `ast.walk` yields, kept for each function: no tree from `parsed` changes."""
    if "nodes" in vars(tree):
        return tree.nodes  # type: ignore[attr-defined, no-any-return]
    listed = [tree]
    for node in listed:
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                listed.append(value)
            elif isinstance(value, list):
                listed += [part for part in value if isinstance(part, ast.AST)]
    if isinstance(tree, ast.Module | ast.FunctionDef):
        tree.nodes = listed  # type: ignore[union-attr]
    return listed


def _parsed(source: str | bytes) -> ast.Module:
    try:
        with warnings.catch_warnings():  # on a student's code, which are not ours to print
            warnings.simplefilter("ignore")
            text = source if isinstance(source, str) else source.decode("utf-8", "replace")
            if len(source) > MAX_SOURCE or _LONG_ROW.search(text):
                return ast.Module([], [])
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
    if not _can_be_read(tree):
        return ast.Module([], [])
    for node in [tree, *tree.body]:
        if isinstance(node, ast.Module | ast.ClassDef):
            node.body = _without_replaced(node.body)
    return tree


def _without_replaced(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return a body without what a later function or class of the same name replaces, unread.

    People keep an earlier version above the one that counts.
    """
    made = [getattr(node, "name", "") for node in body]
    if len({*made} - {""}) == len(made) - made.count(""):
        return body
    reads = [{part.id for part in ast.walk(node) if isinstance(part, ast.Name)} for node in body]
    decorated = {made[n] for n, node in enumerate(body) if getattr(node, "decorator_list", ())}
    left = []
    for number, node in enumerate(body):
        name, later = made[number], made[number + 1 :]
        if name not in later or name in decorated or not name:
            left.append(node)
            continue
        end = number + 1 + later.index(name)
        bases = {ast.unparse(base) for base in getattr(body[end], "bases", ())}
        if any(name in read for read in reads[number + 1 : end]) or name in bases:
            left.append(node)
    return left


def _can_be_read(tree: ast.Module) -> bool:
    """Return whether a tree has no more nodes, levels and digits than an answer can have.

    And whether Python can write it: not if `f"{'\xa0'}"` would need a backslash.
    """
    level: list[ast.AST] = [tree]
    formatted: list[ast.AST] = []
    count = depth = 0
    while level:
        count, depth = count + len(level), depth + 1
        if count > MAX_NODES or depth > MAX_DEPTH:
            return False
        below: list[ast.AST] = []
        for node in level:
            if isinstance(node, ast.JoinedStr):
                formatted.append(node)
            for field in node._fields:
                value = getattr(node, field, None)
                if isinstance(value, ast.AST):
                    below.append(value)
                elif isinstance(value, list):
                    below += [part for part in value if isinstance(part, ast.AST)]
                elif isinstance(value, int) and value.bit_length() > _MAX_BITS:
                    return False
        level = below
    try:
        for node in formatted:
            ast.unparse(node)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=16)
def without_texts(source: str) -> str:
    """Somebody's source as Python writes it, without comments and docstrings.

    Empty where a word is far longer than those of an answer.
    """
    try:
        code = ast.unparse(_bare(parsed(source)))
    except RecursionError:
        return ""
    return "" if _LONG_WORD.search(code) else code


def _bare(node: ast.AST) -> ast.AST:
    """Return a statement, or what holds some, without the texts that stand alone in it."""
    bare = copy.copy(node)
    for field in _BLOCKS.intersection(node._fields):
        parts = getattr(node, field)
        if isinstance(parts, list):
            is_body = field == "body"
            setattr(bare, field, [_bare(x) for x in parts if not (is_body and is_text(x))])
    return bare


def ruled_out(source: str, needs: Mapping[str, str], denials: Mapping[str, str]) -> frozenset[str]:
    """Return the mistakes that `needs` rules out: the pattern is missing, or its denial is there.

    Return none if there is no source.
    """
    if not source:
        return frozenset()
    code = without_texts(source)
    lacking = {name for name, where in needs.items() if not re.search(where, code)}
    denied = {name for name, unless in denials.items() if re.search(unless, code)}
    return frozenset(lacking | denied)


def is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or another value that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def simple_statements(source: str) -> list[tuple[int, str]]:
    """Return the simple statements but for docstrings: the line that each is on, and its text."""
    return [
        (node.lineno, ast.unparse(node))
        for node in walk(parsed(source))
        if isinstance(node, _SIMPLE) and not is_text(node)
    ]


def likely_line(source: str, wrong: Iterable[Words], excluded: Collection[int] = ()) -> int | None:
    """Return the number of the line that is most like one of the wrong ones, and not `excluded`.

    None if no line is like them, if a second one is nearly as similar, or if the source isn't
    Python, is too long or too deep.
    """
    try:
        lines = [line for line in _lines(parsed(source)) if line[0] not in excluded]
    except RecursionError:
        return None
    common = Counter(word for _, made_of in lines for word in made_of)
    best: dict[int, float] = {}
    for words_of_wrong in wrong:
        for number, made_of in lines:
            best[number] = max(best.get(number, 0.0), _likeness(made_of, words_of_wrong, common))
    if not best:
        return None
    (number, score), *further = sorted(best.items(), key=lambda item: -item[1])
    clear = not further or score - further[0][1] >= CLEAR
    return number if score >= ALIKE and clear else None


class Lines:
    """The lines of a source, to be compared with those that mistakes change."""

    def __init__(self, source: str) -> None:
        try:
            self.lines = [made_of for _, made_of in _lines(parsed(source))]
        except RecursionError:
            self.lines = []
        self.common = Counter(word for made_of in self.lines for word in made_of)

    def correct(self, changes: Iterable[Change]) -> bool:
        """Return whether the source has the line that a mistake changes in its right form.

        False if the source may have a form of the mistake that no line can rule out: one that only
        removes lines, not all of which are in the source, that only adds lines, some of which are,
        or that only changes the heads of compound statements. A line may be right and never called.
        """
        scores = []
        for change in changes:
            if change.right and change.wrong:
                scores.append((self._nearest(change.right), self._nearest(change.wrong)))
            elif self._has(change.wrong) or (not change.wrong and not self._has(change.right)):
                return False
        if not scores:
            return False
        right, wrong = max(scores, key=lambda score: score[1] - score[0])
        return right >= AS_IT_SHOULD_BE and right - wrong >= UNLIKE_WRONG

    def made(self, changes: Iterable[Change]) -> bool:
        """Return whether the source has a line that a mistake adds, or lacks one that it removes.

        It has it if a line of the source is more like that one than like the right one. True if no
        line tells, as where only the head of a compound statement changes.
        """
        telling = [change for change in changes if change.right or change.wrong]
        return not telling or any(map(self._made, telling))

    def _made(self, change: Change) -> bool:
        if not change.wrong:
            return not self._has(change.right)
        nearest = self._nearest(change.wrong)
        return nearest >= AS_IT_SHOULD_BE and nearest > self._nearest(change.right)

    def _has(self, lines: Sequence[Words]) -> bool:
        return bool(lines) and all(self._nearest([line]) >= THE_SAME for line in lines)

    def _nearest(self, lines: Iterable[Words]) -> float:
        pairs = ((own, line) for line in lines for own in self.lines)
        return max((_likeness(own, line, self.common) for own, line in pairs), default=0.0)


def _lines(tree: ast.AST) -> Iterator[tuple[int, Words]]:
    """Yield every simple statement, and what the others begin with, by the number of its line."""
    for node in walk(tree):
        if isinstance(node, (ast.If, ast.While)):
            yield node.lineno, words(ast.unparse(node.test))
        elif isinstance(node, ast.For):
            yield node.lineno, words(f"for {ast.unparse(node.iter)}")
        elif isinstance(node, _SIMPLE) and not isinstance(node.value, (ast.Constant, type(None))):
            yield node.lineno, words(ast.unparse(node))


def _likeness(made_of: Words, wrong: Words, common: Counter[int]) -> float:
    """Return the weighted share of common words; words that are everywhere weigh little."""

    def weight(chosen: Iterable[int]) -> float:
        shares = (
            max(made_of.get(word, 0.0), wrong.get(word, 0.0)) / math.sqrt(max(1, common[word]))
            for word in chosen
        )
        return sum(shares)

    whole = weight(made_of.keys() | wrong.keys())
    return weight(made_of.keys() & wrong.keys()) / whole if whole else 0.0


def packed(lines: Sequence[Words]) -> list[list[tuple[int, float]]]:
    """Return the lines as lists of pairs, which any format can hold."""
    return [list(line.items()) for line in lines]


def unpacked(lines: Iterable[Iterable[tuple[int, float]]]) -> list[Words]:
    """Return the inverse of `packed`."""
    return [dict(line) for line in lines]
