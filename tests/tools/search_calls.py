"""What the search over torch calls: operators, Python functions, modules, and with what."""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import pkgutil
import random
import signal
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from tests.tools.search_tasks import Named, Task

COMBINATIONS = 160
# What talks to other machines, takes over the process or only draws, and what no CPU runs.
SKIPPED = (
    "torch.distributed",
    "torch.testing._internal.distributed",
    "torch.utils.benchmark",
    "torch.utils.tensorboard",
    "torch.utils.bottleneck",
    "torch.utils.hipify",
    "torch.utils.model_dump",
    "torch.cuda",
    "torch.xpu",
    "torch.mtia",
    "torch.mps",
    "torch._inductor.kernel",
    "torch._inductor.codegen",
    "torch._inductor.runtime",
    "torch._inductor.compile_worker",
    "torch._inductor.autoheuristic",
    "torch._vendor",
    "torch.__main__",
)


def operators() -> Iterator[str]:
    """Every overload of every operator of the dispatcher that computes."""
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        space = name.partition("::")[0]
        if space not in ("c10d", "_c10d_functional", "symm_mem", "profiler", "_test"):
            yield name


def functions(inside: Sequence[str]) -> Iterator[str]:
    """Everything of these modules of torch's that can be called, as `module:name`.

    That is each function, each class of layers, each object with `__call__`; with `name.method`
    what a class offers without an object of it; with `name[key]` what a table of functions holds.
    """
    seen: set[int] = set()
    outer = [
        (name, attribute, value)
        for name in sorted(modules(inside))
        for attribute, value in sorted(vars(sys.modules[name]).items())
    ]
    inner = [(name, *pair) for name, attribute, value in outer for pair in _inner(attribute, value)]
    for name, path, function in (*outer, *inner):
        if id(function) not in seen and _is_torchs(function):
            seen.add(id(function))
            yield f"{name}:{path}"


