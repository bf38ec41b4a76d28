"""Facts about a line that raised because of other values, or of how Python or torch is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torch import Tensor

from grader.recognition.functions import defaults, statements
from grader.recognition.given import whole_number
from grader.recognition.raised_line import ALLOWED, Fact, Raised, axes, indices, is_index, written


def none(raised: Raised) -> Fact | None:
    """`~mask` where no mask was given."""
    if "NoneType" not in raised.error:
        return None
    for node in raised.nodes():
        used: list[ast.expr] = []
        if isinstance(node, ast.Attribute | ast.Subscript):
            used = [node.value]
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            used = [node.operand]
        elif isinstance(node, ast.BinOp):
            used = [node.left, node.right]
        elif isinstance(node, ast.Compare) and _compares_numbers(node):
            used = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and "not callable" in raised.error:
            used = [node.func]
        elif isinstance(node, ast.Call) and re.match(r"(?:torch|F|nn)\.", ast.unparse(node.func)):
            used = [*node.args, *(keyword.value for keyword in node.keywords)]
        for operand in used:
            name = raised.origin(operand) if isinstance(operand, ast.Name) else ""
            if name in raised.values and raised.values[name] is None:
                code = ast.unparse(operand)
                if raised.given.calls_itself(raised.function) and _refuses_none(raised, code):
                    return None  # the line that passes it on is wrong
                if _asks_for_none(raised, code):
                    return Fact(
                        f"`{code}` is None in this call, and this line uses it all the same.",
                        f"Is `{code}` what you mean here? Should the line run where it is None?",
                    )
                return Fact(
                    f"`{code}` may be None, as in this call. Check `if {code} is not None` first.",
                    f"What should your code do where `{code}` is None?",
                )
    return None


def _asks_for_none(raised: Raised, name: str) -> bool:
    """Return whether another line asks whether that variable is None."""
    tests = [
        ast.unparse(node.test)
        for node in ast.walk(raised.function.node)
        if isinstance(node, ast.If | ast.IfExp) and node is not raised.statement
    ]
    asks = re.compile(rf"(?:not )?{name}(?: is (?:not )?None)?")
    return any(map(asks.fullmatch, tests))


def _refuses_none(raised: Raised, name: str) -> bool:
    """Return whether a parameter has a type and a default that None is not among."""
    node = raised.function.node
    given = {argument.arg: default for argument, default in defaults(node)}
    types = [
        ast.unparse(argument.annotation)
        for argument in (*node.args.args, *node.args.kwonlyargs)
        if argument.arg == name and argument.annotation is not None
    ]
    may_be_none = any(re.search(r"None|Optional|Any", each) for each in types)
    return bool(types) and not may_be_none and getattr(given.get(name), "value", 0) is not None


def none_of_own(raised: Raised) -> Fact | None:
    """`y + self.bias` where `__init__` made `self.bias` None."""
    if "NoneType" not in raised.error:
        return None
    is_called = "not callable" in raised.error
    maker, others = _statements_of_class(raised)
    attributes = [
        operand
        for node in raised.nodes()
        if isinstance(node, ast.Call if is_called else ast.BinOp)
        for operand in ([node.func] if isinstance(node, ast.Call) else [node.left, node.right])
        if isinstance(operand, ast.Attribute) and _may_be_none(operand, maker, others)
    ]
    if len(attributes) != 1:
        return None
    code = ast.unparse(attributes[0])
    return Fact(
        f"`{code}` may be None, as in this call: your own `__init__` sets it. Check "
        f"`if {code} is not None` first.",
        f"What should your code do where `{code}` is None?",
    )


def _statements_of_class(raised: Raised) -> tuple[list[str], list[str]]:
    """Return the statements of `__init__` in the class of the line that raised, and all others."""
    maker: list[str] = []
    others: list[str] = []
    owner = raised.function.owner
    for method in raised.given.code.all if owner is not None else ():
        if method.owner is owner:
            told = maker if method.node.name == "__init__" else others
            told += [ast.unparse(node) for node in statements(method.node)]
    return maker, others


def _may_be_none(attribute: ast.Attribute, maker: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether a line of `__init__` may set an attribute to None, and no other line does."""
    code = ast.unparse(attribute)
    if code != f"self.{attribute.attr}":
        return False
    setting = re.compile(
        rf"^(?:{code}(?:: [^\n=]*)? = (?:.+ else )?None"
        rf"|self\.register_\w+\(['\"]{attribute.attr}['\"], None\))$"
    )
    return any(map(setting.match, maker)) and not any(
        re.match(rf"{code}\b[^\n(]*=[^=]", line) for line in others
    )


