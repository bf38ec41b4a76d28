"""The from-scratch rule, kept as the code runs, in the process that holds the student's code.

A rule maps the readable name of what is forbidden to its targets. A target is one of

- an operator of torch's dispatcher, `"aten::native_layer_norm"`. Its kernels are replaced, and they
  are what every way of calling it ends in: `F`, `nn`, `torch._C`, `torch.ops`, a tensor's method,
  TorchScript; in another thread, under `vmap`, in any autograd mode, with Python's modes disabled.
- a Python function, `"torch.nn.functional:multi_head_attention_forward"`. Its code is replaced in
  place, so that a reference taken earlier leads to the new code as well.
- a class, `"torch.nn:LayerNorm"`. The methods of it and of all its subclasses, the student's own
  included, are replaced like functions.

Nothing is hooked into calls that are allowed, so they cost what they always cost.

Pages: https://docs.pytorch.org/docs/stable/library.html, on registering kernels, and
https://blog.ezyang.com/2020/09/lets-talk-about-the-pytorch-dispatcher/, on what a kernel is.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import inspect
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, NoReturn

import torch
from torch._C import _dispatch_has_kernel_for_dispatch_key as _has_kernel
from torch._C import _dispatch_library as _library

Rule = Mapping[str, Sequence[str]]
Stop = Callable[..., NoReturn]

# Where torch keeps kernels that compute on the CPU. Autograd, autocast and the rest are layers
# above these, which pass on to them. What sparse tensors have passes on as well.
_KEYS: list[Any] = [
    torch._C._parse_dispatch_key(key)
    for key in (
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
        "CPU",
        "MkldnnCPU",
        "NestedTensorCPU",
        "FuncTorchBatched",
        "FuncTorchBatchedDecomposition",
        "FuncTorchVmapMode",
        "FuncTorchDynamicLayerFrontMode",
    )
]

# The full names of every operator's overloads, by the operator's: aten::tanh and aten::tanh.out.
_OVERLOADS: defaultdict[str, list[str]] = defaultdict(list)
for _name in torch._C._dispatch_get_all_op_names():
    _OVERLOADS[_name.partition(".")[0]].append(_name)


class ForbiddenCall(BaseException):
    """Raised in place of the call. Its text names what was called.

    It is no `Exception`, so that a student's `except Exception` does not hide it.
    """


class _Targets:
    """What one rule names, found in this process. Each comes with what to call in its place."""

    def __init__(self) -> None:
        self.operators: dict[str, Stop] = {}
        self.kernels: list[tuple[str, Any, Stop]] = []
        self.functions: list[tuple[FunctionType, Stop]] = []
        self.classes: list[tuple[type, Stop]] = []

    def find(self, target: str, stop: Stop) -> None:
        """Adds a target. Raises `AttributeError` or `KeyError` if torch does not have it."""
        if "::" in target:
            for operator in _OVERLOADS[target]:
                self.operators[operator] = stop
                keys = [key for key in _KEYS if _has_kernel(operator, key)]
                self.kernels += [(operator, key, stop) for key in keys]
            return
        module, _, path = target.partition(":")
        found = attrgetter(path)(sys.modules[module])
        if isinstance(found, type):
            self.classes.append((found, stop))
        else:
            self.functions.append((inspect.unwrap(found), stop))


class Guard:
    """Keeps rules in this process, each from when it is armed and for good.

    `rules` are those of the exercises whose code will come, by exercise. What they name is found
    here, so a guard is to be made before any code of the student's is imported: that may change
    torch's own modules, and what it took hold of has to be found still. Targets that this version
    of torch does not have are passed over.
    """

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._seen: list[str] = []
        self._in_force = False
        self._stopped: dict[str, Stop] = {}
        self._originals: list[tuple[CodeType, Stop]] = []
        self._targets = {exercise: self._found(rule) for exercise, rule in rules.items() if rule}
        if self._targets:
            self._close_side_doors()

    def _found(self, rule: Rule) -> _Targets:
        targets = _Targets()
        for name, names in rule.items():
            for target in names:
                with contextlib.suppress(KeyError, AttributeError):
                    targets.find(target, functools.partial(self._stop, name))
        return targets

    def arm(self, exercise: str) -> None:
        """Puts the exercise's rule in force, if it has one, once the student's module is imported.

        What a module does while it is imported, comparing itself with torch say, is its own affair.
        """
        targets = self._targets.get(exercise)
        if targets is None:
            return
        _replace_kernels([one for one in targets.kernels if one[0] not in self._stopped])
        self._stopped.update(targets.operators)
        methods = [(method, stop) for kind, stop in targets.classes for method in _methods(kind)]
        for function, stop in (*targets.functions, *methods):
            if not _replaced(function):
                self._originals.append((function.__code__, stop))
            _replace_code(function, stop)
        if "torch._dynamo" in sys.modules:
            # What torch.compile made so far is thrown away, and made anew under the rule.
            sys.modules["torch._dynamo"].reset()
        self._in_force = True

    def take(self) -> list[str]:
        """The names of what was called since the last `take`, each once, in their order."""
        names = list(dict.fromkeys(self._seen))
        self._seen.clear()
        return names

    def _stop(self, name: str, *_args: object, **_kwargs: object) -> NoReturn:
        self._seen.append(name)
        raise ForbiddenCall(f"{name} may not be used in this exercise")

    def _close_side_doors(self) -> None:
        """Watches the objects of torch that hold kernels, or code that was compiled from Python.

        They can be made while the module is imported and run later without the dispatcher, or
        without the Python function that they were made from.
        """
        for kind, method, check in (
            ("_SafeKernelFunction", "call_boxed", self._check_kernel),
            ("ScriptFunction", "__call__", self._check_graph),
            ("ScriptMethod", "__call__", self._check_graph),
            ("StaticModule", "__call__", self._check_static),
            ("StaticModule", "runAsync", self._check_static),
        ):
            owner = getattr(torch._C, kind, None)
            if owner is not None:
                setattr(owner, method, self._checked(getattr(owner, method), check))

    def _checked(
        self, method: Callable[..., Any], check: Callable[[Any], None]
    ) -> Callable[..., Any]:
        def checked(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if self._in_force:
                check(owner)
            return method(owner, *args, **kwargs)

        return checked

    def _check_kernel(self, kernel: Any) -> None:
        schema = kernel.op_handle.schema()
        stop = self._stopped.get(f"{schema.name}.{schema.overload_name}".removesuffix("."))
        if stop is not None:
            stop()

    def _check_graph(self, compiled: Any) -> None:
        # Each line of a printed graph ends with the place in the source that it was compiled from.
        places = set(re.findall(r"# (.+):(\d+):\d+$", str(compiled.inlined_graph), re.MULTILINE))
        for code, stop in self._originals:
            lines = {line for _, _, line in code.co_lines()}
            if any(file == code.co_filename and int(line) in lines for file, line in places):
                stop()

    def _check_static(self, _module: Any) -> None:
        self._stop("torch._C.StaticModule")


def _replace_kernels(kernels: Sequence[tuple[str, Any, Stop]]) -> None:
    if not kernels:
        return
    library = _library("IMPL", "aten", "", __file__, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns when a kernel is replaced
        for operator, key, stop in kernels:
            library.impl(operator.removeprefix("aten::"), key, stop)
    # The kernels live as long as the library does. One reference that no Python object holds keeps
    # it out of reach: it cannot be found with gc and reset.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))


def _methods(kind: type) -> Iterator[FunctionType]:
    """The functions defined in a class and in all its subclasses, but for static methods."""
    for value in vars(kind).values():
        # A function that a class only mentions, `activation = F.relu`, is not its method.
        if isinstance(value, FunctionType) and value.__qualname__.startswith(
            f"{kind.__qualname__}."
        ):
            yield value
    heirs: list[type] = type.__subclasses__(kind)
    for heir in heirs:
        yield from _methods(heir)


def _replaced(function: FunctionType) -> bool:
    return function.__code__ is _stopping(function.__code__.co_freevars)


def _replace_code(function: FunctionType, stop: Stop) -> None:
    function.__kwdefaults__ = {"_stop": stop}
    function.__code__ = _stopping(function.__code__.co_freevars)


@functools.cache
def _stopping(free: tuple[str, ...]) -> CodeType:
    # Python asks that the new code of a function has the free variables of the old.
    return _stopped.__code__.replace(co_freevars=free)


def _stopped(*_args: object, _stop: Stop, **_kwargs: object) -> NoReturn:
    _stop()
