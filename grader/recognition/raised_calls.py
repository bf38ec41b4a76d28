"""Facts about a line that calls what cannot take what it is given: NumPy, `math`, torch, Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.recognition.functions import defaults, is_name
from grader.recognition.raised_line import Fact, Raised, in_words, written

_NO_ARRAY = (
    r"Can't call numpy\(\) on Tensor that requires grad|[Uu]nsupported ScalarType|"
    r"^TypeError: \w+\(\) (?:got an unexpected keyword|received an invalid combination)"
)
_ONE_NUMBER = (
    r"only one element tensors can be converted|"
    r"(?:a Tensor with (\d+) elements|only one-element tensors).* (?:to Scalar|to Python scalars)"
)
_DETACHED = " `detach`, which the error advises, would cut the gradient off."
_EMPTY = {
    "stack": r"stack expects a non-empty TensorList",
    "cat": r"cat\(\): expected a non-empty list of Tensors",
    "max": r"max\(\) (?:arg is an empty sequence|iterable argument is empty)",
    "min": r"min\(\) (?:arg is an empty sequence|iterable argument is empty)",
}


def of_numpy(raised: Raised) -> Fact | None:
    """`np.tanh(x)` and `x.numpy()` of a tensor that may need gradients, or be in bfloat16."""
    if not re.search(_NO_ARRAY, raised.error):
        return None
    is_converted = "numpy()" in raised.error or "ScalarType" in raised.error
    advice = _DETACHED if "detach()" in raised.error else ""
    for call in _calls(raised) if is_converted else ():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy":
            return Fact(
                f"`{written(call)}` leaves torch: an array of NumPy has no gradients and no "
                f"bfloat16, and the exercise may need both.{advice}",
                "What do you need the array for, and what does torch have for that?",
            )
    for call in _calls(raised):
        called = ast.unparse(call.func)
        name = called.rpartition(".")[2]
        if re.match(r"(?:np|numpy)\.", called) and (
            f"TypeError: {name}()" in raised.error
            or (is_converted and not any(map(_is_size, call.args)))
        ):
            return Fact(
                f"`{written(call)}` calls NumPy, which is made for arrays of its own. A tensor may "
                f"need gradients or be in bfloat16, and NumPy knows neither.{advice}",
                "Which function of torch does the same?",
            )
    return None


def one_number(raised: Raised) -> Fact | None:
    """`math.sqrt(x)` and `x.item()` of a tensor with many numbers."""
    said = re.search(_ONE_NUMBER, raised.error)
    called_for_one = [
        call
        for call in _calls(raised)
        if re.match(r"math\.|(?:float|int)$", ast.unparse(call.func))
        and any(_holds_a_name(each) and not _is_one(each, raised) for each in call.args)
    ]
    for call in called_for_one if said and not said[1] else ():
        called = ast.unparse(call.func)
        if not called.startswith("math.") and len(called_for_one) > 1:
            break
        asks = (
            "Which function of torch does the same for every number of a tensor?"
            if called.startswith("math.")
            else "What does each of its numbers belong to: a row of the batch, a head, a token?"
        )
        return Fact(
            f"`{called}` takes a single number, and `{written(call)}` passes it a tensor with "
            "many.",
            asks,
        )
    for call in _calls(raised) if said else ():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "item":
            held = f" It holds {said[1]} here." if said and said[1] else ""
            return Fact(
                f"`{written(call)}` is for a tensor with a single number.{held}",
                "What does each of its numbers belong to: a row of the batch, a head, a token?",
            )
    return None


def of_a_number(raised: Raised) -> Fact | None:
    """`torch.sqrt(2)` and `torch.maximum(x, 0)`: torch's functions take tensors."""
    said = re.search(
        r"^TypeError: (\w+)\(\)(?:: argument '\w+' \(position (\d)\) must be Tensor, not (?:int|"
        r"float)| received an invalid combination of arguments - got \((?:int|float)\b)",
        raised.error,
    )
    calls = [
        call for call in _calls(raised) if said and ast.unparse(call.func) == f"torch.{said[1]}"
    ]
    if said is None or len(calls) != 1 or len(calls[0].args) < int(said[2] or 1):
        return None
    number = written(calls[0].args[int(said[2] or 1) - 1])
    return Fact(
        f"`torch.{said[1]}` takes tensors, and in `{written(calls[0])}`, `{number}` is a plain "
        "number.",
        "Which function takes plain numbers, or how do you make a tensor of one?",
    )


def of_nothing(raised: Raised) -> Fact | None:
    """`torch.stack([])` and `max([])`."""
    for name, text in _EMPTY.items():
        for call in _calls(raised) if re.search(text, raised.error) else ():
            if ast.unparse(call.func) in (name, f"torch.{name}"):
                return Fact(
                    f"`{written(call)}` needs at least one item, and here there is none.",
                    "When is there none, and what should your code do then?",
                )
    return None


def of_unequal_shapes(raised: Raised) -> Fact | None:
    """`torch.stack` of gradients, each with the shape of its parameter."""
    said = re.search(
        r"stack expects each tensor to be equal size, but got (\[.*?\]) at entry 0 and (\[.*?\])",
        raised.error,
    )
    for call in _calls(raised):
        if said and ast.unparse(call.func) == "torch.stack":
            one, other = (shape.replace("[", "(").replace("]", ")") for shape in said.groups())
            return Fact(
                f"`{written(call)}` joins tensors of one shape only. Here one has the shape {one}, "
                f"another {other}.",
                "Which shapes can they have, and what do you need of each?",
            )
    return None