def _inner(attribute: str, value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [(f"{attribute}[{key}]", item) for key, item in list(value.items())]
    if not isinstance(value, type) or not str(value.__module__).startswith("torch"):
        return []
    free = [
        name
        for name, member in list(vars(value).items())
        if isinstance(member, (staticmethod, classmethod))
        # A layer's own methods are tried on objects of it; those of an autograd function are free.
    ] + ["apply"] * issubclass(value, torch.autograd.Function)
    return [(f"{attribute}.{name}", getattr(value, name, None)) for name in free]


def _is_torchs(value: object) -> bool:
    if isinstance(value, type):
        return issubclass(value, nn.Module) and str(value.__module__).startswith("torch")
    # Operators are searched by themselves.
    known = (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops._OpNamespace)
    home = str(getattr(value, "__module__", None) or type(value).__module__ or "torch")
    return (
        callable(value) and not isinstance(value, known) and home.startswith(("torch", "builtins"))
    )


def modules(inside: Sequence[str]) -> set[str]:
    """These modules of torch's and all below them, imported, as far as they can be here."""
    waiting = list(inside)
    while waiting:
        name = waiting.pop()
        if name.startswith(SKIPPED):
            continue
        try:
            with Limited(60):
                module = importlib.import_module(name)
        except BaseException:
            continue
        path = getattr(module, "__path__", None)
        if path:
            waiting += [iter_module.name for iter_module in pkgutil.iter_modules(path, f"{name}.")]
    names = [name for name, module in sys.modules.items() if isinstance(module, types.ModuleType)]
    inner = tuple(f"{name}." for name in inside)
    wanted = {name for name in names if name in inside or name.startswith(inner)}
    return {name for name in wanted if not name.startswith(SKIPPED)}


class Limited:
    """Ends what takes more CPU time, or waits four times as long, with `TimeoutError`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, self.ring)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        signal.setitimer(signal.ITIMER_REAL, 4 * self.seconds)

    def __exit__(self, *_: object) -> None:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)

    @staticmethod
    def ring(*_: object) -> None:
        raise TimeoutError


def resolve(name: str) -> Callable[..., Any]:
    """What a name stands for, ready to be called."""
    if "::" in name:
        operator, _, overload = name.partition(".")
        space, _, base = operator.partition("::")
        result = getattr(getattr(getattr(torch.ops, space), base), overload or "default")
        named = [argument.name for argument in result._schema.arguments if argument.kwarg_only]
        if not named:
            return result  # type: ignore[no-any-return]
        return lambda *given: result(
            *given[: -len(named)], **dict(zip(named, given[-len(named) :], strict=True))
        )
    module, _, path = name.partition(":")
    path, bracket, key = path.partition("[")
    result = attrgetter(path)(importlib.import_module(module))
    if bracket:
        result = next(item for known, item in result.items() if f"{known}]" == key)
    if isinstance(result, type):
        return lambda *arguments: result(*arguments[:-1])(arguments[-1])
    return result  # type: ignore[no-any-return]


def candidates(task: Task, name: str, function: Callable[..., Any]) -> list[Sequence[Any]]:
    """What each argument may be, for every argument that has no default."""
    all_values = [*task.tensors, *task.numbers, *task.lists, None, False, True]
    if "::" in name:
        schema = torch._C._dispatch_find_schema_or_throw(*(name + ".").split(".")[:2]).schema()
        kinds: dict[str, list[Any]] = {
            "Tensor": [*task.tensors],
            "Optional[Tensor]": [None, *task.tensors[1:]],
            "List[Tensor]": [
                list(task.tensors),
                *[[tensor] for tensor in task.tensors],
                *task.lists,
            ],
            "bool": [False, True],
        }
        numbers = [number for number in task.numbers if not isinstance(number, str)]
        texts = [item for item in task.numbers if isinstance(item, str)]
        chosen: list[Sequence[Any]] = []
        for argument in schema.arguments:
            kind = str(argument.type)
            default = [argument.default_value] if argument.has_default_value() else []
            if kind in kinds:
                chosen.append(kinds[kind])
            elif kind == "str":
                chosen.append([*default, *texts])
            elif default:
                chosen.append([*default, *(numbers[:1] if kind in ("int", "float") else [])])
            elif kind.startswith("List"):
                chosen.append([*task.lists, [1]])
            elif kind.startswith("Optional"):
                chosen.append([None, *numbers])
            else:
                chosen.append(numbers or [1])
        return chosen
    if not isinstance(function, types.FunctionType) or function.__name__ == "<lambda>":
        return [all_values] * 3
    wanted = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    is_variadic = any(
        one.kind is one.VAR_POSITIONAL for one in inspect.signature(function).parameters.values()
    )
    return [all_values] * (len(wanted) or (3 if is_variadic else 0))


def combinations(task: Task, name: str, function: Callable[..., Any]) -> Iterator[list[Any]]:
    """Lists of arguments, the likeliest first: tensors in their order, then numbers in theirs."""
    chosen = candidates(task, name, function)
    if "::" in name:
        yield from sampled(chosen)
        return
    yield from by_name(task, function)
    pool = [*task.tensors, *task.numbers, *task.lists, None, False, True]
    for length in (
        {len(chosen), 1, 2, 3} if not isinstance(function, types.FunctionType) else {len(chosen)}
    ):
        for start in range(min(length, len(task.tensors)), 0, -1):
            tails = itertools.product(pool, repeat=length - start)
            for tail in itertools.islice(tails, COMBINATIONS // 3):
                yield [*task.tensors[:start], *tail]
        yield from map(list, itertools.islice(itertools.product(pool, repeat=length), 50))


def by_name(task: Task, function: Callable[..., Any]) -> Iterator[list[Any]]:
    """What the names of the parameters suggest: with all that are known, and with the needed."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    known = [
        item.name for item in parameters if item.name in task.named and item.name not in needed
    ]
    if task.named.keys() & {*needed, *known}:
        for names in ([*needed, *known], needed):
            yield [Named({name: task.named.get(name) for name in names})]


def sampled(chosen: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """All combinations if they are few, else as many as are allowed, likelier ones more often.

    Mostly each tensor argument takes the next tensor, and each other one its first value.
    """
    if math.prod(map(len, chosen)) <= COMBINATIONS:
        yield from map(list, itertools.product(*chosen))
        return
    draw = random.Random(0)
    likely, tensors = [], 0
    for some in chosen:
        is_tensor = isinstance(some[0], Tensor)
        likely.append(some[tensors % len(some)] if is_tensor else some[0])
        tensors += is_tensor
    for _ in range(COMBINATIONS):
        pairs = zip(likely, chosen, strict=True)
        yield [first if draw.random() < 0.7 else draw.choice(some) for first, some in pairs]


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments anew, since a call may change them."""
    return [
        Named(zip(argument, copies([*argument.values()]), strict=True))
        if isinstance(argument, Named)
        else argument.clone()
        if isinstance(argument, Tensor)
        else argument
        for argument in arguments
    ]


def carry_out(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The call with copies of these arguments, of which the last may be those with names."""
    given = copies(arguments)
    named = given.pop() if given and isinstance(given[-1], Named) else {}
    return function(*given, **named)
