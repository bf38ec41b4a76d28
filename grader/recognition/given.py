"""What a name in a student's code holds of what the exercise gave it.

    def attention(query, key, value):       # `q` below is `query`, as it was given,
        q, k = query.float(), key           # and `d` the size of its axis 1
        n, d = q.shape

Nothing is said of a name unless all of the code's own calls pass it on unchanged.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

# What leaves a tensor's axes as they are, and its numbers as far as matters.
_SAME = {"to", "type", "type_as", "float", "double", "long", "int", "bool", "half", "bfloat16"}
_SAME |= {"contiguous", "clone", "detach", "cpu", "cuda", "requires_grad_"}
# What leaves only their number as it is.
_AXES = {"exp", "log", "softmax", "transpose", "permute", "masked_fill", "sigmoid", "relu", "tanh"}
_ADDS_AN_AXIS = ("emb", "one_hot", "unsqueeze", "stack", "split", "heads", "mean", "sum")
# What may be in a condition on what was given.
_PLAIN = {"min", "max", "len", "int", "float", "abs", "isinstance", "bool", "str", "type"}
_ASKS = {"shape", "size", "dim", "ndim", "ndimension", "dtype", "device", "numel"}
_PARTS = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp,
    ast.Subscript, ast.Tuple, ast.List, ast.Slice, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
    ast.expr_context, ast.Attribute, ast.Call,
)  # fmt: skip
_DEEPEST = 4  # calls of one function by another
_MOST = 100  # names that are followed; answers need a few dozen
_Call = tuple["Function", ast.stmt, list[ast.expr], dict[str, ast.expr]]


@dataclass(frozen=True)
class Function:
    """A function of the student's, and the class that it is a method of."""

    node: ast.FunctionDef
    owner: ast.ClassDef | None = None

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters, without `self`."""
        names = [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]
        static = any(ast.unparse(one) == "staticmethod" for one in self.node.decorator_list)
        return names[self.owner is not None and not static :] + self.keywords

    @property
    def keywords(self) -> list[str]:
        """The names of parameters that are only given by name."""
        return [argument.arg for argument in self.node.args.kwonlyargs]


class Given:
    """What the names in a source hold of what the exercise gives its `entries`."""

    def __init__(self, tree: ast.Module, entries: Collection[str]) -> None:
        self.tree = tree
        self.entries = entries
        self.functions = list(_functions(tree))
        self._followed = 0
        self._called: dict[int, list[_Call] | None] = {}

    def at(self, line: int) -> tuple[Function, ast.stmt] | None:
        """Return the innermost function that holds a line, and the smallest statement there."""
        around = [
            function
            for function in self.functions
            if function.node.lineno <= line <= (function.node.end_lineno or 0)
        ]
        if not around:
            return None
        function = max(around, key=lambda one: one.node.lineno)
        statements = [
            node
            for node in (function.node, *_statements(function.node))
            if node.lineno <= line <= (node.end_lineno or 0)
        ]
        inside = min(reversed(statements), key=lambda node: (node.end_lineno or 0) - node.lineno)
        return (function, inside) if inside is not function.node else None

    def origin(
        self,
        value: ast.expr,
        function: Function,
        at: ast.stmt,
        exact: bool = True,
        depth: int = 0,
    ) -> str:
        """Return the parameter of an entry's whose value an expression has; "" for another value.

        If not `exact`, only the number of axes has to be the same.
        """
        value = _inside(value, exact)
        self._followed += 1
        if not isinstance(value, ast.Name) or depth > _DEEPEST or self._followed > _MOST:
            return ""
        before = _stores(value.id, function.node, at)
        if before is None:
            return ""
        if before:
            made = _assigned(value.id, before[-1])
            if made is None or before[-1] not in function.node.body:
                return ""
            return self.origin(made, function, before[-1], exact, depth + 1)
        if value.id not in function.parameters:
            return ""
        return self._of_parameter(value.id, function, exact, depth)

    def _of_parameter(self, name: str, function: Function, exact: bool, depth: int) -> str:
        """Return what a parameter is in all calls; "" if that is unknown, or differs."""
        calls = self._calls(function)
        if calls is None:
            return ""
        found: set[str] = set()
        position = function.parameters.index(name)
        for caller, statement, arguments, keywords in calls:
            passed = keywords.get(name)
            if position < len(arguments) and name not in function.keywords:
                passed = arguments[position]
            if passed is None:
                return ""
            found.add(self.origin(passed, caller, statement, exact, depth + 1))
            if "" in found or len(found) > 1:
                return ""
        return found.pop() if found else name if self._is_entry(function) else ""

    def _is_entry(self, function: Function) -> bool:
        """Whether the exercise itself calls the function."""
        owner, name = function.owner, function.node.name
        if owner is None:
            return name in self.entries
        return owner.name in self.entries and (not name.startswith("_") or name == "__init__")

    def _calls(self, function: Function) -> list[_Call] | None:
        """Return the code's own calls of a function; None if it may be called in other ways too."""
        if id(function.node) not in self._called:
            self._called[id(function.node)] = self._found(function)
        return self._called[id(function.node)]

    def _found(self, function: Function) -> list[_Call] | None:
        name, owner = function.node.name, function.owner
        if owner is not None and self._makes(owner.name, name):
            return None
        applied = owner is not None and name == "forward" and not self._is_entry(function)
        calls, heads = [], 0
        for caller in self.functions:
            for statement in _statements(caller.node):
                for node in own_nodes(statement):
                    if not isinstance(node, ast.Call):
                        continue
                    called = ast.unparse(node.func)
                    offset: list[ast.expr] = []
                    if applied and owner is not None and called == f"{owner.name}.apply":
                        offset = [ast.Constant(None)]  # ctx
                    elif called not in (name, f"self.{name}", f"{owner and owner.name}.{name}"):
                        continue
                    starred = any(isinstance(one, ast.Starred) for one in node.args)
                    if starred or any(keyword.arg is None for keyword in node.keywords):
                        return None
                    heads += 1
                    keywords = {one.arg: one.value for one in node.keywords if one.arg}
                    given = [*offset, *node.args]
                    if applied:
                        given = given[function.parameters[:1] != ["ctx"] :]
                    calls.append((caller, statement, given, keywords))
        loads = sum(
            isinstance(node.ctx, ast.Load)
            and (node.id if isinstance(node, ast.Name) else node.attr) == name
            and not ast.unparse(node).startswith("super(")
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        if not applied and loads != heads:
            return None
        return calls

    def _makes(self, owner: str, method: str) -> bool:
        """Whether the code itself makes objects of a class, whose method it may then call."""
        if method == "__init__":
            named = sum(_is_name(node, owner) for node in ast.walk(self.tree))
            return named > sum(
                isinstance(node, ast.Call) and ast.unparse(node.func) == "super" and bool(node.args)
                for node in ast.walk(self.tree)
            )
        asked = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)}
        supers = {
            id(argument)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("super", "isinstance")
            for argument in node.args
        }
        return any(
            _is_name(node, owner) and id(node) not in asked | supers for node in ast.walk(self.tree)
        )

    def dimension(self, size: ast.expr, function: Function, at: ast.stmt) -> tuple[str, int] | None:
        """Return the parameter and the axis whose size an expression is; None for another value."""
        if isinstance(size, ast.Name):
            before = _stores(size.id, function.node, at)
            if not before or before[-1] not in function.node.body:
                return None
            statement = before[-1]
            made = _assigned(size.id, statement)
            if made is not None:
                return self.dimension(made, function, statement)
            return self._unpacked(size.id, function, statement)
        asked, axis = _asks_size(size)
        if asked is None or axis is None:
            return None
        origin = self.origin(asked, function, at)
        return (origin, axis) if origin else None

    def _unpacked(
        self, name: str, function: Function, statement: ast.stmt
    ) -> tuple[str, int] | None:
        """Return the same for a name in `B, L, D = x.shape`."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple):
            return None
        names = [ast.unparse(one) for one in statement.targets[0].elts]
        asked = shape_of(statement.value)
        if asked is None or names.count(name) != 1:
            return None
        origin = self.origin(asked, function, statement)
        number = names.index(name)
        if any(one.startswith("*") for one in names[:number]):
            number -= len(names)
        elif any(one.startswith("*") for one in names[number:]) and names[number].startswith("*"):
            return None
        return (origin, number) if origin else None

    def is_given(self, value: ast.expr, function: Function, at: ast.stmt, depth: int = 0) -> bool:
        """Whether an expression is made from nothing but what the exercise gave, and numbers."""
        if depth > _DEEPEST:
            return False
        skipped: set[int] = set()
        for node in ast.walk(value):
            if id(node) in skipped:
                continue
            if not isinstance(node, _PARTS):
                return False
            if isinstance(node, ast.Call):
                called = node.func
                plain = isinstance(called, ast.Name) and called.id in _PLAIN
                asks = isinstance(called, ast.Attribute) and called.attr in _ASKS
                if not (plain or asks) or node.keywords:
                    return False
                if plain:
                    skipped.add(id(called))
            elif isinstance(node, ast.Attribute) and _is_name(node.value, "self"):
                kept = self.kept(node.attr, function)
                if kept is None or not self.is_given(*kept, depth + 1):
                    return False
                skipped.add(id(node.value))
            elif isinstance(node, ast.Attribute) and node.attr not in _ASKS:
                if ast.unparse(node.value) != "torch":
                    return False
                skipped.add(id(node.value))
            elif isinstance(node, ast.Name) and not self._is_given(node, function, at, depth):
                return False
        return True

    def _is_given(self, name: ast.Name, function: Function, at: ast.stmt, depth: int) -> bool:
        if name.id in _PLAIN or name.id in ("Tensor", "list", "tuple", "dict"):
            return True
        if self.origin(name, function, at):
            return True
        before = _stores(name.id, function.node, at)
        if not before or before[-1] not in function.node.body:
            return False
        made = _assigned(name.id, before[-1])
        if made is not None:
            return self.is_given(made, function, before[-1], depth + 1)
        return self._unpacked(name.id, function, before[-1]) is not None

    def kept(
        self, attribute: str, function: Function
    ) -> tuple[ast.expr, Function, ast.stmt] | None:
        """Return what `__init__` assigns to an attribute; None if not that alone does, once."""
        if function.owner is None:
            return None
        made = [
            (node, method)
            for method in self.functions
            if method.owner is function.owner
            for node in _statements(method.node)
            if any(
                isinstance(part, ast.Attribute)
                and isinstance(part.ctx, ast.Store)
                and ast.unparse(part) == f"self.{attribute}"
                for part in own_nodes(node)
            )
        ]
        if len(made) != 1 or made[0][1].node.name != "__init__":
            return None
        statement, method = made[0]
        value = _assigned(f"self.{attribute}", statement)
        return (value, method, statement) if value is not None else None


def shape_of(value: ast.expr) -> ast.expr | None:
    """Return the tensor whose shape an expression is: `x` of `x.shape` and `x.size()`."""
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        return value.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.value if value.func.attr == "size" and not value.args else None
    return None


def _asks_size(value: ast.expr) -> tuple[ast.expr | None, int | None]:
    """Return the tensor and the axis of `x.shape[1]`, `x.size(1)` and `len(x)`."""
    if isinstance(value, ast.Subscript):
        return shape_of(value.value), whole_number(value.slice)
    if isinstance(value, ast.Call) and len(value.args) == 1:
        if isinstance(value.func, ast.Attribute) and value.func.attr == "size":
            return value.func.value, whole_number(value.args[0])
        if _is_name(value.func, "len"):
            return value.args[0], 0
    return None, None


def whole_number(node: ast.AST | None) -> int | None:
    """Return the whole number that an expression spells out, with its sign; None for any other."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return sign * node.value
    return None


