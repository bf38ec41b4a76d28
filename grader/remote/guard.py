"""The from-scratch rule, enforced at run time in the process that holds the student's code.

A rule maps the readable name of what is forbidden to its targets. A target is one of

- an operator of torch's dispatcher, `"aten::native_layer_norm"`. Its kernels are replaced, and they
  are what every way of calling it ends in: `F`, `nn`, `torch._C`, `torch.ops`, a tensor's method,
  TorchScript; in another thread, under `vmap`, in any autograd mode, with Python's modes disabled.
  With it go its overloads, its form that works in place, the one for lists and its derivative,
  and all these in every other namespace that has them, as `quantized::layer_norm`. Behind the
  colons `*` stands for anything.
- a Python function, `"torch.nn.functional:multi_head_attention_forward"`. Its code is replaced in
  place, so that a reference taken earlier leads to the new code as well. In a module that is not
  imported yet it is replaced when that is. Here, too, `*` stands for anything.
- a class, `"torch.nn:LayerNorm"`. The methods of it and of its subclasses are replaced like
  functions; a subclass of the student's runs into those that it does not write anew.

`"… if smoothed"` after an operator or a function is a condition, one of `conditions`: that decides
whether a call is forbidden, and carries out one that is not.

What was replaced is gone: nothing in Python leads to it, so there is nothing to take back by
changing this module's objects. Nothing is hooked into calls that are allowed.

Pages: https://docs.pytorch.org/docs/stable/library.html, on registering kernels, and
https://blog.ezyang.com/2020/09/lets-talk-about-the-pytorch-dispatcher/, on what a kernel is.
"""

from __future__ import annotations

import contextlib
import ctypes
import fnmatch
import functools
import importlib.abc
import importlib.machinery
import inspect
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, NoReturn

import torch
from torch._C import _dispatch_library as _library

from grader.remote import conditions
from grader.remote.modules import PACKAGE, file_of

Rule = Mapping[str, Sequence[str]]
Use = tuple[str, str | None, int | None]
Stop = Callable[..., Any]  # raises, but for a call that a condition allows

# Where torch keeps kernels that compute on the CPU, or stand in for those that do. Autograd,
# autocast and the rest are layers above these, which pass on to them.
_KEYS = (
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CPU",
    "Meta",
    "MkldnnCPU",
    "QuantizedCPU",
    "SparseCPU",
    "SparseCsrCPU",
    "NestedTensorCPU",
    "FuncTorchBatched",
    "FuncTorchBatchedDecomposition",
    "FuncTorchVmapMode",
    "FuncTorchDynamicLayerFrontMode",
)

# The forms in which torch has an operator: itself, in place, for a list of tensors, its derivative.
_FORMS = ("{}", "{}_", "_foreach_{}", "_foreach_{}_", "{}_backward")

# The full names of every operator's overloads, by the operator's: aten::tanh and aten::tanh.out.
_OVERLOADS: defaultdict[str, list[str]] = defaultdict(list)
# Its namesakes in other namespaces: quantized::linear for aten::linear.
_NAMESAKES: defaultdict[str, set[str]] = defaultdict(set)
# The operators of each namespace, without it.
_SPACES: defaultdict[str, set[str]] = defaultdict(set)
for _name in torch._C._dispatch_get_all_op_names():
    _operator = _name.partition(".")[0]
    _OVERLOADS[_operator].append(_name)
    _space, _, _base = _operator.partition("::")
    _NAMESAKES[_base].add(_operator)
    _SPACES[_space].add(_base)

# Every overload's dispatch keys that have a kernel.
_KERNELS: defaultdict[str, list[Any]] = defaultdict(list)
for _key in _KEYS:
    for _name in torch._C._dispatch_get_registrations_for_dispatch_key(_key):
        _KERNELS[_name].append(torch._C._parse_dispatch_key(_key))

# Looked up before the student's code runs: afterwards names can't be trusted.
_hold = ctypes.pythonapi.Py_IncRef


class ForbiddenCall(BaseException):
    """A forbidden call, raised in its place. The text names what was called.

    It is no `Exception`, so that a student's `except Exception` does not hide it.
    """


class Guard:
    """Keeps a rule in this process, from when it is made and for good.

    It is to be made before any code of the student's runs. Targets that this version of torch does
    not have are passed over.
    """

    def __init__(self, rule: Rule | None = None) -> None:
        self._seen: list[Use] = []
        if rule:
            self._keep(rule)

    def take(self) -> list[Use]:
        """Return what was called since the last `take`, each name once, in their order.

        With each comes the place in the student's files that it was first called from, if any.
        """
        uses = list({use[0]: use for use in reversed(self._seen)}.values())[::-1]
        self._seen.clear()
        return uses

    def _keep(self, rule: Rule) -> None:
        stops = {name: functools.partial(self._stop, name) for name in rule}
        targets = [_conditional(target, stops[name]) for name in rule for target in rule[name]]
        _replace_kernels({target: stop for target, stop in targets if "::" in target})
        later: defaultdict[str, list[tuple[str, Stop]]] = defaultdict(list)
        for target, stop in targets:
            module, colon, path = target.partition(":")
            if "::" in target or not colon:
                continue
            if module in sys.modules:
                _replace(sys.modules[module], path, stop)
            else:
                later[module].append((path, stop))
        sys.meta_path.insert(0, _Later(later))

    def _stop(self, name: str, *_args: object, **_kwargs: object) -> NoReturn:
        self._seen.append((name, *_place()))
        raise ForbiddenCall(f"{name} may not be used in this exercise")


