"""Searches torch for everything that does an exercise's work, whatever it is called.

`python tests/search_torch.py` calls each operator of the dispatcher and each function of each
module of torch with arguments that an exercise suggests, and keeps those whose result is the
exercise's answer in `tests/forbidden/found.json`, with the arguments. `tests/test_search.py` calls
those again under the guard. To be run for each new torch, on a machine that does nothing else. What
is in the file was found among the operators (`--operators --dtypes float64`).
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import json
import math
import os
import pkgutil
import random
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FOUND = Path(__file__).parent / "forbidden" / "found.json"
COMBINATIONS = 160
SECONDS = 1
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


@dataclass(frozen=True)
class Task:
    """An exercise as a search sees it: what may be handed to a call, and what must not come out.

    `tensors`, `numbers` and `lists` are in the order in which they are tried.
    """

    tensors: Sequence[Tensor]
    answers: Sequence[Tensor]
    numbers: Sequence[Any] = ()
    lists: Sequence[Any] = ()
    random: bool = False


def _drawn(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(math.prod(shape))
    return torch.randn(shape, generator=generator, dtype=dtype)


def tasks(dtype: torch.dtype) -> dict[str, Task]:
    """The tasks, by exercise, computed without anything that is searched for."""
    x = _drawn(2, 3, 8, dtype=dtype)
    weight, bias = _drawn(8, dtype=dtype), _drawn(8, dtype=dtype) * 2
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    plain = (x - mean) / (variance + 1e-5).sqrt()
    heads = _drawn(2, 2, 3, 4, dtype=dtype)
    key, value = _drawn(2, 2, 3, 4, dtype=dtype) + 0.3, _drawn(2, 2, 3, 4, dtype=dtype).flip(-1)
    scores = heads @ key.mT / 2
    ids = torch.tensor([[1, 2, 0], [3, 3, 1]])
    table, matrix = _drawn(5, 8, dtype=dtype), _drawn(6, 8, dtype=dtype)
    steep = 0.7978845608028654 * (x + 0.044715 * x**3)
    rows = [torch.tensor([1, 2, 3]), torch.tensor([4, 5])]
    triangle = torch.ones(5, 5).tril()
    return {
        "layer_norm": Task(
            (x, weight, bias, x.view(6, 8), x.view(1, 6, 8)),
            tuple(
                one.view(shape)
                for one in (plain, plain * weight + bias, plain * weight, plain + bias)
                for shape in ((2, 3, 8), (6, 8), (1, 6, 8))
            ),
            (1e-5, 8, 2, -1, 1),
            ((8,), [2], [-1], [3, 8], (8,)),
        ),
        "attention": Task(
            (heads, key, value, torch.zeros(3, 3, dtype=dtype)),
            (scores.softmax(-1) @ value,),
            (0.5, 2.0, 0.0, 2, 4),
            ([2, 3], (8,)),
        ),
        "embedding": Task((table, ids), (torch.stack([table[one] for one in ids]),), (-1, 0, 1)),
        "linear": Task(
            (x, matrix, _drawn(6, dtype=dtype)),
            (x @ matrix.T, x @ matrix.T + _drawn(6, dtype=dtype)),
            (1, 1.0),
        ),
        "activations": Task(
            (x, x.clone()),
            (
                2 / (1 + (-2 * x).exp()) - 1,
                x * (x > 0),
                x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
                x / (1 + (-2 * steep).exp()),
            ),
            (0, 0.0, 1, 1.0, "none", "tanh"),
        ),
        "tokens": Task(
            (ids, *rows),
            (torch.eye(5)[ids], torch.tensor([[1, 2, 3], [4, 5, 0]])),
            (5, 0, -1),
            (rows,),
        ),
        "masks": Task(
            (triangle[0],),
            (triangle, triangle.bool(), triangle.log()),
            (5, 1),
            ((5, 5),),
        ),
        "dropout": Task((x, torch.ones_like(x)), (x,), (0.5, True), random=True),
    }


def is_answer(task: Task, value: Any) -> bool:
    """Whether this result, or a part of it, does the exercise's work."""
    if isinstance(value, (tuple, list)):
        return any(is_answer(task, one) for one in value[:8])
    if not isinstance(value, Tensor) or value.is_meta:
        return False
    if value.layout != torch.strided:
        value = value.to_dense()
    if task.random:
        (x,) = task.answers
        if value.shape != x.shape or value.dtype != x.dtype:
            return False
        kept = value != 0
        return bool(0 < kept.sum() < x.numel()) and torch.allclose(value[kept], 2 * x[kept])
    for answer in task.answers:
        if value.shape == answer.shape and (value.dtype == torch.bool) == (
            answer.dtype == torch.bool
        ):
            close = torch.allclose(value.to(answer.dtype), answer, rtol=1e-4, atol=1e-6)
            if close and not any(value is tensor for tensor in task.tensors):
                return True
    return False


