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
import sys
from types import ModuleType
from typing import Any

import torch

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
# Where compiled functions are looked for, or memory is read and written by its address.
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
    """Takes torch's other executors away from this process and from those forked from it."""
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
            asked = text(arguments[0]) + text(arguments[1])
            for module in modules:
                if module in asked:
                    raise error(f"{module} cannot be used while code is graded")

    return refuse


def _inner(name: str) -> Any:
    return getattr(torch._C, name, None) if name else torch._C


def _remove(owner: Any, name: str) -> None:
    if owner is not None and name in vars(owner):
        delattr(owner, name)
