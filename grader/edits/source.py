"""A student's source with its syntax tree: the places of nodes, and the edited text."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from grader.edits.signatures import Signatures, signatures
from grader.recognition.functions import defaults
from grader.recognition.likeness import parsed

MAX_SHOWN = 100
REACH = 300  # bytes that the statement of an edit may have on either side of it
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_NUMBER = re.compile(r"-?\d[\d.e-]*")
# Names that reach beyond the process or start something beside it: without a jail, an edit could
# turn them against anything, and nothing ends a thread.
_OUTSIDE = {
    "os", "shutil", "subprocess", "pathlib", "tempfile", "socket", "open", "exec", "eval",
    "concurrent", "multiprocessing", "threading",
}  # fmt: skip
# `torch.save` writes a file without an audit event.
_SAVES = "save"


@dataclass(frozen=True)
class Edit:
    """One small edit: its line, its kind, what it replaces with what, and where.

    `text` replaces the bytes from `start` to `end`, and likewise at `others`. The lower the `rank`,
    the likelier is such a fault in a beginner's code. `file` is the name of the file or cell, and
    `more` are the other lines that are edited at the same time.
    """

    line: int
    kind: str
    was: str
    becomes: str
    start: int
    end: int
    text: str
    rank: int
    others: tuple[tuple[int, int, str], ...] = ()
    file: str = ""
    more: tuple[int, ...] = ()


@dataclass
class Scope:
    """A function, and the names that its code can use.

    `names` are its arguments and variables, `idle` the arguments that it never reads; `own` are the
    attributes that its class sets, `idle_own` those that nothing reads.
    """

    function: ast.FunctionDef
    names: tuple[str, ...]
    idle: tuple[str, ...]
    own: tuple[str, ...] = ()
    idle_own: tuple[str, ...] = ()
    nodes: list[ast.AST] = field(default_factory=list)

    @cached_property
    def defaults(self) -> dict[str, str]:
        """The arguments whose default is a number, by that number as it is written."""
        return {
            ast.unparse(default): argument.arg
            for argument, default in defaults(self.function)
            if _NUMBER.fullmatch(ast.unparse(default))
        }

    @cached_property
    def demanded(self) -> set[ast.AST]:
        """What its assertions demand to be equal.

        If such a demand is wrong, dropping it is the fix; other edits only let other values pass.
        """
        demands = [node.test for node in self.nodes if isinstance(node, ast.Assert)]
        return {
            node
            for test in demands
            if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)
            for node in ast.walk(test)
        }

    @cached_property
    def counted_back(self) -> set[ast.AST]:
        """The number in an index such as `-1`: that one is edited as a whole.

        With 0 for 1, the index would count from the other end.
        """
        indices = [node.slice for node in self.nodes if isinstance(node, ast.Subscript)]
        return {
            part.operand
            for index in indices
            for part in ast.walk(index)
            if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub)
        }


class Source:
    """A parsed source. One that isn't Python, is too long or too deep has an empty tree."""

    def __init__(self, text: str) -> None:
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")
        self.bytes = text.encode()
        self.tree = parsed(text)
        self.starts = [0]
        for position, byte in enumerate(self.bytes):
            if byte == 10:
                self.starts.append(position + 1)

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends, in bytes."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def line(self, position: int) -> int:
        """Return the number of the line that a byte is on."""
        return bisect_right(self.starts, position)

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.bytes[start:end].decode()

    def replaced(self, node: ast.expr, kind: str, text: str, rank: int) -> Edit:
        """Return the edit that puts another expression in an expression's place."""
        start, end = self.span(node)
        was = self.segment(node)
        return Edit(node.lineno, kind, _short(was), _short(text), start, end, f"({text})", rank)

    def restated(
        self, first: ast.stmt, last: ast.stmt, kind: str, text: str, becomes: str, rank: int
    ) -> Edit:
        """Return the edit that replaces the statements from `first` to `last` with `text`."""
        (start, _), (_, end) = self.span(first), self.span(last)
        was = _short(self.segment(first))
        return Edit(first.lineno, kind, was, _short(becomes), start, end, text, rank)

    def edited(self, *edits: Edit) -> str:
        """Return the text with these edits carried out. Raises `ValueError` where two overlap."""
        places = sorted(
            place for edit in edits for place in ((edit.start, edit.end, edit.text), *edit.others)
        )
        if any(end > start for (_, end, _), (start, _, _) in pairwise(places)):
            raise ValueError("two edits of the same place")
        edited = self.bytes
        for start, end, text in reversed(places):
            edited = edited[:start] + text.encode() + edited[end:]
        return edited.decode()

    def which(self, edit: Edit) -> str:
        """Return which one an edit is of, if its line has the same code several times: "second"."""
        start = self.starts[edit.line - 1] if edit.line <= len(self.starts) else 0
        line = self.bytes[start:].partition(b"\n")[0]
        same = rb"(?<![\w.])%s(?!\w|\.\d)" % re.escape(edit.was.encode())
        begins = [start + found.start() for found in re.finditer(same, line)]
        if edit.others or edit.start not in begins or len(begins) == 1:
            return ""
        return dict(zip(begins, _ORDINALS, strict=False)).get(edit.start, "")

    def around(self, edit: Edit) -> tuple[str, str]:
        """Return the text around the first place of an edit, before and after the edit."""
        before = self.bytes[max(edit.start - REACH, 0) : edit.start]
        was, after = self.bytes[edit.start : edit.end], self.bytes[edit.end : edit.end + REACH]
        texts = before + was + after, before + edit.text.encode() + after
        return texts[0].decode(errors="replace"), texts[1].decode(errors="replace")

    def whole(self, lines: set[int]) -> set[int]:
        """Return all lines of the statements that contain these lines, and what runs at import."""
        numbers: set[int] = set()
        inside = {id(node) for scope in self.scopes for node in ast.walk(scope.function)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None)
                end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
                span = set(range(node.lineno, max(end, node.lineno) + 1))
                if span & lines or id(node) not in inside:
                    numbers |= span
        return numbers

    @cached_property
    def signatures(self) -> Signatures:
        """What the calls in it can take."""
        return signatures(self.tree)

    @cached_property
    def scopes(self) -> list[Scope]:
        """Every function with its names, those inside others last."""
        scopes: list[Scope] = []
        self._scopes(self.tree, None, scopes)
        return scopes

    def _scopes(self, node: ast.AST, inside: ast.ClassDef | None, scopes: list[Scope]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                self._scopes(child, child, scopes)
            elif isinstance(child, ast.FunctionDef):
                scopes.append(_scope(child, inside))
                self._scopes(child, inside, scopes)
            else:
                self._scopes(child, inside, scopes)


class Answer:
    """The parsed texts of one answer, and their possible edits.

    There are none if one of the texts uses files or processes.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts` by file or cell. Those that are not Python, or too long, are never edited."""
        self.texts = dict(texts)
        every = {name: Source(text) for name, text in texts.items()}
        self.sources = {name: source for name, source in every.items() if source.tree.body}
        words = {word for source in self.sources.values() for word in _words(source.tree)}
        if words & {*_OUTSIDE, _SAVES}:
            self.sources = {}

    def edited(self, *edits: Edit) -> dict[str, str]:
        """Return the texts with these edits carried out. Raises `ValueError` where two overlap."""
        texts = dict(self.texts)
        for name in {edit.file for edit in edits}:
            made = [edit for edit in edits if edit.file == name]
            texts[name] = self.sources[name].edited(*made)
        return texts

    def whole(self, ran: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Return all lines of the statements that ran, of which some lines are given."""
        lines: dict[str, set[int]] = {}
        for name, line in ran:
            lines.setdefault(name, set()).add(line)
        return {
            (name, line) for name, some in lines.items() for line in self.sources[name].whole(some)
        }


def _words(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a source reads, and the packages that it imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr == _SAVES:
            yield node.attr
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]


def _scope(function: ast.FunctionDef, inside: ast.ClassDef | None) -> Scope:
    listed = function.args
    arguments = [
        argument.arg for argument in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)
    ]
    arguments = [name for name in arguments if name not in ("self", "cls")]
    nodes = [node for statement in function.body for node in code(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    assigned = [node.id for node in names if isinstance(node.ctx, ast.Store)]
    assigned += [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    lambdas = [node for node in nodes if isinstance(node, ast.Lambda)]
    assigned += [parameter.arg for node in lambdas for parameter in node.args.args]
    idle = tuple(name for name in arguments if name not in read)
    own, idle_own = _attributes(inside) if inside else ((), ())
    return Scope(
        function, tuple(dict.fromkeys([*arguments, *assigned])), idle, own, idle_own, nodes
    )


def _attributes(inside: ast.ClassDef) -> tuple[tuple[str, ...], tuple[str, ...]]:
    parts = [
        node
        for node in ast.walk(inside)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ]
    made = list(dict.fromkeys(part.attr for part in parts if isinstance(part.ctx, ast.Store)))
    read = {part.attr for part in parts if isinstance(part.ctx, ast.Load)}
    return tuple(made), tuple(name for name in made if name not in read)


def code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run, in the order of the text: no annotations, docstrings or f-strings.

    Not every version of Python has the right positions for nodes inside an f-string.
    """
    if isinstance(node, (ast.JoinedStr, ast.arguments)):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from code(child)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"