def operators() -> Iterator[str]:
    """Every overload of every operator of the dispatcher that computes."""
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        space = name.partition("::")[0]
        if space not in ("c10d", "_c10d_functional", "symm_mem", "profiler", "_test"):
            yield name


def functions(inside: Sequence[str]) -> Iterator[str]:
    """Every function and module class of these modules of torch's, as `module:name`."""
    seen: set[int] = set()
    for name in sorted(modules(inside)):
        module = sys.modules[name]
        for attribute, value in sorted(vars(module).items()):
            torchs = str(getattr(value, "__module__", None) or "torch").startswith("torch")
            layer = isinstance(value, type) and issubclass(value, nn.Module)
            kinds = (types.FunctionType, types.BuiltinFunctionType)
            if torchs and (layer or isinstance(value, kinds)) and id(value) not in seen:
                seen.add(id(value))
                yield f"{name}:{attribute}"


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
            waiting += [one.name for one in pkgutil.iter_modules(path, f"{name}.")]
    names = [name for name, module in sys.modules.items() if isinstance(module, types.ModuleType)]
    inner = tuple(f"{name}." for name in inside)
    wanted = {name for name in names if name in inside or name.startswith(inner)}
    return {name for name in wanted if not name.startswith(SKIPPED)}


class Limited:
    """Ends what takes more processor time, with `TimeoutError`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self.ring)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    @staticmethod
    def ring(*_: object) -> None:
        raise TimeoutError


def resolve(name: str) -> Callable[..., Any]:
    """What a name stands for, ready to be called."""
    if "::" in name:
        operator, _, overload = name.partition(".")
        space, _, base = operator.partition("::")
        found = getattr(getattr(getattr(torch.ops, space), base), overload or "default")
        named = [one.name for one in found._schema.arguments if one.kwarg_only]
        if not named:
            return found  # type: ignore[no-any-return]
        return lambda *given: found(
            *given[: -len(named)], **dict(zip(named, given[-len(named) :], strict=True))
        )
    module, _, path = name.partition(":")
    found = attrgetter(path)(importlib.import_module(module))
    if isinstance(found, type):
        return lambda *arguments: found(*arguments[:-1])(arguments[-1])
    return found  # type: ignore[no-any-return]


def candidates(task: Task, name: str, found: Callable[..., Any]) -> list[Sequence[Any]]:
    """What each argument may be, for every argument that has no default."""
    everything = [*task.tensors, *task.numbers, *task.lists, None, False, True]
    if "::" in name:
        schema = torch._C._dispatch_find_schema_or_throw(*(name + ".").split(".")[:2]).schema()
        kinds: dict[str, list[Any]] = {
            "Tensor": [*task.tensors],
            "Optional[Tensor]": [None, *task.tensors[1:]],
            "List[Tensor]": [list(task.tensors), *[[one] for one in task.tensors], *task.lists],
            "bool": [False, True],
        }
        numbers = [one for one in task.numbers if not isinstance(one, str)]
        texts = [one for one in task.numbers if isinstance(one, str)]
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
    if not isinstance(found, types.FunctionType) or found.__name__ == "<lambda>":
        return [everything] * 3
    wanted = [
        one
        for one in inspect.signature(found).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    rest = any(
        one.kind is one.VAR_POSITIONAL for one in inspect.signature(found).parameters.values()
    )
    return [everything] * (len(wanted) or (3 if rest else 0))


def combinations(task: Task, name: str, found: Callable[..., Any]) -> Iterator[list[Any]]:
    """Lists of arguments, the likeliest first: tensors in their order, then numbers in theirs."""
    chosen = candidates(task, name, found)
    if "::" in name:
        yield from sampled(chosen)
        return
    pool = [*task.tensors, *task.numbers, *task.lists, None, False, True]
    for length in (
        {len(chosen), 1, 2, 3} if not isinstance(found, types.FunctionType) else {len(chosen)}
    ):
        for start in range(min(length, len(task.tensors)), 0, -1):
            rest = itertools.product(pool, repeat=length - start)
            for others in itertools.islice(rest, COMBINATIONS // 3):
                yield [*task.tensors[:start], *others]
        yield from map(list, itertools.islice(itertools.product(pool, repeat=length), 50))


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
        yield [one if draw.random() < 0.7 else draw.choice(some) for one, some in pairs]


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments anew, since a call may change them."""
    return [one.clone() if isinstance(one, Tensor) else one for one in arguments]


