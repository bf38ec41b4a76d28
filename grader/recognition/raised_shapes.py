"""Facts about a line that raised because of the shapes of what the exercise gave."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torch import Tensor

from grader.recognition.functions import Function
from grader.recognition.given import shape_of, whole_number
from grader.recognition.raised_line import (
    ALLOWED,
    Fact,
    Raised,
    axes,
    calls,
    in_words,
    is_index,
    written,
)

_MOST_STEPS = 5  # from one name to the next, between what is given and what is made of it
_REDUCES = {"sum", "mean", "max", "min", "amax", "amin", "var", "std", "norm", "logsumexp"}
_MAKES = {f"{kind}{of}" for kind in ("zeros", "ones", "empty", "full") for of in ("", "_like")}
_MAKES |= {f"new_{kind}" for kind in ("zeros", "ones", "empty", "full")}
_REORDERS = (".transpose", ".permute", ".swapaxes", ".t", ".movedim", "rearrange")
_ASKS_AXES = "How many axes may `{}` have? Which of them does this line need?"
_UNPACK = re.compile(r"(?:not enough|too many) values to unpack \(expected (\d+)(?:, got (\d+))?\)")
_SIZES = re.compile(
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at "
    r"non-singleton dimension (\d+)"
)
_EXPAND = re.compile(
    r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at "
    r"non-singleton dimension (\d+)\.\s+Target sizes: \[([\d, ]*)\]\.\s+Tensor sizes: \[([\d, ]*)\]"
)


def unpacked(raised: Raised) -> Fact | None:
    """`batch, seq = ids.shape`."""
    said = _UNPACK.search(raised.error)
    statement = raised.statement
    if not said or not isinstance(statement, ast.Assign):
        return None
    target, tensor = statement.targets[0], shape_of(statement.value)
    if not isinstance(target, ast.Tuple) or tensor is None or not raised.origin(tensor, "axes"):
        return None
    name = ast.unparse(tensor)
    has = in_words(said[2]) if said[2] else "more"
    tells = f"`{written(statement)}` takes exactly {axes(said[1])}. Here `{name}` has {has}."
    return Fact(f"{tells} {ALLOWED}", _ASKS_AXES.format(name))


def reordered(raised: Raised) -> Fact | None:
    """`x.permute(0, 2, 1, 3)`."""
    said = re.search(
        r"permute\(.*input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)", raised.error
    )
    if not said:
        return None
    for call, tensor in calls(raised, "permute"):
        if raised.origin(tensor, "axes"):
            name = ast.unparse(tensor)
            tells = f"`{written(call)}` takes exactly {axes(said[2])}. Here `{name}` has"
            return Fact(f"{tells} {in_words(said[1])}. {ALLOWED}", _ASKS_AXES.format(name))
    return None


def subscripts(raised: Raised) -> Fact | None:
    """`einsum("bsf,bsf->bsf", x, y)`."""
    said = re.search(
        r"number of subscripts in the equation \((\d+)\) does not match the number of dimensions "
        r"\((\d+)\) for operand (\d+) and no ellipsis",
        raised.error,
    )
    calls = [node for node in raised.nodes() if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func).endswith("einsum")]
    if not said or len(calls) != 1 or len(calls[0].args) <= int(said[3]) + 1:
        return None
    operand = calls[0].args[int(said[3]) + 1]
    if not raised.origin(operand, "axes"):
        return None
    equation, name = ast.unparse(calls[0].args[0]), ast.unparse(operand)
    tells = (
        f"`einsum({equation}, …)` takes exactly {axes(said[1])} of `{name}`. Here it has "
        f"{in_words(said[2])}."
    )
    return Fact(
        f"{tells} {ALLOWED}",
        "How do you write any number of axes in an equation?",
    )


def counted(raised: Raised) -> Fact | None:
    """`x.transpose(1, 2)`, `x.shape[2]`: an axis that is not always there."""
    said = re.search(
        r"Dimension out of range \(expected to be in range of \[-?\d+, (-?\d+)\], but got (\d+)\)",
        raised.error,
    )
    past = re.search(r"^IndexError: tuple index out of range", raised.error)
    for node in raised.nodes() if said or past else ():
        tensor = None
        if past and isinstance(node, ast.Subscript):
            numbers, tensor = [whole_number(node.slice)], shape_of(node.value)
        elif said and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            arguments = (*node.args, *(keyword.value for keyword in node.keywords))
            numbers = [whole_number(argument) for argument in arguments]
            tensor = node.func.value
            if ast.unparse(tensor) in ("torch", "F", "torch.nn.functional") and node.args:
                tensor = node.args[0]
        if tensor is None or not raised.origin(tensor, "axes"):
            continue
        largest = max((number for number in numbers if number is not None), default=-1)
        if largest < 1 or (said and largest != int(said[2])):
            continue
        name = ast.unparse(tensor)
        has = f"only {in_words(str(int(said[1]) + 1))}" if said else "fewer"
        tells = (
            f"`{written(node)}` needs at least {axes(str(largest + 1))}. Here `{name}` has {has}."
        )
        asks = "Counted from the end, which axis is meant? (-1 is the last.)"
        return Fact(f"{tells} {ALLOWED}", asks if said else _ASKS_AXES.format(name))
    return None


def indexed(raised: Raised) -> Fact | None:
    """`self.pe[:, :n, :]` of a table with two axes."""
    said = re.search(r"too many indices for tensor of dimension (\d+)", raised.error)
    if not said:
        return None
    found = []
    for node in raised.nodes():
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            parts = node.slice.elts
            named = [
                p for p in parts if not (isinstance(p, ast.Constant) and p.value in (None, ...))
            ]
            is_given = raised.origin(node.value)
            if len(named) > int(said[1]) and all(
                isinstance(p, ast.Slice)
                or whole_number(p) is not None
                or (is_given and isinstance(p, ast.Name))
                for p in named
            ):
                found.append((node, len(named)))
    if len({(ast.unparse(node.value), count) for node, count in found}) != 1:
        return None
    node, count = found[0]
    name = written(node.value)
    tells = f"`{written(node)}` names {axes(str(count))}, and `{name}` has {in_words(said[1])}."
    return Fact(tells, f"Which axes does `{name}` have, and which of them does this line need?")


def slot(raised: Raised) -> Fact | None:
    """`held[:, :, n:n + 1] = key`, and a buffer that was made for another size."""
    said = _EXPAND.search(raised.error)
    statement = raised.statement
    if not said or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    new = raised.origin(value)
    if not isinstance(target, ast.Subscript) or not new:
        return None
    room, size, axis = said[1], said[2], int(said[3])
    rank = len(said[4].split(","))
    if rank != len(said[5].split(",")):
        return None
    parts = list(target.slice.elts) if isinstance(target.slice, ast.Tuple) else [target.slice]
    if not parts or any(isinstance(index, ast.Constant) and index.value is None for index in parts):
        return None
    if isinstance(parts[0], ast.Constant) and parts[0].value is ...:
        parts, axis = list(reversed(parts[1:])), rank - 1 - axis
    kept = [index for index in parts if isinstance(index, ast.Slice)]
    if len(kept) + sum(map(is_index, parts)) != len(parts):
        return None
    part = kept[axis] if 0 <= axis < len(kept) else None
    name = ast.unparse(value)
    if part is not None and (part.lower or part.upper):
        width = _width(part)
        if width is None or str(width) != room:
            return None
        what, held = f"`{ast.unparse(part)}` has room for {in_words(room)}", written(target.value)
        return Fact(
            f"{what}. Here `{name}` has {in_words(size)} on that axis, and the exercise allows any "
            "number.",
            f"How many does one call bring, and which part of `{held}` should hold them?",
        )
    if part is not None and part.step:
        return None
    return _too_small(raised, target.value, name, new, (room, size, str(said[3])))


def _too_small(
    raised: Raised, held: ast.expr, name: str, new: str, sizes: tuple[str, str, str]
) -> Fact | None:
    """Return that a buffer takes no size from what is written into it, and where it is made."""
    code = ast.unparse(held)
    made = _makers(code, raised)
    if not made or any(_depends(node.value, new, function, raised) for node, function in made):
        return None
    room, size, axis = sizes
    tells = (
        f"`{code}` has size {room} on axis {axis}, and `{name}` has {size}. Line "
        f"{made[0][0].lineno}, `{written(made[0][0])}`, does not ask `{name}` for its sizes."
    )
    return Fact(tells, f"From which tensor should `{code}` get its sizes?")


def _makers(code: str, raised: Raised) -> list[tuple[ast.Assign, Function]]:
    """Return the statements that may have made what an expression holds at the line that raised.

    If one before it always runs, only that.
    """
    made = [
        (node, function)
        for function in raised.given.code.all
        if function.owner is raised.function.owner
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign) and code in map(ast.unparse, node.targets)
        if ast.unparse(node.value) != "None" and code not in ast.unparse(node.value)
    ]
    always = [
        (node, function)
        for node, function in made
        if node in raised.function.node.body and node.lineno < raised.statement.lineno
    ]
    return always[-1:] or made


def _depends(value: ast.expr, new: str, function: Function, raised: Raised) -> bool:
    """Return whether anything in an expression of that function may come from the parameter `new`.

    That is what it is called in the function that the exercise calls.
    """
    methods = [method for method in raised.given.code.all if method.owner is raised.function.owner]
    tainted = {f"{method.node.name} {new}" for method in methods if new in method.parameters}
    for method in methods:  # what others are called with may come from anywhere
        if method.node.name.startswith("_") and method.node.name != "__init__":
            tainted |= {f"{method.node.name} {name}" for name in method.parameters}
    for _ in range(_MOST_STEPS):
        for method in methods:
            for target, source in _bindings(method.node):
                if _names(source, method) & tainted:
                    tainted |= _names(target, method)
    return bool(_names(value, function) & tainted)


def _bindings(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is given a value in a function, and the value."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    yield from zip(target.elts, node.value.elts, strict=False)
                elif not isinstance(target, ast.Subscript):
                    yield target, node.value
        elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None:
            yield node.target, node.value
        elif isinstance(node, ast.For):
            yield node.target, node.iter


def _names(node: ast.AST, function: Function) -> set[str]:
    """Return the names in a function's code, with the function, and the attributes of `self`."""
    return {
        f"{function.node.name} {part.id}"
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and part.id != "self"
    } | {
        ast.unparse(part)
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self"
    }


