"""Small edits of one call in a student's source: its axes, its arguments, the call itself."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator
from itertools import permutations

from torch import Tensor

from grader.edits.signatures import Signatures
from grader.edits.slips import arguments
from grader.edits.source import Edit, Scope, Source
from grader.recognition.given import whole_number

_MISSING = "missing argument"
_AXES = (-1, -2, 1, 0, 2, -3, 3)
_PAIRS = ((-2, -1), (1, 2), (0, 1), (2, 3), (0, 2), (1, 3))
# Calls whose integers are axes: methods, and functions whose first argument is a tensor.
_AXIS_CALLS = {
    "all", "amax", "amin", "any", "argmax", "cat", "chunk", "concat", "cumsum", "flatten", "flip",
    "index_select", "log_softmax", "logsumexp", "max", "mean", "min", "movedim", "norm", "permute",
    "prod", "repeat_interleave", "select", "size", "softmax", "split", "squeeze", "stack", "std",
    "sum", "swapaxes", "transpose", "unbind", "unsqueeze", "var", "gather", "topk", "sort",
}  # fmt: skip
# Of these, the first number is a count or a power; an axis follows it.
_COUNT_FIRST = {"chunk", "norm", "repeat_interleave", "split", "topk"}
_REDUCING = {"amax", "amin", "any", "all", "logsumexp", "mean", "norm", "prod", "std", "sum", "var"}
_NEED_AXIS = _REDUCING | {"softmax", "log_softmax", "max", "min", "argmax", "cumsum"}
_TWO_RESULTS = {"max", "min", "median", "mode", "sort", "topk", "kthvalue"}
_DTYPES = ("torch.float32", "torch.float64", "torch.int64", "torch.bool")
# A division inside of these is rounded on purpose.
ROUNDING = {"ceil", "floor", "int", "round"}
_PAIRED = {"transpose", "swapaxes", "movedim"}
_PRODUCTS = {"matmul", "bmm", "mm"}
_LOOKALIKES = (
    ("sin", "cos"), ("triu", "tril"), ("zeros", "ones"), ("zeros_like", "ones_like"),
    ("any", "all"), ("sum", "mean"), ("var", "std"), ("min", "max"), ("softmax", "log_softmax"),
    ("exp", "log"), ("exp", "expm1"), ("log", "log1p"), ("log", "log10"),
    ("sqrt", "rsqrt"), ("sqrt", "square"),
    ("floor", "ceil"), ("relu", "gelu"), ("rand", "randn"), ("uniform_", "normal_"),
    ("xavier_uniform_", "xavier_normal_"), ("logical_and", "logical_or"), ("minimum", "maximum"),
    ("view", "reshape"), ("repeat", "repeat_interleave"), ("eq", "ne"), ("lt", "le"), ("gt", "ge"),
    ("argmax", "argmin"), ("max", "argmax"), ("empty", "zeros"), ("list", "nn.ModuleList"),
)  # fmt: skip


def call_edits(
    source: Source, scope: Scope, node: ast.Call, signatures: Signatures
) -> Iterator[Edit]:
    """Yield the edits of a call in a function."""
    name = called(node)
    text = source.segment(node)
    if name in _AXIS_CALLS:
        yield from _axes(source, node, name)
        yield from _of_each_row(source, scope, node, name)
    if name in ("view", "reshape", "permute"):
        yield from _shape(source, node, name)
    if name in _REDUCING and not any(keyword.arg == "keepdim" for keyword in node.keywords):
        yield source.replaced(node, "keepdim", _with(node, "keepdim=True"), 1)
    if name in ("var", "std"):
        plain = copy.deepcopy(node)
        plain.keywords = [
            keyword for keyword in plain.keywords if keyword.arg not in ("correction", "unbiased")
        ]
        for wanted in ("correction=0", "correction=1"):
            yield source.replaced(node, "correction", _with(plain, wanted), 1)
    if name in ("masked_fill", "masked_fill_", "where") and node.args:
        hidden = node.args[1 if len(node.args) == 3 and name != "where" else 0]
        if not isinstance(hidden, ast.UnaryOp):
            yield source.replaced(hidden, "not", f"~{atom(source, hidden)}", 1)
        for value in node.args[1:]:
            for filling in ('float("-inf")', "-1e9"):
                yield source.replaced(value, "constant", filling, 2)
    if name in ("cat", "concat") and node.args and isinstance(node.args[0], (ast.Tuple, ast.List)):
        parts = source.segment(node.args[0])
        paired = f"torch.stack({parts}, dim=-1).flatten(-2)"
        yield source.replaced(node, "order", paired, 1)
    if name in ("set", "Counter", "keys", "fromkeys"):
        yield source.replaced(node, "order", f"sorted({text})", 2)
    if name in ("sort", "sorted") and not any(
        keyword.arg == "reverse" for keyword in node.keywords
    ):
        yield source.replaced(node, _MISSING, _with(node, "reverse=True"), 2)
    if name in _PRODUCTS:
        for argument in node.args:
            turned = f"{atom(source, argument)}.transpose(-2, -1)"
            yield source.replaced(argument, "transpose", turned, 1)
    if name == "shape" and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        picked = f"{source.segment(node.func)}[{source.segment(node.args[0])}]"
        yield source.replaced(node, "index", picked, 1)
    if ast.unparse(node.func) == "torch.sqrt" and len(node.args) == 1:  # of a number, not a tensor
        yield source.replaced(node, "function", f"{atom(source, node.args[0])} ** 0.5", 1)
    if ast.unparse(node.func) == f"math.{name}" and hasattr(Tensor, name):  # of a tensor
        of_tensors = text.replace("math.", "torch.", 1)
        yield source.replaced(node, "function", of_tensors, 1)
    if (
        name in _TWO_RESULTS
        and isinstance(node.func, ast.Attribute)
        and (node.args or node.keywords)
    ):
        yield source.replaced(node, "two results", f"{text}.values", 1)
    if len(node.args) == 2 and ast.dump(node.args[0]) == ast.dump(node.args[1]):
        yield source.replaced(node.args[0], "sign", f"-{atom(source, node.args[0])}", 1)
    for keyword in node.keywords:
        if keyword.arg == "dtype":
            for dtype in _DTYPES:
                if dtype != ast.unparse(keyword.value):
                    yield source.replaced(keyword.value, "dtype", dtype, 1)
    yield from _exchanged(source, node, name)
    yield from _without_call(source, node, name, text)
    for number, (_, change) in enumerate(arguments(node)):
        changed = copy.deepcopy(node)
        change(changed)
        dropped = not len(node.args) <= number < 2 * len(node.args) - 1
        kind = "extra argument" if dropped else "argument order"
        yield source.replaced(node, kind, ast.unparse(changed), 3 if dropped else 2)
    yield from _missing(source, scope, node, name)
    yield from _asked_for(source, scope, node, signatures)
    yield from _another(source, scope, node)
    yield from _handed_on(source, node)
    yield from _as_elsewhere(source, scope, node)
    if name.endswith("_") and not name.startswith("_") and isinstance(node.func, ast.Attribute):
        kept = copy.deepcopy(node)
        assert isinstance(kept.func, ast.Attribute)
        kept.func.attr = name.rstrip("_")
        yield source.replaced(node, "in place", ast.unparse(kept), 2)


def called(node: ast.Call) -> str:
    """Return the name of the function or method that is called; "" where it has none."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _axes(source: Source, node: ast.Call, name: str) -> Iterator[Edit]:
    given = [
        *_positions_of_axes(node, name),
        *(keyword.value for keyword in node.keywords if keyword.arg in ("dim", "axis")),
    ]
    numbers = [value for value in given if whole_number(value) is not None]
    for number in numbers:
        for axis in _AXES:
            if axis != whole_number(number):
                yield source.replaced(number, "axis", str(axis), 1)
    if name in _PAIRED and len(numbers) == 2:
        start = source.segment(numbers[0]), source.segment(numbers[1])
        for pair in _PAIRS:
            changed = copy.deepcopy(node)
            changed.args[-2:] = [ast.Constant(value) for value in pair]
            if set(map(str, pair)) != set(start):
                yield source.replaced(node, "axis", ast.unparse(changed), 1)
    if name in _NEED_AXIS and not numbers:
        for axis in (-1, -2, 1):
            yield source.replaced(node, "axis", _with(node, f"dim={axis}"), 1)
            if name in _REDUCING:
                yield source.replaced(node, "axis", _with(node, f"dim={axis}, keepdim=True"), 1)
    if name == "size" and not given:
        for axis in (-1, -2, 0, 1):
            yield source.replaced(node, "axis", _with(node, str(axis)), 2)


