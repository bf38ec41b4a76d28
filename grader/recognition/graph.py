"""Lines that leave autograd's graph, or change what `backward` needs.

    x = x.detach()                 # nothing that is made of it passes a gradient back
    w = scores.softmax(-1)
    w *= mask                      # `backward` needs what softmax returned

Such a line raises nothing itself: a gradient is missing, or `backward` raises, which the exercise
calls. A line is named only if it is the only one in the file that could be meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.recognition.functions import Function, Functions, is_static, own_nodes, statements
from grader.recognition.likeness import parsed, walk
from grader.recognition.raised_line import Fact, written

_CHANGED = (
    "`{}` changes `{}` in place, and `backward` needs the numbers that it held before. So "
    "`backward` raises an error."
)
_ASKS_NEW = "How do you write this so that it makes a new tensor?"
_CUT = "`{}` leaves the graph: no gradient flows back through it."
_OFF = "`{}` switches the graph off: no gradient flows back through what is computed there."
_FROZEN = "`{}` switches the gradient of `{}` off."
_FREEZES = re.compile(r"requires_grad ?= ?False|requires_grad_\(False\)")
_UNSEEN = (
    "Through `{0}.data`, this line changes `{0}` where autograd does not see it. So the gradient "
    "is that of the numbers before."
)
_ABOUT_PARAMETERS = re.compile(r"init|reset|step|clip")
_EDITED = "`{}` changes `{}` itself, which belongs to the caller."
_EDITED_VIEW = "`{0}` changes `{2}` as well, which belongs to the caller: `{1}` is a view of it."
_VIEWS = {
    "view", "view_as", "transpose", "permute", "unsqueeze", "squeeze", "unbind", "chunk", "split",
    "narrow", "select", "unflatten", "expand", "diagonal", "detach",
}  # fmt: skip
_ASKS_CUT = "What is this step for, and which line gets a gradient if it isn't taken?"
_NEEDED = re.compile(r"has been modified by an inplace operation: .*?which is output \d+ of (\w+)")
_IN_PLACE = re.compile(r"[a-z0-9]_$")
_CUTS = {"detach", "numpy", "tolist", "item"}
# The largest of a row is the same for all of it, and needs no gradient in a softmax.
_CONSTANT = re.compile(r"\b(?:a?max|a?min|argmax)\([^()]*\)(?:\.values|\[0\])?$|\b\w*mask\w*$")
_COPIES = re.compile(r"(?:torch\.)?(?:tensor|Tensor|FloatTensor|as_tensor)$|(?:nn\.)?Parameter$")
_NO_GRAPH = re.compile(r"(?:torch\.)?(?:no_grad|inference_mode)\(\)")
_OPERATORS = {
    ast.Mult: "mul", ast.Div: "div", ast.Sub: "sub", ast.Add: "add", ast.Pow: "pow",
    ast.MatMult: "mm", ast.USub: "neg",
}  # fmt: skip
_MOST = 50  # candidates to examine; ordinary answers have a few
_MOST_STEPS = 5  # from one name to the next


def changed_before_backward(error: str, source: str) -> Fact | None:
    """Return which line changed in place what `backward` needs; None if it isn't clear."""
    said = _NEEDED.search(error)
    changed = [
        (name, statement, function)
        for function in (Functions(parsed(source)).all if said else ())
        for name, statement in _changes(function)
    ]
    # The error names what made the tensor: exp, softmax, a product.
    of_that_kind = [
        each for each in changed if said and _makes(said[1].lower(), each[0], each[2])
    ] or changed
    if len({(name, id(function.node)) for name, _, function in of_that_kind}) != 1:
        return None
    name, statement, _ = of_that_kind[0]
    return Fact(_CHANGED.format(written(statement), name), _ASKS_NEW, statement.lineno)


