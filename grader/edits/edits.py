"""The small edits of a wrong source that the search tries, the likeliest first."""

from __future__ import annotations

import ast
import contextlib
import copy
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from grader.edits.call_edits import (
    ROUNDING,
    atom,
    call_edits,
    called,
    receiver_of,
)
from grader.edits.kinds import KINDS
from grader.edits.slips import slips
from grader.edits.source import Answer, Edit, Scope, Source, code
from grader.edits.statement_edits import (
    BOOLEAN,
    guarded,
    indented,
    left_out,
    made_module,
    returned,
    taken_in,
    value_edits,
)
from grader.recognition.given import whole_number

MOST, MOST_IN_ALL = 1500, 2000
MOST_MADE = 20_000  # of which the likeliest are kept
MOST_PARTS = 100  # of an expression that is copied for each of its edits; answers have up to 63
LARGE = 100  # a number that may stand for 10000, where a small one may be a number of layers
LEAST_REPEATED = 6  # characters, so that the same number twice is not a repetition
_CALLED = r"\w+(?=\()"
_VARIABLE = r"(?<![.\w])(?!(?:self|torch|nn|F|math|np)\b)[A-Za-z_]\w*(?![\w(=])"
_OPERATORS = {
    ast.Add: "- *", ast.Sub: "+", ast.Mult: "/ ** @ + // %", ast.Div: "* ** //", ast.MatMult: "*",
    ast.FloorDiv: "/ % *", ast.Mod: "// /", ast.Pow: "* /", ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def edits(answer: Answer, lines: Collection[int] = ()) -> list[Edit]:
    """Return the edits of all texts of an answer, or of these `lines`, the likeliest first."""
    every = [
        replace(edit, file=name, more=tuple(source.line(start) for start, *_ in edit.others))
        for name, source in answer.sources.items()
        for edit in _edits(source, lines)
    ]
    return sorted(every, key=lambda edit: edit.rank)[:MOST_IN_ALL]


def _edits(source: Source, lines: Collection[int]) -> list[Edit]:
    with contextlib.suppress(RecursionError):
        made = [*islice(_every(source, lines), MOST_MADE), *left_out(source)]
        every = [*dict.fromkeys(edit for edit in made if not lines or edit.line in lines)]
        return sorted([*_everywhere(every), *every], key=lambda edit: edit.rank)[:MOST]
    return []


def _everywhere(habits: Sequence[Edit]) -> Iterator[Edit]:
    """Yield one edit in all the places where it fits alike: what is repeated is wrong everywhere.

    Lines that differ only in names, such as those of query, key and value, count as alike.
    """
    alike: dict[tuple[str, ...], list[Edit]] = defaultdict(list)
    for edit in habits:
        if len(edit.was) >= LEAST_REPEATED:
            alike[edit.kind, edit.was, edit.becomes].append(edit)
            if KINDS[edit.kind].habit:
                alike[edit.kind, *_nameless(edit.was, edit.becomes)].append(edit)
                called = re.findall(_CALLED, edit.was), re.findall(_CALLED, edit.becomes)
                if called[0] != called[1]:
                    alike[edit.kind, *map(" ".join, called)].append(edit)
    made = set()
    for group in alike.values():
        first, *repeated = sorted(group, key=lambda part: part.start)
        apart = all(left.end <= right.start for left, right in pairwise([first, *repeated]))
        places = tuple((part.start, part.end, part.text) for part in repeated)
        if repeated and apart and (first, places) not in made:
            made.add((first, places))
            yield replace(first, others=places)


def _nameless(was: str, becomes: str) -> tuple[str, str]:
    """Return both texts with variables numbered in the order in which they appear."""
    names: dict[str, str] = {}

    def number(name: re.Match[str]) -> str:
        return names.setdefault(name[0], f"_{len(names)}")

    return re.sub(_VARIABLE, number, was), re.sub(_VARIABLE, number, becomes)


def _every(source: Source, lines: Collection[int]) -> Iterator[Edit]:
    for scope in source.scopes:
        for node in scope.nodes:
            there = not lines or getattr(node, "lineno", 0) in lines
            if there and node not in scope.demanded:
                yield from _at(source, scope, node)
        yield from _statements(source, scope)
        for default in (*scope.function.args.defaults, *scope.function.args.kw_defaults):
            # Another default branch only hides what is wrong in the one that was taken.
            if isinstance(default, ast.Constant) and not isinstance(default.value, bool):
                yield from _constant(source, default)
    for statement in source.tree.body:
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
            for node in code(statement):
                if isinstance(node, ast.Constant):
                    yield from _constant(source, node)


def _at(source: Source, scope: Scope, node: ast.AST) -> Iterator[Edit]:
    """Yield the edits of one node."""
    if isinstance(node, ast.Constant | ast.UnaryOp) and ast.unparse(node) in scope.defaults:
        yield source.replaced(node, "fixed", scope.defaults[ast.unparse(node)], 1)
    if isinstance(node, ast.Call):
        if _is_of_usual_size(node):
            yield from call_edits(source, scope, node, source.signatures)
    elif isinstance(node, ast.BinOp):
        yield from _operation(source, node)
    elif isinstance(node, ast.UnaryOp):
        plain, minus = source.segment(node.operand), isinstance(node.op, ast.USub)
        if isinstance(node.op, ast.UAdd):
            yield source.replaced(node, "sign", f"-{plain}", 1)
        elif not _mode(node.operand):
            yield source.replaced(node, "sign" if minus else "not", plain, 1)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _comparison(source, node)
    elif isinstance(node, ast.BoolOp):
        yield from _slips(source, node, "condition", 3)
        for value in node.values:
            yield source.replaced(node, "condition", source.segment(value), 3)
    elif isinstance(node, ast.IfExp):
        yield from _slips(source, node, "condition", 2)
        for branch in (node.body, node.orelse):
            yield source.replaced(node, "condition", source.segment(branch), 3)
    elif isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
        if any(isinstance(elt, ast.Slice) for elt in node.elts):
            return
        yield from _slips(source, node, "order", 2)
    elif isinstance(node, ast.Constant):
        if node not in scope.counted_back:
            yield from _constant(source, node)
        if scope.function.name == "__init__" and node.value is not None:
            for idle in scope.idle:
                yield source.replaced(node, "fixed", idle, 1)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _name(source, scope, node)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from _attribute(source, scope, node)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from _subscript(source, node)
    if isinstance(node, ast.Assign):
        yield from _assigned(source, scope, node)
    if isinstance(node, (ast.Assign, ast.Return, ast.AugAssign)) and node.value is not None:
        yield from value_edits(source, scope, node.value)
        yield from guarded(source, scope, node)
    if isinstance(node, ast.Return) and node.value is not None:
        yield from returned(source, scope, node.value)


def _slips(source: Source, node: ast.expr, kind: str, rank: int) -> Iterator[Edit]:
    """Yield the slips that the kit's own mutants are made by."""
    for _, change in slips(node) if _is_of_usual_size(node) else ():
        changed = copy.deepcopy(node)
        change(changed)
        yield source.replaced(node, kind, ast.unparse(ast.fix_missing_locations(changed)), rank)


def _is_of_usual_size(node: ast.expr) -> bool:
    return next(islice(ast.walk(node), MOST_PARTS, None), None) is None


def _assigned(source: Source, scope: Scope, node: ast.Assign) -> Iterator[Edit]:
    """Yield an attribute set to the argument of its name."""
    (target, *rest), value = node.targets, node.value
    if not rest and isinstance(value, ast.Constant):
        named = isinstance(target, ast.Attribute) and target.attr
        if named in scope.names and named not in scope.idle:
            yield source.replaced(value, "fixed", str(named), 1)


def _operation(source: Source, node: ast.BinOp) -> Iterator[Edit]:
    left, right = atom(source, node.left), atom(source, node.right)
    sign = _sign(node)
    boolean = re.search(BOOLEAN, right) is not None
    for other in _OPERATORS.get(type(node.op), "").split():
        if (boolean or left == "1" or "mask" in left) and other in ("/", "//", "%", "**"):
            continue  # it would pass for a division by False, or a constant 1
        if sign == "-" and other == "+" and "mask" in left + right:
            continue  # a sum of booleans is no better: it merely doesn't raise
        yield source.replaced(node, "operator", f"{left} {other} {right}", 1)
    if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.FloorDiv, ast.Mod, ast.Pow)):
        yield source.replaced(node, "operand order", f"{right} {sign} {left}", 2)
    if isinstance(node.op, ast.MatMult):
        for side, text in ((node.left, left), (node.right, right)):
            yield source.replaced(side, "transpose", f"{text}.transpose(-2, -1)", 1)
    if isinstance(node.op, (ast.Mult, ast.Div)) and not boolean:
        yield source.replaced(node.right, "root", f"{right} ** 0.5", 1)
        squared = "extra root" if re.search(r"sqrt\(|\*\* ?0?\.5", right) else "square"
        yield source.replaced(node.right, squared, f"{right} ** 2", 2)
    if isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        for side, text in ((node.left, left), (node.right, right)):
            yield source.replaced(side, "not", f"~{text}", 1)
    if isinstance(node.op, ast.Add) and "mask" in source.segment(node.right):
        yield source.replaced(node, "operator", f"{left}.masked_fill(~{right}, -1e9)", 1)
    yield from _grouped(source, node)
    yield from _ungrouped(source, node)
    rounded = [*_rounded(source, node)]
    yield from rounded or _put_through(source, node)
    yield source.replaced(node, "extra term", source.segment(node.left), 2)
    yield source.replaced(node, "extra term", source.segment(node.right), 3)