def _width(part: ast.Slice) -> int | None:
    """Return the width of `n:n + 1` and `0:1`; None if it is not written there."""
    lower, upper = part.lower, part.upper
    if part.step is not None or upper is None:
        return None
    if whole_number(upper) is not None:
        start, end = 0 if lower is None else whole_number(lower), whole_number(upper)
        return None if start is None or end is None or start < 0 else end - start
    if lower is not None and isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add):
        sides = [upper.left, upper.right]
        others = [side for side in sides if ast.unparse(side) != ast.unparse(lower)]
        return whole_number(others[0]) if len(others) == 1 else None
    return None


def combined(raised: Raised) -> Fact | None:
    """`x / x.sum(-1)`, and `x / x.sum(-1).reshape(-1, 1)`: a number per row that lost its axes."""
    said = _SIZES.search(raised.error)
    for node in raised.nodes() if said else ():
        if not isinstance(node, ast.BinOp):
            continue
        for number, (part, whole) in enumerate(
            ((node.right, node.left), (node.left, node.right)), start=1
        ):
            made = raised.given.made(part, raised.function, raised.statement)
            value = made[0] if made else part
            is_flat, reduced = _is_flat(value), _reduced(value)
            if said is None or (not is_flat and reduced is None):
                continue
            name = ast.unparse(whole)
            shown = f"`{written(value)}`" + (f" (line {made[1].lineno})" if made else "")
            if is_flat:
                return Fact(
                    f"{shown} puts the numbers of all axes on one, {said[3 - number]} of them, "
                    f"where an axis of `{name}` has size {said[number]}.",
                    f"Which axes does each of these numbers need, so that it meets its own part of "
                    f"`{name}`?",
                )
            if reduced is not None and ast.unparse(reduced) == name:
                return Fact(
                    f"{shown} drops the axis that it goes along, and `{name}` still has it. So "
                    "their axes don't fit together.",
                    "How can that axis stay, with size 1?",
                )
    return None


