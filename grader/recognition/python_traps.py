"""Lines that do something else in Python than they seem to.

    rows = [[0] * 3] * 2                   # one row, twice
    if kind == "relu" or "gelu":           # always true
    if not self.train:                     # a method, which is always true
    if self.p is 1:                        # False for 1.0, which is a different object
    rate = step ** -1 / 2                  # half of 1 / step, not 1 / its root
    def fit(model, losses=[]):             # all calls append to one list
    steps.append(lambda x: layer(x))       # in a loop over layers: all call the last one
    class Cache:
        keys = []                          # all caches append to one list
        def append(self, key):
            Cache.keys = key               # all caches share it
    optimiser.lr = 0.1                     # torch reads the rate of each group
    if x.size != y.size:                   # two methods, which are never the same
    kept = torch.rand_like(x) > self.p     # in evaluation too, if no line asks for the mode
    @torch.inference_mode()
    def forward(self, x):                  # nothing in it receives a gradient

Right code has none of these, as a rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeGuard

from grader.recognition.functions import defaults, is_static
from grader.recognition.given import whole_number
from grader.recognition.likeness import parsed, walk, without_texts

_REPEATED = (
    "`{}` holds the same {} several times, so a change to one is a change to all. A "
    "comprehension makes a new one for each."
)
_ALWAYS_TRUE = "`{}` is always true: {} by itself counts as true, whatever comes before `or`."
_METHOD = "`{}` is a method, and nothing calls it here: as a condition it is always true."
_SHARED = (
    "`{}` is created once, for the class: all objects of `{}` share it. Each gets its own if "
    "`__init__` creates it."
)
_SET_FOR_ALL = (
    "`{whole}` belongs to the class, so all objects of `{owner}` share it. What is assigned to "
    "`self` belongs to one."
)
_RATE_OF_NONE = (
    "Nothing reads `{}`: every group of an optimiser has its own rate, and those are what its "
    "`step` reads."
)
_SHARED_BY_CALLS = (
    "`{0}` is created once, when `{1}` is defined: all calls without a `{0}` share it. Each gets "
    "its own if a line of `{1}` creates it."
)
_LATE = (
    "`{}` in this `lambda` is looked up when it is called, which is after the loop: there it is "
    "the last one."
)
_IDENTITY = (
    "`{}` checks whether both are the same object, not whether they are equal: 1.0 and 1 are not. "
    "`{}` compares the values."
)
_EXPONENT = "The exponent of `{0}` is {1} here, not {1}/2, since `**` comes before `/`."
_SETS_MODE = "`{}` sets the mode and returns the module, so as a condition it is always true."
_NO_SELF = "`{}` does not take `self`, which Python passes to every method first."
_METHODS_COMPARED = (
    "`{}` compares two methods, not what they return: methods of two tensors are never equal."
)
_DROPS_ALWAYS = "`{}` drops in evaluation as well: no line asks for the mode, `self.training`."
_NO_GRADIENT = "`{}` makes `{}` run without a graph: nothing in it receives a gradient."
_ZERO = "As a condition, `{}` is false for 0 as well as for None."
_KINDS = {ast.List: "list", ast.ListComp: "list", ast.Dict: "dictionary", ast.Set: "set"}
_CHANGES = {"append", "extend", "insert", "add", "update", "clear", "pop"}
_OPTIMISER = re.compile(r"opt(?:im(?:i[sz]er)?)?$")
# Methods without arguments whose results are conditions, or look like one.
_METHODS = {"all", "any", "eval", "train"}
# Methods of tensors that are compared with each other, and random numbers that decide what stays.
_SIZES = {"size", "dim", "numel", "stride"}
_DRAWS = re.compile(r"(?:torch\.)?(?:rand|rand_like)\(")
_RATE = re.compile(r"(?i)\b(?:p|prob|\w*drop\w*|\w*keep\w*)\b")
_MODE = re.compile(r"(?i)train|eval|numpy|\bnp\b")


def python_traps(source: str) -> list[tuple[str, int]]:
    """Return a sentence on each such line, and its number, in order."""
    tree = parsed(source)
    found, own = [*_conditions(tree)], _own_names(tree)
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef):
            found += [*_repeated(node), *_shared_by_calls(node)]
            found += _without_gradient(node)
        elif isinstance(node, ast.ClassDef):
            found += [*_shared_by_objects(node), *_shared_attributes(node), *_set_for_all(node)]
        elif isinstance(node, ast.For):
            found += _bound_late(node)
        elif isinstance(node, ast.Compare):
            found += [*_compared_by_identity(node), *_methods_compared(node, own)]
        elif isinstance(node, ast.BinOp):
            found += _exponent_without_its_half(node)
        elif isinstance(node, ast.Attribute):
            found += _rates_of_none(node)
    code = without_texts(source)
    if code and not _MODE.search(code):
        found += _dropped_always(tree)
    return sorted(set(found), key=lambda pair: (pair[1], pair[0]))


def misused_self(source: str) -> list[tuple[str, int]]:
    """Return a sentence on each method without `self`, and on a mode that is set, not asked for."""
    found = []
    for owner in walk(parsed(source)):
        test = ast.unparse(owner.test) if isinstance(owner, ast.If | ast.IfExp) else ""
        if isinstance(owner, ast.If | ast.IfExp) and test in ("self.train()", "self.eval()"):
            found.append((_SETS_MODE.format(test), owner.lineno))
        for node in owner.body if isinstance(owner, ast.ClassDef) else ():
            if not isinstance(node, ast.FunctionDef) or node.decorator_list:
                continue
            arguments = node.args
            taken = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            has_self = arguments.vararg or "self" in {argument.arg for argument in taken}
            names = {part.id for part in walk(node) if isinstance(part, ast.Name)}
            if not has_self and "self" in names:
                found.append((_NO_SELF.format(node.name), node.lineno))
    return found


def false_for_zero(source: str, name: str) -> tuple[str, int] | None:
    """Return a sentence on the first condition that is only this name, and its line.

    It is meant for one that asks whether something is None, where 0 is given.
    """
    tree = parsed(source)
    tests = [node.test for node in walk(tree) if isinstance(node, ast.If | ast.IfExp)]
    parts = [part for test in tests for part in _parts(test)]
    lines = [part.lineno for part in parts if ast.unparse(part) in (name, f"self.{name}")]
    return (_ZERO.format(name), min(lines)) if lines else None


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the conditions that `and`, `or` and `not` join to one."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _parts(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _parts(test.operand)
    else:
        yield test


def _repeated(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the lists of one module several times, or of one list if one is changed in place."""
    stored = _stored_in(function)
    changed = {
        id(node.value)
        for node in walk(function)
        if isinstance(node, ast.Assign)
        and stored & {target.id for target in node.targets if isinstance(target, ast.Name)}
    }
    for node in walk(function):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
            continue
        for item in node.left.elts if isinstance(node.left, ast.List) else ():
            inner = item.left if isinstance(item, ast.BinOp) else item
            kind = _KINDS.get(type(inner), "")
            if kind and id(node) in changed:
                yield _REPEATED.format(ast.unparse(node), kind), node.lineno
            elif isinstance(inner, ast.Call):
                name = ast.unparse(inner.func)
                if name.rpartition(".")[2][:1].isupper():
                    yield _REPEATED.format(ast.unparse(node), f"`{name}`"), node.lineno