def _of_each_row(source: Source, scope: Scope, node: ast.Call, name: str) -> Iterator[Edit]:
    """Yield the largest or smallest number of each row, in place of that of all numbers."""
    receiver = receiver_of(source, node)
    if name not in ("max", "min") or receiver is None or node.args or node.keywords:
        return
    for axis in ("dim", "-1") if "dim" in scope.names else ("-1",):
        yield source.replaced(node, "axis", f"{receiver}.a{name}(dim={axis}, keepdim=True)", 1)


def _positions_of_axes(node: ast.Call, name: str) -> list[ast.expr]:
    """Return the arguments without a name that can be axes."""
    if isinstance(node.func, ast.Name) and hasattr(builtins, name):
        return []
    if any(keyword.arg in ("dim", "axis") for keyword in node.keywords):
        return []
    function = ast.unparse(node.func).partition(".")[0] in ("torch", "F", name)
    after = node.args[1:] if function else node.args
    if name == "select":
        return after[:1]
    return after[1:] if name in _COUNT_FIRST else after


def _shape(source: Source, node: ast.Call, name: str) -> Iterator[Edit]:
    """`view` for a transpose and a view, and sizes in another order."""
    text = source.segment(node)
    sizes = [ast.unparse(argument) for argument in node.args]
    receiver = receiver_of(source, node)
    if receiver is None:
        return
    if name == "permute":
        if all(whole_number(argument) is not None for argument in node.args) and 2 < len(sizes) < 5:
            for order in permutations(range(len(sizes))):
                listed = ", ".join(map(str, order))
                yield source.replaced(node, "axis", f"{receiver}.permute({listed})", 2)
        return
    for pair in ((1, 2), (-2, -1)):
        axes = f"{pair[0]}, {pair[1]}"
        before = f"{receiver}.transpose({axes}).reshape({', '.join(sizes)})"
        yield source.replaced(node, "shape", before, 1)
        yield source.replaced(node, "shape", f"{text}.transpose({axes})", 2)
    for left, right in ((1, 2), (2, 3)):
        if len(sizes) > right:
            other = [*sizes]
            other[left], other[right] = other[right], other[left]
            listed = ", ".join(other)
            yield source.replaced(node, "shape", f"{receiver}.reshape({listed})", 2)
            turned = f"{receiver}.reshape({listed}).transpose({left}, {right})"
            yield source.replaced(node, "shape", turned, 1)