def _grouped(source: Source, node: ast.BinOp) -> Iterator[Edit]:
    """Yield a sum in brackets, where only its last or its first term was multiplied or divided."""
    sums, products = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
    if not isinstance(node.op, sums):
        return
    sign = _sign(node)
    for inner, first in ((node.right, True), (node.left, False)):
        plain = isinstance(inner, ast.BinOp) and isinstance(inner.op, products)
        if isinstance(inner, ast.BinOp) and plain and not _bracketed(source, inner):
            left, right, own = inner.left, inner.right, _sign(inner)
            left_text, right_text = atom(source, left), atom(source, right)
            if first:
                text = f"({source.segment(node.left)} {sign} {left_text}) {own} {right_text}"
            else:
                text = f"{left_text} {own} ({right_text} {sign} {source.segment(node.right)})"
            yield source.replaced(node, "brackets", text, 2)


def _ungrouped(source: Source, node: ast.BinOp) -> Iterator[Edit]:
    """Yield a product with a sum in which only one of its terms is multiplied or divided."""
    if not isinstance(node.op, ast.Mult | ast.Div):
        return
    for inner, other in ((node.left, node.right), (node.right, node.left)):
        is_right = inner is node.right
        if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Add | ast.Sub):
            continue
        if is_right and isinstance(node.op, ast.Div):
            continue
        sign, own, factor = _sign(inner), _sign(node), atom(source, other)
        first, last = atom(source, inner.left), atom(source, inner.right)
        yield source.replaced(node, "brackets", f"{first} {own} {factor} {sign} {last}", 2)
        yield source.replaced(node, "brackets", f"{first} {sign} {last} {own} {factor}", 2)