def _conditional(target: str, stop: Stop) -> tuple[str, Stop]:
    """Return the target without its condition, if it has one, and what to call in its place."""
    target, _, condition = target.partition(" if ")
    return target, functools.partial(conditions.find(condition), stop) if condition else stop


def _place() -> tuple[str | None, int | None]:
    """Return the file and line of the student's that is being executed in this thread."""
    frame = inspect.currentframe()
    while frame is not None:
        if file_of(frame).startswith(f"{PACKAGE}/"):
            return file_of(frame), frame.f_lineno
        frame = frame.f_back
    return None, None


def _replace_kernels(stops: Mapping[str, Stop]) -> None:
    """Replace the kernels of these operators, and of what torch has of the same kind."""
    libraries = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns when a kernel is replaced
        for overload, stop in _with_their_kind(stops).items():
            space, _, name = overload.partition("::")
            if space not in libraries:
                libraries[space] = _library("IMPL", space, "", __file__, 0)
            for key in _KERNELS[overload]:
                libraries[space].impl(name, key, stop)
    # The kernels live as long as the library does. One reference that no Python object holds keeps
    # it out of reach: it cannot be found with gc and reset.
    for library in libraries.values():
        _hold(ctypes.py_object(library))


def operators(pattern: str) -> list[str]:
    """Return the operators that a target stands for: itself, or a namespace's with that name."""
    space, _, name = pattern.partition("::")
    if "*" not in name:
        return [pattern]
    return [f"{space}::{operator}" for operator in fnmatch.filter(_SPACES[space], name)]


def operators_meant(targets: Sequence[str]) -> set[str]:
    """Return all overloads that are replaced where these operators are forbidden."""
    return set(_with_their_kind(dict.fromkeys(targets, _refuse)))


def _refuse(*_args: object, **_options: object) -> NoReturn:
    raise ForbiddenCall


def _with_their_kind(stops: Mapping[str, Stop]) -> dict[str, Stop]:
    refused: dict[str, Stop] = {}
    stops = {operator: stop for pattern, stop in stops.items() for operator in operators(pattern)}
    for operator, stop in stops.items():
        name = operator.partition("::")[2]
        for form in _FORMS:
            for namesake in _NAMESAKES.get(form.format(name), ()):
                for overload in _OVERLOADS[namesake]:
                    refused.setdefault(overload, stop)
    # What is named itself goes by its own name.
    refused |= {
        name: stop for operator, stop in stops.items() for name in _OVERLOADS.get(operator, ())
    }
    return refused


class _Later(importlib.abc.MetaPathFinder):
    """Replace what is forbidden in modules that are imported later."""

    def __init__(self, targets: Mapping[str, Sequence[tuple[str, Stop]]]) -> None:
        self.targets = targets

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Python's own answer, with a loader that goes on to replace."""
        if fullname not in self.targets:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            run(module)
            for name, stop in self.targets[fullname]:
                _replace(module, name, stop)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _replace(module: types.ModuleType, path: str, stop: Stop) -> None:
    if "*" in path:
        for name in fnmatch.filter(vars(module), path):
            if getattr(vars(module)[name], "__module__", None) == module.__name__:
                _replace(module, name, stop)
        return
    with contextlib.suppress(AttributeError):
        original = attrgetter(path)(module)
        for function in (
            _methods(original) if isinstance(original, type) else [inspect.unwrap(original)]
        ):
            if isinstance(function, FunctionType):
                _replace_code(function, stop)


def _methods(kind: type) -> Iterator[FunctionType]:
    """Yield the functions defined in a class and in all its subclasses, but for static methods."""
    for value in vars(kind).values():
        # A function that a class only mentions, `activation = F.relu`, is not its method.
        if isinstance(value, FunctionType) and value.__qualname__.startswith(
            f"{kind.__qualname__}."
        ):
            yield value
    heirs: list[type] = type.__subclasses__(kind)
    for heir in heirs:
        yield from _methods(heir)


def _replace_code(function: FunctionType, stop: Stop) -> None:
    # Nothing leads to the old code any more. To take it apart would touch, and so copy, a hundred
    # pages of memory in every child.
    _hold(ctypes.py_object(function.__code__))
    function.__kwdefaults__ = {"_stop": stop}
    function.__code__ = _stopping(function.__code__.co_freevars)


@functools.cache
def _stopping(free: tuple[str, ...]) -> CodeType:
    # Python asks that the new code of a function has the free variables of the old.
    return _stopped.__code__.replace(co_freevars=free)


def _stopped(*_args: object, _stop: Stop, **_kwargs: object) -> object:
    return _stop(*_args, **_kwargs)