def before_super(raised: Raised) -> Fact | None:
    """A layer or parameter that is kept before `super().__init__()` has run."""
    said = re.search(r"cannot assign (\w+) before [\w.]+\.__init__\(\) call", raised.error)
    owner, maker = raised.function.owner, raised.function.node
    if not said or owner is None or maker.name != "__init__":
        return None
    calls = [node for node in ast.walk(maker) if isinstance(node, ast.Call)]
    called = [node.lineno for node in calls if ast.unparse(node.func).endswith("__init__")]
    when = (
        "calls `super().__init__()` only after this line"
        if called
        else ("doesn't call `super().__init__()`")
    )
    return Fact(
        f"`{owner.name}.__init__` {when}. Until that call, it can hold no {said[1].rstrip('s')}.",
        "Which line has to be the first of `__init__`?",
    )


def demanded(raised: Raised) -> Fact | None:
    """An `assert` or a `raise` that refuses what the exercise gives."""
    statement = raised.statement
    if not isinstance(statement, ast.Assert | ast.Raise):
        return None
    inner = [node for node in ast.walk(raised.function.node) if isinstance(node, ast.FunctionDef)]
    if any(statement in ast.walk(node) for node in inner if node is not raised.function.node):
        return None  # the line that calls the inner function may be the wrong one
    if isinstance(statement, ast.Assert):
        test = statement.test
        if raised.error.startswith("AssertionError") and _is_given(raised, test):
            return Fact(
                f"Your `assert` requires `{written(test)}`. The exercise doesn't promise that, and "
                f"it is not true in this call{_held(raised, test)}.",
                "What should your code do with such arguments?",
            )
    if isinstance(statement, ast.Raise):
        for node in ast.walk(raised.function.node):
            if isinstance(node, ast.If) and statement in node.body and _is_given(raised, node.test):
                return Fact(
                    "Your `raise` rejects a call that the exercise allows. In this call, "
                    f"`{written(node.test)}` is true{_held(raised, node.test)}.",
                    "What should your code do in this case?",
                )
    return None


def _held(raised: Raised, test: ast.expr) -> str:
    """Return what a condition asks of this call, such as " (`p` is 1.0)", or ""."""
    names = {part.id for part in ast.walk(test) if isinstance(part, ast.Name)}
    values = []
    for name in sorted(names & set(raised.function.parameters)):
        origin = raised.origin(ast.Name(name, ast.Load()))
        value = raised.values.get(origin)
        if isinstance(value, Tensor):
            values.append(f"`{name}` has the shape {tuple(value.shape)}")
        elif origin in raised.values and isinstance(value, bool | int | float | str):
            values.append(f"`{name}` is {value!r}")
    return f" ({', '.join(values)})" if values else ""


def _is_given(raised: Raised, test: ast.expr) -> bool:
    return raised.given.is_given(test, raised.function, raised.statement)