def _rounded(source: Source, node: ast.BinOp) -> Iterator[Edit]:
    """Yield the number itself, where it is rounded to a multiple: in `(n + 7) // 8 * 8`, `n`."""
    for whole, factor in ((node.left, node.right), (node.right, node.left)):
        inner = whole
        if isinstance(whole, ast.Call) and len(whole.args) == 1 and called(whole) in ROUNDING:
            inner = whole.args[0]
        if (
            isinstance(node.op, ast.Mult)
            and isinstance(inner, ast.BinOp)
            and isinstance(inner.op, ast.FloorDiv if inner is whole else ast.Div | ast.FloorDiv)
            and ast.dump(inner.right) == ast.dump(factor)
        ):
            number = inner.left
            while isinstance(number, ast.BinOp) and isinstance(number.op, ast.Add | ast.Sub):
                number = number.left
            yield source.replaced(node, "rounded", source.segment(number), 1)


def _put_through(source: Source, node: ast.BinOp) -> Iterator[Edit]:
    """Yield a call of all of an operation, where only one of its operands went through it."""
    left, right, sign = node.left, node.right, _sign(node)
    if isinstance(left, ast.Call) and len(left.args) == 1 and receiver_of(source, left) is None:
        whole = f"{source.segment(left.args[0])} {sign} {atom(source, right)}"
        text = f"{source.segment(left.func)}({whole})"
        yield source.replaced(node, "brackets", text, 2)
    if isinstance(right, ast.Call) and isinstance(right.func, ast.Attribute):
        inner = receiver_of(source, right)
        if inner is not None:
            called = source.segment(right)[len(source.segment(right.func.value)) :]
            text = f"({source.segment(left)} {sign} {inner}){called}"
            yield source.replaced(node, "brackets", text, 2)