def _functions(tree: ast.Module) -> Iterator[Function]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield Function(node)
        elif isinstance(node, ast.ClassDef):
            yield from (
                Function(part, node) for part in node.body if isinstance(part, ast.FunctionDef)
            )


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    yield from (
        node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function
    )


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, the outer ones first, but for the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting += [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]


def _stores(name: str, function: ast.FunctionDef, at: ast.stmt) -> list[ast.stmt] | None:
    """Return the statements before another that give a name its value, in order.

    None if it is in a loop that gives it one, or in a function inside that has the name.
    """
    if any(isinstance(node, ast.arg) and node.arg == name for node in own_nodes(at)):
        return None
    storing = [
        statement
        for statement in _statements(function)
        if any(
            (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name)
            or (isinstance(node, ast.arg) and node.arg == name)
            for node in own_nodes(statement)
        )
    ]
    for loop in _statements(function):
        holds = loop.lineno <= at.lineno <= (loop.end_lineno or 0)
        if holds and isinstance(loop, ast.For | ast.While | ast.FunctionDef):
            inside = set(map(id, ast.walk(loop)))
            if id(at) in inside and any(id(one) in inside for one in storing):
                return None
    return sorted((one for one in storing if one.lineno < at.lineno), key=lambda one: one.lineno)


def _assigned(name: str, statement: ast.stmt) -> ast.expr | None:
    """Return what a statement assigns to a name, alone or in `a, b = c, d`."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value if ast.unparse(statement.target) == name else None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if ast.unparse(target) == name:
        return value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return next((part for one, part in pairs if ast.unparse(one) == name), None)
    return None


def _inside(value: ast.expr, exact: bool) -> ast.expr:
    """Return the tensor whose axes a value has, out of the calls around it."""
    while isinstance(value, ast.Call):
        called = value.func
        if isinstance(called, ast.Attribute) and _is_name(called.value, "self"):
            adds = any(word in called.attr.lower() for word in _ADDS_AN_AXIS)
            if exact or adds or len(value.args) != 1 or value.keywords:
                return value
            value = value.args[0]
        elif isinstance(called, ast.Attribute) and (
            called.attr in _SAME or (not exact and called.attr in _AXES)
        ):
            if _is_name(called.value, "torch") or _is_name(called.value, "F"):
                return value
            value = called.value
        else:
            return value
    return value


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