def _changes(function: Function) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the variables that hold a tensor and are changed in place, and the statement."""
    counters = {
        target.id
        for node in statements(function.node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for statement in statements(function.node):
        for part in _changed(statement):
            while isinstance(part, ast.Subscript):
                part = part.value
            if isinstance(part, ast.Name) and part.id not in counters:
                yield part.id, statement


def _changed(statement: ast.stmt) -> list[ast.expr]:
    """Return what a statement changes in place."""
    changed: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign):
        changed.append(statement.target)
    elif isinstance(statement, ast.Assign):
        changed += [part for part in statement.targets if isinstance(part, ast.Subscript)]
    for node in own_nodes(statement):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        words = {keyword.arg: keyword.value for keyword in node.keywords}
        if _IN_PLACE.search(node.func.attr) and not node.func.attr.startswith("requires"):
            changed.append(node.func.value)
        elif "inplace" in words and node.args:
            changed.append(node.args[0])
        changed += [words["out"]] if "out" in words else []
    return changed


def _makes(operation: str, name: str, function: Function) -> bool:
    """Return whether an operation makes the tensor that a variable holds."""
    for target, value in _bindings(function.node):
        if not isinstance(target, ast.Name) or target.id != name:
            continue
        made = value
        while isinstance(made, ast.Subscript):
            made = made.value
        if isinstance(made, ast.BinOp | ast.UnaryOp):
            word = _OPERATORS.get(type(made.op), "")
        else:
            called = made.func if isinstance(made, ast.Call) else made
            word = getattr(called, "attr", getattr(called, "id", "")).strip("_").lower()
        if word and operation.startswith(word):
            return True
    return False


def cut(parameter: str, source: str) -> Fact | None:
    """Return the only line that can cut off a gradient that is missing; None if it isn't clear.

    It is that of a parameter or an argument; with "", that of all.
    """
    if parameter and (fact := _frozen(parameter, source)):
        return fact
    leaving = [
        (node, function)
        for function in Functions(parsed(source)).all
        if function.node.name != "__init__"
        for node in _leaving(function)
    ]
    found = [each for each in leaving[: _MOST + 1] if _comes_from(parameter, *each)]
    if len(leaving) > _MOST or len({node.lineno for node, _ in found}) != 1:
        return None
    node, function = found[0]
    if isinstance(node, ast.With):
        return Fact(_OFF.format(f"with {written(node.items[0])}"), _ASKS_CUT, node.lineno)
    if node in function.node.decorator_list:
        return Fact(_OFF.format(f"@{written(node)}"), _ASKS_CUT, node.lineno)
    return Fact(_CUT.format(written(node)), _ASKS_CUT, node.lineno)


def edited(name: str, source: str) -> Fact | None:
    """Return the only line that changes a tensor that was given under that name."""
    changes = [
        (variable, function, statement)
        for function in Functions(parsed(source)).all
        if name in function.parameters
        for variable, statement in _changes(function)
    ]
    found = [(each[0], each[2]) for each in changes[: _MOST + 1] if _is_of(name, *each)]
    if len(changes) > _MOST or len({statement.lineno for _, statement in found}) != 1:
        return None
    variable, statement = found[0]
    tells = _EDITED.format(written(statement), name)
    if variable != name:
        tells = _EDITED_VIEW.format(written(statement), variable, name)
    return Fact(tells, _ASKS_NEW, statement.lineno)


def _is_of(name: str, variable: str, function: Function, statement: ast.stmt) -> bool:
    """Return whether a variable still holds a tensor that was given, or a view of it."""
    before = [
        (target, value)
        for node in statements(function.node)
        if (node.lineno, node.col_offset) < (statement.lineno, statement.col_offset)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target, value in _bindings(node)
    ]
    views = {name}
    for target, value in before:
        held = value.elts if isinstance(value, ast.Tuple) else [value]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        for number, part in enumerate(targets):
            is_view = _viewed(held[number if len(held) == len(targets) else 0]) in views
            if isinstance(part, ast.Name):
                views = views | {part.id} if is_view else views - {part.id}
    return variable in views


def _viewed(value: ast.expr) -> str:
    """Return the variable of whose numbers an expression is a view; "" for something new."""
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr not in _VIEWS:
                return ""
            value = value.func.value
        elif isinstance(value, ast.Subscript):
            parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
            if not all(isinstance(part, ast.Slice | ast.Constant) for part in parts):
                return ""  # what a mask picks is a copy
            value = value.value
        else:
            return ""
    return value.id


def unseen(source: str) -> Fact | None:
    """Return the only line that changes a result where autograd does not see it."""
    found = [
        node
        for function in Functions(parsed(source)).all
        if not _ABOUT_PARAMETERS.search(function.node.name)
        for results in [_reaching(function)]
        for statement in statements(function.node)
        for node in own_nodes(statement)
        if isinstance(node, ast.Attribute) and node.attr == "data"
        if isinstance(node.value, ast.Name) and node.value.id in results
        if any(node in walk(part) for part in _changed(statement))
    ]
    if len({node.lineno for node in found}) != 1:
        return None
    name = ast.unparse(found[0].value)
    return Fact(_UNSEEN.format(name), _ASKS_NEW, found[0].lineno)


def _frozen(parameter: str, source: str) -> Fact | None:
    """Return the only line that says that a parameter gets no gradient; None if none does."""
    attribute = re.compile(rf"\bself\.{re.escape(parameter.partition('.')[0])}\b")
    found = [
        statement
        for function in Functions(parsed(source)).all
        for statement in statements(function.node)
        if not isinstance(statement, ast.If | ast.For | ast.While | ast.With)
        if _FREEZES.search(code := ast.unparse(statement)) and attribute.search(code)
    ]
    if len(found) != 1:
        return None
    tells = _FROZEN.format(written(found[0]), parameter)
    return Fact(tells, "Which setting do the other parameters have?", found[0].lineno)


def _leaving(function: Function) -> Iterator[ast.expr | ast.With]:
    """Yield the expressions and blocks whose results have no graph, if a result is made of them."""
    results = _reaching(function)
    if not is_static(function.node):  # a static one may be of a torch.autograd.Function
        above = function.node.decorator_list
        yield from (node for node in above if _NO_GRAPH.fullmatch(ast.unparse(node)))
    for statement in statements(function.node):
        if isinstance(statement, ast.With):
            if any(_NO_GRAPH.fullmatch(ast.unparse(item)) for item in statement.items):
                inside = [part for one in statement.body for part in walk(one)]
                if any(_is_used(part, results) for part in inside if isinstance(part, ast.stmt)):
                    yield statement
            continue
        if not _is_used(statement, results):
            continue
        beside = [
            id(node)
            for part in (_parts(statement.value)[1:] if isinstance(statement, ast.Return) else ())
            for node in walk(part)
        ]
        for node in own_nodes(statement):
            if id(node) in beside:
                continue
            if isinstance(node, ast.Attribute) and node.attr == "data":
                yield node
            elif isinstance(node, ast.Call):
                called = node.func
                is_cut = isinstance(called, ast.Attribute) and called.attr in _CUTS
                is_cut = is_cut or ast.unparse(called) == "float"
                is_copy = bool(node.args) and _COPIES.fullmatch(ast.unparse(called))
                if is_cut or is_copy:
                    yield node


def _is_used(statement: ast.stmt, results: set[str]) -> bool:
    """Return whether what a function returns is made of what a statement computes."""
    if isinstance(statement, ast.Return):
        return True
    targets = [target for target, _ in _bindings(statement)]
    return any(_names(target) & results for target in targets)


def _reaching(function: Function) -> set[str]:
    """Return the names that what a function returns first is made of."""
    returned = [node.value for node in statements(function.node) if isinstance(node, ast.Return)]
    first = [part for value in returned for part in _parts(value)[:1]]
    return _behind({name for part in first for name in _names(part)}, function)


def _parts(value: ast.expr | None) -> list[ast.expr]:
    """Return the results that are returned together."""
    return value.elts if isinstance(value, ast.Tuple) else [value] if value else []


def _comes_from(parameter: str, node: ast.expr | ast.With, function: Function) -> bool:
    """Return whether an expression is made of a parameter; of any argument, if it is ""."""
    if node in function.node.decorator_list:
        return parameter in ast.unparse(function.node)
    inner: ast.AST = node
    if isinstance(inner, ast.Call):
        inner = inner.args[0] if inner.args else inner.func
    if isinstance(inner, ast.Attribute):
        inner = inner.value
    if _CONSTANT.search(ast.unparse(inner)):
        return False
    inside = node.body if isinstance(node, ast.With) else [node]
    behind = _behind({name for part in inside for name in _names(part)}, function)
    if parameter:
        return bool(behind & {*parameter.split("."), f"self.{parameter.partition('.')[0]}"})
    # A single number is often a count.
    counts = ast.unparse(node).endswith(".item()") or ast.unparse(node).startswith("float(")
    return not counts and bool(behind & set(function.parameters))


def _behind(names: set[str], function: Function) -> set[str]:
    """Return names with those that they were made from."""
    wanted = set(names)
    bindings = [(_names(target), _names(value)) for target, value in _bindings(function.node)]
    for _ in range(_MOST_STEPS):
        for targets, sources in bindings:
            if targets & wanted:
                wanted |= sources
    return wanted


def _bindings(code: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is given a value in a piece of code, and the value."""
    for node in walk(code):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield target, node.value
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            if node.value is not None:
                yield node.target, node.value
        elif isinstance(node, ast.For | ast.comprehension):
            yield node.target, node.iter


def _names(code: ast.AST) -> set[str]:
    """Return the variables in a piece of code, and the attributes of `self`."""
    nodes = walk(code)
    names = {node.id for node in nodes if isinstance(node, ast.Name) and node.id != "self"}
    own = [node for node in nodes if isinstance(node, ast.Attribute)]
    return names | {f"self.{node.attr}" for node in own if ast.unparse(node.value) == "self"}