def _conditions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the conditions that a constant or a method without a call makes true."""
    waiting = [node.test for node in walk(tree) if isinstance(node, ast.If | ast.IfExp | ast.While)]
    methods = _METHODS - _own_names(tree)
    while waiting:
        test = waiting.pop()
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            waiting.append(test.operand)
        elif isinstance(test, ast.BoolOp):
            waiting += test.values
            true = [part for part in test.values if isinstance(part, ast.Constant) and part.value]
            if isinstance(test.op, ast.Or) and true:
                sentence = _ALWAYS_TRUE.format(ast.unparse(test), ast.unparse(true[0]))
                yield sentence, test.lineno
        elif isinstance(test, ast.Attribute) and test.attr in methods:
            yield _METHOD.format(ast.unparse(test)), test.lineno


def _own_names(tree: ast.Module) -> set[str]:
    """Return the attributes that a file sets itself, or declares in a class."""
    nodes = walk(tree)
    fields = [
        node.target.id
        for node in nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    kept = [n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    return {*fields, *kept}


def _stored_in(function: ast.FunctionDef) -> set[str]:
    """Return the variables in which a subscript stores something: `rows` of `rows[0][1] = 2`."""
    stored = set()
    for node in walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            inner: ast.expr = node
            while isinstance(inner, ast.Subscript):
                inner = inner.value
            if isinstance(inner, ast.Name):
                stored.add(inner.id)
    return stored


def _without_gradient(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield what stands above a `forward` and switches gradients off in it."""
    # The static one of a torch.autograd.Function runs without a graph in any case.
    is_modules = function.name == "forward" and not is_static(function)
    for decorator in function.decorator_list if is_modules else ():
        text = ast.unparse(decorator)
        if re.fullmatch(r"(?:torch\.)?(?:no_grad|inference_mode)\(\)", text):
            yield _NO_GRADIENT.format(f"@{text}", function.name), decorator.lineno