def _bracketed(source: Source, node: ast.expr) -> bool:
    start, end = source.span(node)
    before, after = source.bytes[:start].rstrip(), source.bytes[end:].lstrip()
    return before.endswith(b"(") and after.startswith(b")")


def _sign(node: ast.BinOp) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b")))[1:-1].strip()


def _mode(node: ast.expr) -> bool:
    """Return whether this is an argument that says which mode is meant, which is plain."""
    return isinstance(node, ast.Name) and bool(re.fullmatch(r"(?:is_)?train(?:ing)?", node.id))


def _comparison(source: Source, node: ast.Compare) -> Iterator[Edit]:
    own = _SIGNS.get(type(node.ops[0]))
    left, right = source.segment(node.left), source.segment(node.comparators[0])
    if own is None:
        yield from _slips(source, node, "comparison", 2)
        if isinstance(node.ops[0], ast.Is | ast.IsNot) and right not in ("None", "True", "False"):
            equal = "==" if isinstance(node.ops[0], ast.Is) else "!="
            yield source.replaced(node, "comparison", f"{left} {equal} {right}", 1)
        return
    # Nothing in a mask is below zero: the comparison would be constant.
    constant = ("<", ">=") if right == "0" and "mask" in left else ()
    for sign in _COMPARED:
        if sign != own and sign not in constant:
            yield source.replaced(node, "comparison", f"{left} {sign} {right}", 1)