def _without_call(source: Source, node: ast.Call, name: str, text: str) -> Iterator[Edit]:
    """Yield a call dropped, made twice, or another one of the same form in its place."""
    kind = "transpose" if name in _PAIRED or name in ("t", "permute") else "extra call"
    receiver = receiver_of(source, node)
    inner = receiver if receiver is not None else source.segment(node.args[0]) if node.args else ""
    if inner and not inner.startswith("*"):
        yield source.replaced(node, kind, inner, 2)
    for pair in _LOOKALIKES:
        if name in pair and isinstance(node.func, ast.Attribute):
            changed = copy.deepcopy(node)
            assert isinstance(changed.func, ast.Attribute)
            changed.func.attr = pair[name == pair[0]]
            yield source.replaced(node, "function", ast.unparse(changed), 2)
    if receiver is None and node.args and source.segment(node.func).startswith("self."):
        yield source.replaced(node, "missing call", f"{source.segment(node.func)}({text})", 4)


def _exchanged(source: Source, node: ast.Call, name: str) -> Iterator[Edit]:
    """Yield a call with an operation in its argument taken out of it."""
    if receiver_of(source, node) is None:
        (operation, *more) = node.args or (None,)
        divided = isinstance(operation, ast.BinOp) and isinstance(
            operation.op, ast.Div | ast.FloorDiv
        )
        if isinstance(operation, ast.BinOp) and not more and not (divided and name in ROUNDING):
            function, left = source.segment(node.func), source.segment(operation.left)
            rest = source.segment(operation)[len(left) :]
            yield source.replaced(node, "brackets", f"{function}({left}){rest}", 3)


def _missing(source: Source, scope: Scope, node: ast.Call, name: str) -> Iterator[Edit]:
    """Yield a call with one more argument: an unused one of the function around it."""
    present = {keyword.arg for keyword in node.keywords}
    listed = [source.segment(argument) for argument in node.args]
    for keyword in node.keywords:
        if keyword.arg in scope.idle and isinstance(keyword.value, ast.Constant):
            changed = copy.deepcopy(node)
            changed.keywords[node.keywords.index(keyword)].value = ast.Name(str(keyword.arg))
            yield source.replaced(node, _MISSING, ast.unparse(changed), 1)
    for idle in scope.idle:
        if idle not in present:
            yield source.replaced(node, _MISSING, _with(node, f"{idle}={idle}"), 1)
        yield source.replaced(node, _MISSING, _with(node, idle, len(listed)), 2)
    for other in scope.names:
        if other not in scope.idle and other not in listed and name[:1].isupper():
            if other not in present:
                yield source.replaced(node, _MISSING, _with(node, f"{other}={other}"), 3)
            for position in range(len(listed) + 1):
                if position < len(listed) and _reads(node.args[position], other):
                    continue  # something computed from it is there already
                more = _with(node, other, position)
                yield source.replaced(node, _MISSING, more, 4)
        elif other not in listed and source.segment(node.func).startswith("self."):
            for position in range(len(listed) + 1):
                more = _with(node, other, position)
                yield source.replaced(node, _MISSING, more, 3)