def _rates_of_none(node: ast.Attribute) -> Iterator[tuple[str, int]]:
    """Yield the attribute, if it is the `lr` of an optimiser, which gets a value here."""
    is_optimisers = isinstance(node.value, ast.Name) and _OPTIMISER.match(node.value.id)
    if node.attr == "lr" and isinstance(node.ctx, ast.Store) and is_optimisers:
        yield _RATE_OF_NONE.format(ast.unparse(node)), node.lineno


def _compared_by_identity(node: ast.Compare) -> Iterator[tuple[str, int]]:
    """Yield the comparison, if it is `is` or `is not` with a number or a text."""
    sides = (node.left, *node.comparators)
    values = [side.value for side in sides if isinstance(side, ast.Constant)]
    is_value = any(type(value) in (int, float, str) for value in values)
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot) and is_value:
        equal = ast.Eq() if isinstance(node.ops[0], ast.Is) else ast.NotEq()
        better = ast.Compare(node.left, [equal], node.comparators)
        yield _IDENTITY.format(ast.unparse(node), ast.unparse(better)), node.lineno


def _methods_compared(node: ast.Compare, own: AbstractSet[str]) -> Iterator[tuple[str, int]]:
    """Yield the comparison, if it is of one method of two tensors, which is not called."""
    sides = (node.left, *node.comparators)
    names = [side.attr for side in sides if isinstance(side, ast.Attribute)]
    if len(names) == len(sides) == 2 and names[0] == names[1] and names[0] in _SIZES - own:
        yield _METHODS_COMPARED.format(ast.unparse(node)), node.lineno


def _dropped_always(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the dropouts of a file that asks for no mode: torch's function, or written out."""
    for node in walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            is_dropout = name in ("F.dropout", "nn.functional.dropout")
            if is_dropout and len(node.args) < 3:
                yield _DROPS_ALWAYS.format(f"{name}(…)"), node.lineno
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            text = ast.unparse(node)
            is_order = isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
            if is_order and _DRAWS.search(text) and _RATE.search(text):
                yield _DROPS_ALWAYS.format(text), node.lineno


def _exponent_without_its_half(node: ast.BinOp) -> Iterator[tuple[str, int]]:
    """Yield a power that is divided by 2, as in `step ** -1 / 2`, which may be meant as a root."""
    first = node.left
    power = first.right if _is(first, ast.Mult) or _is(first, ast.Div) else first
    if _is(node, ast.Div) and whole_number(node.right) == 2 and _is(power, ast.Pow):
        exponent = whole_number(power.right)
        if exponent in (1, -1, -3):
            yield _EXPONENT.format(ast.unparse(power.left), exponent), node.lineno


def _is(node: ast.expr, operator: type[ast.operator]) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, operator)