def _constant(source: Source, node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    values: Sequence[object] = ()
    if isinstance(value, bool):
        values = (not value,)
    elif isinstance(value, int):
        values = (value + 1, value - 1, -value, 2 * value, 0, 1, 2)
    elif isinstance(value, float):
        values = (value / 2, value - 1, 2 * value, -value, 0.5 * value**0.5, 1e-5, 1.0)
    elif value is None:
        return
    if isinstance(value, int | float) and value >= LARGE:
        values = (*values, type(value)(10000))
    for other in dict.fromkeys(map(repr, values)):
        if other != repr(value):
            yield source.replaced(node, "constant", other, 2)


def _name(source: Source, scope: Scope, node: ast.Name) -> Iterator[Edit]:
    if node.id not in scope.names:
        if node.id in scope.own:
            yield source.replaced(node, "name", f"self.{node.id}", 1)
        return
    for other in scope.names:
        if other != node.id:
            yield source.replaced(node, "name", other, 1 if other in scope.idle else 3)
    for other in scope.own:
        if f"_{node.id}" in f"_{other}":
            yield source.replaced(node, "name", f"self.{other}", 3)


def _attribute(source: Source, scope: Scope, node: ast.Attribute) -> Iterator[Edit]:
    if node.attr == "T":
        turned = f"{atom(source, node.value)}.transpose(-2, -1)"
        yield source.replaced(node, "transpose", turned, 1)
    if not isinstance(node.value, ast.Name) or node.value.id != "self":
        return
    if node.attr == "training":  # set by `train()` and `eval()`: no other attribute replaces it
        return
    if node.attr in scope.names:
        yield source.replaced(node, "name", node.attr, 2)
    for other in scope.own:
        if other != node.attr:
            rank = 1 if other in scope.idle_own else 3
            yield source.replaced(node, "name", f"self.{other}", rank)


def _subscript(source: Source, node: ast.Subscript) -> Iterator[Edit]:
    number = whole_number(node.slice)
    if number is not None and isinstance(node.slice, ast.expr):
        for axis in (-1, -2, 0, 1, 2):
            if axis != number:
                yield source.replaced(node.slice, "index", str(axis), 2)
    elif isinstance(node.slice, ast.Slice):
        whole = source.segment(node.value)
        yield source.replaced(node, "index", whole, 3)
        picked = source.segment(node)[len(whole) + 1 :]
        yield source.replaced(node, "index", f"{whole}[:, {picked}", 3)


def _statements(source: Source, scope: Scope) -> Iterator[Edit]:
    """Yield statements left out, exchanged, or made to count."""
    for node in (scope.function, *scope.nodes):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield from _block(source, body)
                yield from taken_in(source, body)
        if isinstance(node, ast.FunctionDef):
            yield from _returns(source, node)
            yield from made_module(source, scope, node)
        if isinstance(node, (ast.For, ast.While, ast.If, ast.With)):
            yield from indented(source, node)
        if isinstance(node, (ast.If, ast.While)):
            yield from _asked_again(source, node)
        if isinstance(node, ast.If):
            test = source.segment(node.test)
            if test == "self.training":  # nobody confuses the two modes
                continue
            yield source.replaced(node.test, "condition", f"not ({test})", 2)
            if isinstance(node.test, (ast.Name, ast.Attribute)):
                yield source.replaced(node.test, "condition", f"{test} is not None", 1)
            for other in ("True", "False"):
                yield source.replaced(node.test, "condition", other, 2)


def _asked_again(source: Source, node: ast.If | ast.While) -> Iterator[Edit]:
    """Yield an `if` in place of a `while`, or the other way round."""
    words = ("if", "while") if isinstance(node, ast.If) else ("while", "if")
    start, _ = source.span(node)
    if node.orelse or not source.bytes.startswith(words[0].encode(), start):
        return
    test = source.segment(node.test)
    end = start + len(words[0])
    was, becomes = (f"{word} {test}:" for word in words)
    yield Edit(node.lineno, "loop", was, becomes, start, end, words[1], 2)


def _returns(source: Source, function: ast.FunctionDef) -> Iterator[Edit]:
    """Yield a function that gives nothing back, with one of its names returned."""
    nodes = [node for statement in function.body for node in code(statement)]
    if function.name == "__init__" or any(isinstance(node, ast.Return) for node in nodes):
        return
    stored = [
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    last = function.body[-1]
    margin = " " * function.body[0].col_offset
    for name in dict.fromkeys([*reversed(stored), *(arg.arg for arg in function.args.args)]):
        text = f"{source.segment(last)}\n{margin}return {name}"
        yield source.restated(last, last, "missing return", text, f"return {name}", 1)


def _first_name(call: ast.Call) -> str:
    """Return the variable that is a call's first argument, or the first one joined there."""
    first = call.args[0] if call.args else None
    if isinstance(first, (ast.Tuple, ast.List)) and first.elts:
        first = first.elts[0]
    return first.id if isinstance(first, ast.Name) else ""


def _block(source: Source, body: Sequence[ast.AST]) -> Iterator[Edit]:
    listed = [statement for statement in body if isinstance(statement, ast.stmt)]
    for statement in listed:
        call = statement.value if isinstance(statement, ast.Expr) else None
        receiver = receiver_of(source, call) if isinstance(call, ast.Call) else None
        if receiver is not None and receiver.isidentifier():
            kept = f"{receiver} = {source.segment(statement)}"
            yield source.restated(statement, statement, "not kept", kept, kept, 1)
        elif isinstance(call, ast.Call) and (name := _first_name(call)):
            kept = f"{name} = {source.segment(statement)}"
            yield source.restated(statement, statement, "not kept", kept, kept, 1)
        if not isinstance(statement, (ast.Return, ast.Pass, ast.Import, ast.ImportFrom)):
            yield source.restated(statement, statement, "extra statement", "pass", "", 2)
    for statement, following in pairwise(listed):
        (_, end), (start, _) = source.span(statement), source.span(following)
        between = source.bytes[end:start].decode()
        swapped = f"{source.segment(following)}{between}{source.segment(statement)}"
        if not isinstance(following, ast.Return) and between.strip() in ("", ";"):
            becomes = source.segment(following)
            yield source.restated(statement, following, "statement order", swapped, becomes, 3)