def by_labels(raised: Raised) -> Fact | None:
    """`logits[torch.arange(n), labels]` where labels have more than one axis."""
    said = re.search(
        r"indexing tensors could not be broadcast together with shapes "
        r"\[(\d+)\], \[(\d+(?:, \d+)+)\]",
        raised.error,
    )
    if not said:
        return None
    for node in raised.nodes():
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
            continue
        parts = node.slice.elts
        if len(parts) != 2 or not re.search(r"\b(?:ar|r)ange\(|^range\(", ast.unparse(parts[0])):
            continue
        if raised.origin(parts[1], "axes"):
            name = ast.unparse(parts[1])
            has = axes(str(said[2].count(",") + 1))
            return Fact(
                f"`{written(node)}` takes one of `{name}` for each row, so `{name}` has to have "
                f"one axis. Here it has {has}. {ALLOWED}",
                f"How would you find the numbers that belong to `{name}`, whatever their shape is?",
            )
    return None


def too_many(raised: Raised) -> Fact | None:
    """`topk(k)` of fewer numbers than k."""
    if "selected index k out of range" not in raised.error:
        return None
    for node in raised.nodes():
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("topk"):
            continue
        named = [keyword.value for keyword in node.keywords if keyword.arg == "k"]
        place = 1 if ast.unparse(node.func) == "torch.topk" else 0
        counts = named or node.args[place : place + 1]
        if counts and (raised.origin(counts[0]) or whole_number(counts[0]) is not None):
            code = ast.unparse(counts[0])
            return Fact(
                f"`{written(node)}` asks for the `{code}` largest, but there are fewer here. "
                f"{ALLOWED}",
                "How many can there be at most, and how many should you ask for then?",
            )
    return None


def out_of_bounds(raised: Raised) -> Fact | None:
    """`mask[:, i]` of a mask whose axis 1 has size 1."""
    said = re.search(
        r"index (\d+) is out of bounds for dimension (\d+) with size (\d+)", raised.error
    )
    if not said:
        return None
    picks = [node for node in raised.nodes() if isinstance(node, ast.Subscript)]
    for node in picks:
        origin = raised.origin(node.value)
        shape = raised.shape(origin)
        if not origin or (shape and shape[int(said[2]) :][:1] != (int(said[3]),)):
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [(n, p) for n, p in enumerate(parts) if not isinstance(p, ast.Slice)]
        if len(indices) != 1 or indices[0][0] != int(said[2]) or not is_index(indices[0][1]):
            continue
        number = whole_number(indices[0][1])
        if number != int(said[1]) and (number is not None or len(picks) > 1):
            continue
        name = ast.unparse(node.value)
        return Fact(
            f"`{written(node)}` reads index {said[1]} on axis {said[2]} of `{name}`. Indices start "
            f"at 0, and that axis has size {said[3]} here, which the exercise allows.",
            f"Which sizes may `{name}` have on that axis, and what does each stand for?",
        )
    return None


def no_index(raised: Raised) -> Fact | None:
    """`x.gather(-1, labels.unsqueeze(-1))` of labels that hold the id -100 of padding."""
    said = re.search(r"index (-\d+) is out of bounds for dimension \d+ with size", raised.error)
    if not said:
        return None
    for _, index in indices(raised):
        name = raised.origin(index, "numbers")
        value = raised.values.get(name)
        if name and (not isinstance(value, Tensor) or bool((value == int(said[1])).any())):
            return Fact(
                f"Every number of `{name}` is an index here, and {said[1]}, which is one of them, "
                f"is not in the range. {ALLOWED}",
                f"What may `{name}` hold besides the ids of tokens, and what should happen there?",
            )
    return None