def _shared_by_objects(owner: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Yield the lists and dictionaries in a class's body that its methods change, not replace."""
    parts = walk(owner)
    own = set(_made_at_the_start(owner))
    changed = {node.attr for node in _changed_in_place(parts) if isinstance(node, ast.Attribute)}
    for node in owner.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and _is_collection(value) and target.id in changed - own:
            yield _SHARED.format(target.id, owner.name), node.lineno


def _set_for_all(owner: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Yield the attributes of the class that its methods assign."""
    themselves = (owner.name, "type(self)", "self.__class__")
    for method in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
        counts = [
            node.target
            for node in walk(method)
            if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant)
        ]
        for node in walk(method):
            if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
                continue
            if node in counts:
                continue
            if ast.unparse(node.value) in themselves:
                whole = ast.unparse(node)
                yield _SET_FOR_ALL.format(whole=whole, owner=owner.name), node.lineno


def _made_at_the_start(owner: ast.ClassDef) -> Iterator[str]:
    """Yield the attributes that `__init__` assigns, itself or in a method that it calls."""
    methods = {node.name: node for node in owner.body if isinstance(node, ast.FunctionDef)}
    waiting, seen = ["__init__"], set[str]()
    while waiting:
        name = waiting.pop()
        if name in methods and name not in seen:
            seen.add(name)
            for node in walk(methods[name]):
                if isinstance(node, ast.Attribute):
                    if isinstance(node.ctx, ast.Store):
                        yield node.attr
                    waiting.append(node.attr)


def _shared_by_calls(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the lists and dictionaries that are defaults of a function and change in its body."""
    parts = [node for part in function.body for node in walk(part)]
    own = {
        node.targets[0].id
        for node in parts
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    changed = {node.id for node in _changed_in_place(parts) if isinstance(node, ast.Name)}
    for argument, default in defaults(function):
        if _is_collection(default) and argument.arg in changed - own:
            yield _SHARED_BY_CALLS.format(argument.arg, function.name), argument.lineno


def _shared_attributes(owner: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Yield such defaults of `__init__` that it keeps as they are and that methods change."""
    changed = {ast.unparse(node) for node in _changed_in_place(walk(owner))}
    for maker in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
        if maker.name != "__init__":
            continue
        kept = {
            node.value.id
            for node in walk(maker)
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Name)
            and any(ast.unparse(target) in changed for target in node.targets)
        }
        for argument, default in defaults(maker):
            if _is_collection(default) and argument.arg in kept:
                yield _SHARED_BY_CALLS.format(argument.arg, owner.name), argument.lineno


def _bound_late(loop: ast.For) -> Iterator[tuple[str, int]]:
    """Yield the functions without a name that a loop collects and that read what it loops over."""
    targets = {node.id for node in walk(loop.target) if isinstance(node, ast.Name)}
    made = {
        target.id
        for node in walk(loop)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in walk(loop):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        is_new = isinstance(owner, ast.Name) and owner.id in made
        collected = node.args if node.func.attr == "append" and not is_new else ()
        for function in (part for part in collected if isinstance(part, ast.Lambda)):
            own = {
                argument.arg for argument in walk(function.args) if isinstance(argument, ast.arg)
            }
            read = [part.id for part in walk(function.body) if isinstance(part, ast.Name)]
            late = [name for name in read if name in targets - own]
            if late:
                yield _LATE.format(late[0]), function.lineno


def _is_collection(node: ast.AST | None) -> bool:
    """Return whether it makes a list, a dictionary or a set."""
    is_made = isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "dict", "set")
    return is_made or isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp)


def _changed_in_place(parts: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """Yield what is appended to, has an item replaced, or is extended with `+=`.

    Not what remembers results by what they were computed from: `if key not in made: made[key] = …`.
    """
    memos = {
        ast.unparse(node.comparators[0])
        for node in parts
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)
    }
    for node in parts:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _CHANGES:
                yield node.func.value
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if ast.unparse(node.value) not in memos:
                yield node.value
        elif isinstance(node, ast.AugAssign):
            yield node.target