def _is_flat(value: ast.expr) -> bool:
    """Return whether an expression is `x.reshape(-1)`, `x.view(-1, 1)` or `x.flatten()`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    sizes = [whole_number(size) for size in value.args]
    if value.func.attr in ("view", "reshape"):
        return sizes[:1] == [-1] and all(size == 1 for size in sizes[1:])
    return value.func.attr == "flatten" and not sizes and not value.keywords


def _reduced(value: ast.expr) -> ast.expr | None:
    """Return the tensor of which an expression is the sum, mean or maximum without an axis."""
    is_first = isinstance(value, ast.Subscript) and whole_number(value.slice) == 0
    if isinstance(value, ast.Subscript | ast.Attribute) and (
        is_first or getattr(value, "attr", "") == "values"
    ):
        value = value.value
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    of_torch = ast.unparse(value.func.value) == "torch" and value.args
    arguments = value.args[1:] if of_torch else value.args
    named = {keyword.arg for keyword in value.keywords}
    goes_along_one = len(arguments) == 1 or (not arguments and "dim" in named)
    if value.func.attr not in _REDUCES or not goes_along_one or named - {"dim", "correction"}:
        return None
    return value.args[0] if of_torch else value.func.value


def made_like(raised: Raised) -> Fact | None:
    """`output = torch.zeros_like(query)`, which `weights @ value` doesn't fit."""
    said = _SIZES.search(raised.error) or _EXPAND.search(raised.error)
    if not said:
        return None
    sizes = {int(said[1]), int(said[2])}
    shapes = {
        name: tuple(value.shape)
        for name, value in raised.values.items()
        if isinstance(value, Tensor) and value.dim()
    }
    for statement in _behind(raised):
        like = _like(statement, raised)
        alike = shapes.get(like[0], ())[:-2]
        widths = {
            name
            for name, shape in shapes.items()
            if shape[-1] in sizes - {like[1]} and shape[:-2] == alike and _is_whole(raised)
        }
        elsewhere = {size for shape in shapes.values() for size in shape[:-1]}
        if like[1] not in sizes or len(widths) != 1 or sizes & elsewhere:
            continue
        other = widths.pop()
        held = ast.unparse(statement.targets[0])
        return Fact(
            f"`{held}` is made like `{like[0]}`, with size {like[1]} on its last axis. Later it "
            f"meets numbers with the {shapes[other][-1]} features of `{other}`.",
            f"From which tensor should `{held}` get the size of its last axis?",
            statement.lineno,
        )
    return None