def of_other_arguments(raised: Raised) -> Fact | None:
    """`layer(x, mask)` of a function that takes `x` only, and `decode(tgt)` that takes more."""
    missing = re.search(
        r"^TypeError: ([\w.]+)\(\) missing \d+ required positional arguments?: (.+)$", raised.error
    )
    many = re.search(
        r"^TypeError: [\w.]+\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) ",
        raised.error,
    )
    if missing:
        owner, _, name = missing[1].rpartition(".")
        wanted = owner if name == "__init__" else name
        calls = [c for c in _calls(raised) if ast.unparse(c.func).rpartition(".")[2] == wanted]
        if len(calls) == 1:
            lacks = missing[2].replace("'", "`")
            return Fact(
                f"`{written(calls[0])}` lacks an argument: {lacks}.",
                f"What does the `def` line of `{wanted}` ask for, in which order?",
            )
    if many:
        takes, given = int(many[1]) - 1, int(many[2]) - 1
        calls = [
            call
            for call in _calls(raised)
            if len(call.args) == given and not any(isinstance(a, ast.Starred) for a in call.args)
        ]
        if len(calls) == 1 and re.match(r"^TypeError: \w+\.", raised.error):
            return Fact(
                f"`{written(calls[0])}` passes {in_words(str(given))} arguments by position, and "
                f"`{ast.unparse(calls[0].func)}` takes {in_words(str(takes))}.",
                "What does it take, and does it need the others?",
            )
    return None


def not_a_function(raised: Raised) -> Fact | None:
    """`self.activation(x)` of a text, and `self.heads(x)` of a list, that `__init__` keeps."""
    said = re.search(r"^TypeError: '(list|tuple|dict|str|int|float|bool)' object", raised.error)
    for call in _calls(raised) if said and "not callable" in raised.error else ():
        called = call.func
        if not isinstance(called, ast.Attribute) or not is_name(called.value, "self"):
            continue
        kept = raised.given.kept(called.attr, raised.function)
        if said and kept is not None and _is_of_type(kept[0], said[1], kept[1].node):
            return Fact(
                f"`{written(call)}` calls `{ast.unparse(called)}` like a function. Line "
                f"{kept[2].lineno}, `{written(kept[2])}`, keeps something of the "
                f"type `{said[1]}` there.",
                f"What should `{ast.unparse(called)}` be, so that it can be called?",
            )
    return None


def _is_of_type(value: ast.expr, name: str, maker: ast.FunctionDef) -> bool:
    """Return whether an expression, or the parameter that it names, certainly has that type."""
    literal: tuple[type[ast.expr], ...] = {
        "list": (ast.List, ast.ListComp),
        "tuple": (ast.Tuple,),
        "dict": (ast.Dict, ast.DictComp),
    }.get(name, ())
    if isinstance(value, literal):
        return True
    if isinstance(value, ast.Constant):
        return type(value.value).__name__ == name
    arguments = [*maker.args.args, *maker.args.kwonlyargs]
    typed = {
        argument.arg: ast.unparse(argument.annotation)
        for argument in arguments
        if argument.annotation is not None
    } | {
        argument.arg: type(default.value).__name__
        for argument, default in defaults(maker)
        if isinstance(default, ast.Constant)
    }
    return isinstance(value, ast.Name) and typed.get(value.id) == name


def class_for_a_layer(raised: Raised) -> Fact | None:
    """`self.activation(x)` where `__init__` keeps `nn.ReLU`, not `nn.ReLU()`."""
    said = re.search(r"must be Tensor, not ([A-Z]\w+)$", raised.error)
    if said is None:
        return None
    calls = [node for node in ast.walk(raised.function.node) if isinstance(node, ast.Call)]
    for call in calls:
        called = call.func
        if not isinstance(called, ast.Attribute) or not is_name(called.value, "self"):
            continue
        kept = raised.given.kept(called.attr, raised.function)
        parts = [*ast.walk(kept[0])] if kept else []
        made = {id(part.func) for part in parts if isinstance(part, ast.Call)}
        for part in parts:
            is_class = isinstance(part, ast.Attribute | ast.Name) and id(part) not in made
            if kept and is_class and ast.unparse(part).rpartition(".")[2] == said[1]:
                return Fact(
                    f"Line {kept[2].lineno}, `{written(kept[2])}`, keeps the class "
                    f"`{ast.unparse(part)}`. So `{written(call)}` makes a layer and applies none.",
                    "What makes a layer of a class?",
                    kept[2].lineno,
                )
    return None


def _is_size(value: ast.expr) -> bool:
    """Return whether an expression is `x.size(1)` or `x.shape[1]`."""
    return bool(re.fullmatch(r"[\w.]+\.(?:size\(-?\d\)|shape\[-?\d\])", ast.unparse(value)))


def _is_one(value: ast.expr, raised: Raised) -> bool:
    """Return whether an expression is certainly a single number, such as the size of an axis."""
    sized = raised.given.dimension(value, raised.function, raised.statement)
    return (
        _is_size(value)
        or sized is not None
        or isinstance(raised.values.get(raised.origin(value)), int | float)
    )


def _calls(raised: Raised) -> Iterator[ast.Call]:
    return (node for node in raised.nodes() if isinstance(node, ast.Call))


def _holds_a_name(value: ast.expr) -> bool:
    """Return whether there is a variable in an expression, that is not a module."""
    return any(
        isinstance(node, ast.Name) and node.id not in ("math", "torch") for node in ast.walk(value)
    )


CALLS = (
    of_numpy, one_number, of_a_number, of_nothing, of_unequal_shapes, of_other_arguments,
    not_a_function, class_for_a_layer,
)  # fmt: skip
