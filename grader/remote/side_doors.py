"""Ways into torch's compiled code that do not lead through its dispatcher, closed for good.

The guard replaces kernels where the dispatcher finds them. Torch has executors that find them
elsewhere: the static runtime, the kernels of tensor expressions, the fusers' nodes in a graph that
is written by hand, archives of compiled models. And whoever calls compiled functions by their
address needs no executor at all. Honest answers use none of this.

Pages: https://docs.python.org/3/library/audit_events.html, on what an audit hook sees, and
https://peps.python.org/pep-0578/, on why it cannot be taken out again.
"""

from __future__ import annotations

import ctypes
import inspect
import linecache
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from types import CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

import torch

from grader.remote.modules import REFERENCE

# Classes whose objects run graphs, or archives, with kernels of their own choice.
_EXECUTORS = {
    "": ("StaticModule",),
    "_te": ("CodeGen", "SimpleIREvaluator", "TensorExprKernel"),
    "_nativert": ("PyModelRunner",),
    "_aoti": ("AOTIModelContainerRunnerCpu", "AOTIModelPackageLoader"),
}
# Functions that make them, let a fuser's kernel do without a compiler, or give tensors an address.
_MAKERS = {
    "": (
        "_create_function_from_graph",
        "_jit_set_llga_enabled",
        "_jit_set_te_must_use_llvm_cpu",
        "_jit_to_static_module",
        "parse_ir",
    ),
    "_aoti": (
        "alloc_tensor_by_stealing_from_void_ptr",
        "alloc_tensors_by_stealing_from_void_ptrs",
        "unsafe_alloc_void_ptr_from_tensor",
        "unsafe_alloc_void_ptrs_from_tensors",
    ),
}
# What puts a node into a graph by hand. Torch's own compiler does that in C++.
_GRAPHS = {
    "Graph": ("create", "createFusionGroup", "createClone", "appendNode", "insertNode"),
    "Node": ("g_", "gs_", "copyAttributes"),
}
# Modules that find compiled functions, or access memory by its address.
_EVENTS = frozenset({
    "ctypes.addressof",
    "ctypes.call_function",
    "ctypes.cdata",
    "ctypes.cdata/buffer",
    "ctypes.dlopen",
    "ctypes.dlsym",
    "ctypes.dlsym/handle",
    "ctypes.string_at",
    "ctypes.wstring_at",
})  # fmt: skip
# Modules with other ways to do so, or with interpreters that have no such hook.
_MODULES = ("cffi", "_xxsubinterpreters", "_testcapi", "_testinternalcapi")


def close_executors() -> None:
    """Take torch's other executors away from this process and from those forked from it."""
    for name, kinds in _EXECUTORS.items():
        for kind in kinds:
            executor = getattr(_inner(name), kind, None)
            for method in list(vars(executor or ModuleType)):
                if method in ("__call__", "__init__") or not method.startswith("__"):
                    _remove(executor, method)
    for name, functions in _MAKERS.items():
        for function in functions:
            _remove(_inner(name), function)
    for kind, methods in _GRAPHS.items():
        for method in methods:
            _remove(getattr(torch._C, kind, None), method)


def refuse_addresses() -> None:
    """Refuses, in this process and from now on, what ctypes and cffi reach compiled code by."""
    # No collector finds the hook: nothing that Python shows holds it, and it holds nothing.
    untrack = ctypes.pythonapi.PyObject_GC_UnTrack
    untrack.argtypes, untrack.restype = (ctypes.py_object,), None
    hook = _hook()
    sys.addaudithook(hook)
    untrack(hook)


def refuse_code() -> None:
    """Refuse, in this process and from now on, to show the code of the kit's references.

    What an exercise needs is there to be called, and how it is written is not there to be read: it
    may be what another exercise asks for. Code is shown to functions of the kit and of Python that
    need it for tracebacks and signatures, and to nobody else.
    """
    untrack = ctypes.pythonapi.PyObject_GC_UnTrack
    untrack.argtypes, untrack.restype = (ctypes.py_object,), None
    hook = _code_hook(frozenset(map(id, _readers())))
    sys.addaudithook(hook)
    untrack(hook)


def _readers() -> Iterator[CodeType]:
    """The code that may look at code."""
    waiting: list[Any] = [traceback, linecache, warnings]
    waiting += [inspect._signature_from_function, inspect.getfile]  # type: ignore[attr-defined]
    kit = __name__.partition(".")[0]
    waiting += [module for name, module in sys.modules.items() if name.partition(".")[0] == kit]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, CodeType):
            yield each
            waiting += each.co_consts
        elif isinstance(each, FunctionType):
            waiting.append(each.__code__)
        elif isinstance(each, ModuleType | type):
            waiting += [
                value
                for value in vars(each).values()
                if getattr(value, "__module__", None) == (getattr(each, "__module__", None))
                or getattr(value, "__module__", None) == getattr(each, "__name__", "")
            ]
        elif isinstance(each, staticmethod | classmethod):
            waiting.append(each.__func__)
        elif isinstance(each, property):
            waiting += [each.fget, each.fset]


def _code_hook(readers: frozenset[int]) -> Any:
    def refuse(
        event: str,
        arguments: tuple[Any, ...],
        readers: frozenset[int] = readers,
        names: frozenset[str] = frozenset({"__code__", "f_code", "gi_code", "cr_code"}),
        busy: set[int] = set(),  # noqa: B006 - of this hook alone; nothing else leads to it
        this: Any = threading.get_ident,
        frame: Any = sys._getframe,
        error: type[Exception] = OSError,  # as for a source that is not there
        holders: tuple[type, ...] = (FunctionType, FrameType, GeneratorType, CoroutineType),
        identity: Any = id,
        is_a: Any = isinstance,
        code_of: Any = _code_of,
        file: str = REFERENCE,
    ) -> None:
        if event == "gc.get_referents":
            looked_at = [each for each in arguments[0] if is_a(each, holders)]
        elif event == "object.__getattr__" and arguments[1] in names:
            looked_at = [arguments[0]]
        elif event == "sys.monitoring.register_callback":
            raise error("calls cannot be followed so while code is graded")
        else:
            return
        thread = this()
        if thread in busy or not looked_at:
            return
        busy.add(thread)
        try:
            hidden = [each for each in looked_at if code_of(each) == file]
            shown = not hidden or identity(frame(1).f_code) in readers
        finally:
            busy.discard(thread)
        if not shown:
            raise error("what an exercise stands on is there to be called, not to be read")

    return refuse


def _code_of(holder: Any) -> str:
    """The file of the code that a function, a frame or a generator holds."""
    for name in ("__code__", "f_code", "gi_code", "cr_code"):
        if hasattr(holder, name):
            return str(getattr(holder, name).co_filename)
    return ""


def _hook() -> Any:
    def refuse(
        event: str,
        arguments: tuple[Any, ...],
        events: frozenset[str] = _EVENTS,
        error: type[Exception] = RuntimeError,
        text: type[str] = str,
        modules: tuple[str, ...] = _MODULES,
    ) -> None:
        if event in events:
            raise error("functions cannot be called by their address while code is graded")
        if event == "import":
            names = text(arguments[0]) + text(arguments[1])
            for module in modules:
                if module in names:
                    raise error(f"{module} cannot be used while code is graded")

    return refuse


def _inner(name: str) -> Any:
    return getattr(torch._C, name, None) if name else torch._C


def _remove(owner: Any, name: str) -> None:
    if owner is not None and name in vars(owner):
        delattr(owner, name)