def hits(task: Task, name: str) -> list[Any] | None:
    """The arguments with which this does the exercise's work, if it does."""
    with Limited(SECONDS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = resolve(name)
        for arguments in combinations(task, name, found):
            try:
                if is_answer(task, found(*copies(arguments))):
                    return arguments
            except TimeoutError:
                raise
            except BaseException:
                continue
    return None


def describe(task: Task, arguments: Sequence[Any]) -> list[Any]:
    """Arguments as JSON: a tensor of the task by its number, a list of them by theirs."""
    described: list[Any] = []
    for one in arguments:
        numbers = [number for number, tensor in enumerate(task.tensors) if tensor is one]
        if numbers:
            described.append({"tensor": numbers[0]})
        elif isinstance(one, list) and any(isinstance(item, Tensor) for item in one):
            described.append({"tensors": [describe(task, [item])[0]["tensor"] for item in one]})
        else:
            described.append(one)
    return described


def recall(task: Task, described: Sequence[Any]) -> list[Any]:
    """The arguments that `describe` described."""
    found: list[Any] = []
    for one in described:
        if isinstance(one, dict) and "tensor" in one:
            found.append(task.tensors[one["tensor"]].clone())
        elif isinstance(one, dict):
            found.append([task.tensors[item].clone() for item in one["tensors"]])
        else:
            found.append(one)
    return found


def search(task: Task, names: Sequence[str]) -> dict[str, list[Any]]:
    """All of these that do the exercise's work; each crash costs one process and is passed over."""
    found: dict[str, list[Any]] = {}
    position = 0
    while position < len(names):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            for descriptor in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            for name in names[position:]:
                line: Any = None
                try:
                    arguments = hits(task, name)
                    line = arguments if arguments is None else describe(task, arguments)
                    text = json.dumps(line)
                except BaseException:
                    text = "null"
                os.write(writing, (text + "\n").encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            for line in pipe:
                arguments = json.loads(line)
                if arguments is not None:
                    found[names[position]] = arguments
                position += 1
        os.waitpid(child, 0)
        position += 1  # what ended the process, or the end
    return found


def main() -> None:
    """Searches and writes what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("exercises", nargs="*", default=[*tasks(torch.float64)])
    parser.add_argument("--out", type=Path, default=FOUND)
    parser.add_argument("--operators", action="store_true", help="none of the Python functions")
    parser.add_argument("--inside", nargs="*", default=["torch"], help="functions of these modules")
    parser.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    F.layer_norm(torch.ones(2), (2,))
    names = [*operators()] if arguments.operators else [*operators(), *functions(arguments.inside)]
    found: dict[str, Any] = {"torch": torch.__version__}
    for dtype in (getattr(torch, name) for name in arguments.dtypes):
        for exercise in arguments.exercises:
            task = tasks(dtype)[exercise]
            pairs = search(task, names)
            entry = found.setdefault(exercise, {})
            kind = str(dtype).removeprefix("torch.")
            entry |= {name: [kind, given] for name, given in pairs.items() if name not in entry}
            print(f"{exercise:<12} {kind} {len(pairs):4} of {len(names)}", flush=True)
            arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