def _is_whole(raised: Raised) -> bool:
    """Return whether a statement doesn't write into a part of the last axis only."""
    targets = raised.statement.targets if isinstance(raised.statement, ast.Assign) else []
    parts = [part for node in targets if isinstance(node, ast.Subscript) for part in [node.slice]]
    last = [part.elts[-1] if isinstance(part, ast.Tuple) else part for part in parts]
    return all(ast.unparse(part) in (":", "...") for part in last)


def _behind(raised: Raised) -> list[ast.Assign]:
    """Return the statements before the raising one that what it uses was made from."""
    function = raised.function
    wanted = _names(raised.statement, function)
    bindings = [
        (_names(target, function), _names(source, function))
        for target, source in _bindings(function.node)
    ]
    for _ in range(_MOST_STEPS):
        for given, source in bindings:
            if given & wanted:
                wanted |= source
    return [
        node
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and node.lineno <= raised.statement.lineno
        and _names(node.targets[0], function) & wanted
    ]


def _like(statement: ast.Assign, raised: Raised) -> tuple[str, int]:
    """Return the given tensor whose shape a statement copies, and its width; ("", -1) if none."""
    made = statement.value
    if not isinstance(made, ast.Call) or not made.args:
        return "", -1
    called = ast.unparse(made.func).rpartition(".")[2]
    copied = made.args[0] if called.endswith("_like") else shape_of(made.args[0])
    name = ""
    if copied is not None and called in _MAKES:
        name = raised.given.origin(copied, raised.function, statement)
    elif called in _MAKES and not isinstance(made.args[-1], ast.Starred):
        found = raised.given.dimension(made.args[-1], raised.function, statement)
        shape = raised.shape(found[0]) if found else None
        if found and shape and found[1] in (-1, len(shape) - 1):
            name = found[0]
    shape = raised.shape(name)
    return (name, shape[-1]) if shape else ("", -1)


def viewed(raised: Raised) -> Fact | None:
    """`value.reshape(-1, n, d)` with a size of the query."""
    if not re.search(r"shape '\[.*?\]' is invalid for input of size", raised.error):
        return None
    for method in ("view", "reshape"):
        for call, tensor in calls(raised, method):
            own = raised.origin(tensor)
            shape = raised.shape(own)
            for size in call.args if shape is not None else ():
                there = raised.given.dimension(size, raised.function, raised.statement)
                other = raised.shape(there[0]) if there else None
                if (
                    there is None
                    or other is None
                    or there[0] == own
                    or not -len(other) <= there[1] < len(other)
                ):
                    continue
                number = other[there[1]]
                if shape is not None and number not in shape:
                    name = ast.unparse(size)
                    tells = (
                        f"`{written(call)}` uses `{name}`, which comes from `{there[0]}` and is "
                        f"{number} here. `{own}` has the shape {shape}: its sizes may differ from "
                        f"those of `{there[0]}`."
                    )
                    return Fact(tells, f"From which tensor should `{name}` be taken in this line?")
    return None


def in_order(raised: Raised) -> Fact | None:
    """`x.view(...)` of a tensor that was given transposed."""
    if "view size is not compatible with input tensor's size and stride" not in raised.error:
        return None
    for call, tensor in calls(raised, "view"):
        if raised.origin(tensor):
            return Fact(
                f"`{written(call)}` needs the numbers of `{ast.unparse(tensor)}` in order in "
                "memory. The exercise also gives tensors that were transposed.",
                "Which method does the same and copies where it must?",
            )
        made = raised.given.made(tensor, raised.function, raised.statement)
        value = made[0] if made else tensor
        if isinstance(value, ast.Call) and ast.unparse(value.func).endswith(_REORDERS):
            where = f" (line {made[1].lineno})" if made else ""
            return Fact(
                f"`{written(value)}`{where} changes the order of the axes, not that of the numbers "
                f"in memory, and `view` needs the numbers in order: `{written(call)}`.",
                "Which method does the same and copies where it must?",
            )
    return None


SHAPES = (
    unpacked, reordered, subscripts, counted, indexed, slot, made_like, combined, viewed, in_order,
)  # fmt: skip