def in_place(raised: Raised) -> Fact | None:
    """`x.zero_()`, `x += y` and `x[mask] = 0` of what was given."""
    if not re.search("requires grad is being used in an in-place|with out=... arg", raised.error):
        return None
    changed: list[ast.expr] = []
    for node in raised.nodes():
        if isinstance(node, ast.Call):
            changed += [keyword.value for keyword in node.keywords if keyword.arg == "out"]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if re.search(r"[a-z0-9]_$", node.func.attr):
                changed.append(node.func.value)
        elif isinstance(node, ast.AugAssign):
            changed.append(node.target)
        elif isinstance(node, ast.Assign):
            changed += [part.value for part in node.targets if isinstance(part, ast.Subscript)]
    changed = [node.value if isinstance(node, ast.Subscript) else node for node in changed]
    for tensor in changed:
        if isinstance(tensor, ast.Name) and raised.origin(tensor):
            return Fact(
                f"`{written(raised.statement)}` changes `{tensor.id}` itself, which belongs to "
                "the caller.",
                "How do you write this so that it makes a new tensor?",
            )
        if isinstance(tensor, ast.Attribute) and ast.unparse(tensor.value) == "self":
            return Fact(
                f"`{written(raised.statement)}` changes the parameter `{ast.unparse(tensor)}` in "
                "place while autograd records, which it doesn't allow.",
                "Can its numbers be made before they become a parameter?",
            )
    return None


def looked_up(raised: Raised) -> Fact | None:
    """`vocab["<UNK>"]` of a dictionary that was given."""
    said = re.match(r"KeyError: (['\"].+['\"])$", raised.error)
    if not said:
        return None
    for node in raised.nodes():
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
            continue
        if repr(node.slice.value) == said[1] and raised.origin(node.value):
            name = ast.unparse(node.value)
            return Fact(
                f"`{written(node)}` needs the key {said[1]}, which `{name}` may lack, as here.",
                "Which argument says what to look up?",
            )
    return None


def truth_of_a_tensor(raised: Raised) -> Fact | None:
    """`if mask:` and `not mask` of a whole tensor."""
    if "Boolean value of Tensor with more than one value" not in raised.error:
        return None
    tests = [getattr(node, "test", None) for node in raised.nodes()]
    in_tests = {id(part) for test in tests if test is not None for part in ast.walk(test)}
    for node in raised.nodes():
        asked: ast.expr | None = None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            asked = node.operand
            if id(node) not in in_tests:
                return Fact(
                    f"`{written(node)}`: Python's `not` asks whether all of it is false, and that "
                    "is a tensor with many answers.",
                    "Which operator turns True into False, number by number?",
                )
        elif isinstance(node, ast.BoolOp) and isinstance(node.values[0], ast.Call | ast.Compare):
            word = "and" if isinstance(node.op, ast.And) else "or"
            return Fact(
                f"`{written(node)}`: Python's `{word}` asks whether its first part is true as a "
                "whole, and that is a tensor with many answers.",
                "Which operator combines two tensors number by number?",
            )
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            asked = node.test
            if (tested := _tested_for_true(asked)) is not None:
                return Fact(
                    f"`{written(asked)}` compares each number of a whole tensor, and `if` wants a "
                    f"single answer. `{tested} is None` asks whether it was given.",
                    f"What is it that you want to know of `{tested}`?",
                )
            if isinstance(asked, ast.Compare) and _compares_numbers(asked):
                return Fact(
                    f"This line asks whether `{written(asked)}` is true. That is a tensor with an "
                    "answer for each of its numbers, not a single one.",
                    "What should happen for each of them? Which function chooses number by number?",
                )
        if isinstance(asked, ast.Name | ast.Attribute):
            code = ast.unparse(asked)
            return Fact(
                f"This line asks whether `{code}`, a whole tensor, is true. `{code} is None` "
                "asks whether it was given.",
                f"What is it that you want to know of `{code}`?",
            )
    return None


def _tested_for_true(test: ast.expr) -> str | None:
    """Return `mask` of `mask == True`, if that is all that is asked."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name | ast.Attribute):
        return None
    others = test.comparators
    if len(others) > 1 or not isinstance(others[0], ast.Constant):
        return None
    is_flag = isinstance(others[0].value, bool)
    return ast.unparse(test.left) if is_flag and _compares_numbers(test) else None


def _compares_numbers(test: ast.Compare) -> bool:
    return not any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in test.ops)


VALUES = (
    none, none_of_own, before_super, demanded, by_labels, too_many, out_of_bounds, no_index,
    in_place, looked_up, truth_of_a_tensor,
)  # fmt: skip