def _asked_for(
    source: Source, scope: Scope, node: ast.Call, signatures: Signatures
) -> Iterator[Edit]:
    """Yield a call with an argument that the signature has and the scope offers.

    The scope offers a variable or attribute that has the argument's name, or of which that name is
    a part: `src_mask` for `mask`.
    """
    parameters = signatures.get(ast.unparse(node.func), ())
    given = {*parameters[: len(node.args)], *(keyword.arg for keyword in node.keywords)}
    texts = [source.segment(argument) for argument in node.args]
    for parameter in parameters:
        if parameter in given:
            continue
        at_hand = [*scope.names, *(f"self.{own}" for own in scope.own)]
        for name in at_hand:
            bare = name.removeprefix("self.")
            if bare == parameter:
                yield source.replaced(node, _MISSING, _with(node, f"{parameter}={name}"), 1)
            elif name not in texts and {*bare.split("_")} & {*parameter.split("_")}:
                yield source.replaced(node, _MISSING, _with(node, f"{parameter}={name}"), 2)


def _another(source: Source, scope: Scope, node: ast.Call) -> Iterator[Edit]:
    """Yield a call with another variable for an argument that is more than a name."""
    for argument in node.args:
        if isinstance(argument, (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp)):
            inside = {part.id for part in ast.walk(argument) if isinstance(part, ast.Name)}
            for name in scope.names:
                if name not in inside:
                    yield source.replaced(argument, "name", name, 4)


def _as_elsewhere(source: Source, scope: Scope, node: ast.Call) -> Iterator[Edit]:
    """Yield a call with the further arguments that another call of the same function has."""
    function, name = ast.dump(node.func), called(node)
    given = {keyword.arg for keyword in node.keywords}
    for other in scope.nodes:
        # Compare names first: a scope has many calls, and few of the same function.
        if not isinstance(other, ast.Call) or called(other) != name:
            continue
        if ast.dump(other.func) == function:
            further = other.args[len(node.args) :]
            named = [keyword for keyword in other.keywords if keyword.arg not in given]
            if further or named:
                args, keywords = [*node.args, *further], [*node.keywords, *named]
                more = ast.unparse(ast.Call(node.func, args, keywords))
                yield source.replaced(node, _MISSING, more, 1)


def _handed_on(source: Source, node: ast.Call) -> Iterator[Edit]:
    """Yield a call that is given a function instead of the function's result."""
    first = ast.dump(node.args[0]) if node.args else ""
    for argument in node.args[1:]:
        if isinstance(argument, ast.Call):
            inner = copy.deepcopy(argument)
            kept = [ast.dump(given) == first for given in inner.args]
            inner.args = [
                ast.Name("value") if same else given
                for same, given in zip(kept, inner.args, strict=True)
            ]
            if any(kept):
                becomes = f"lambda value: {ast.unparse(inner)}"
                yield source.replaced(argument, "called", becomes, 1)


def _reads(node: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _with(node: ast.Call, argument: str, position: int | None = None) -> str:
    """Return the call with one more argument, at `position` or else the last."""
    added = ast.parse(f"f({argument})", mode="eval").body
    assert isinstance(added, ast.Call)
    where = len(node.args) if position is None else position
    args = [*node.args[:where], *added.args, *node.args[where:]]
    return ast.unparse(ast.Call(node.func, args, [*node.keywords, *added.keywords]))


def receiver_of(source: Source, node: ast.Call) -> str | None:
    """Return what a method is called on, as text; None where that is a module, or `self`."""
    if not isinstance(node.func, ast.Attribute):
        return None
    value = node.func.value
    if isinstance(value, ast.Name) and value.id in ("self", "torch", "F", "nn", "math", "np"):
        return None
    if ast.unparse(value).partition(".")[0] in ("torch", "nn", "numpy", "self"):
        return None if not isinstance(value, (ast.Call, ast.BinOp)) else atom(source, value)
    return atom(source, value)


def atom(source: Source, node: ast.expr) -> str:
    """Return the text of an expression, in brackets unless it stands for itself."""
    text = source.segment(node)
    alone = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)
    return text if isinstance(node, alone) else f"({text})"
