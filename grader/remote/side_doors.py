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
import threading
import traceback
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import (
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
    TracebackType,
)
from typing import Any

import torch
from torch._C._dynamo import eval_frame

from grader.remote.modules import REFERENCE, file_of

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
# Modules with other ways to do so, with interpreters that have no such hook, or, as `_lsprof`, a
# profiler written in C that hands out the code which it has seen running.
_MODULES = (
    *("cffi", "_xxsubinterpreters", "_interpreters", "_testcapi", "_testinternalcapi"),
    "_lsprof",
)
# What torch's compiler takes over the evaluation of frames with, or sees their code by. There is no
# compiler in a jail, and nothing is compiled.
_EVALUATION = (
    "_get_frame_value_stack_with_depth",
    "code_framelocals_names",
    "register_breakpoint_code",
    "set_bytecode_debugger_callback",
    "set_code_exec_strategy",
    "set_eval_frame",
)


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
    for function in _EVALUATION:
        if hasattr(eval_frame, function):
            setattr(eval_frame, function, _nothing)
    for kind, methods in _GRAPHS.items():
        for method in methods:
            _remove(getattr(torch._C, kind, None), method)


def refuse_addresses() -> None:
    """Block, in this process from now on, the ways in which ctypes and cffi reach compiled code."""
    # For whoever imports it all the same: torch's compiler does.
    sys.modules["_lsprof"] = ModuleType("_lsprof")
    vars(sys.modules["_lsprof"])["Profiler"] = type("Profiler", (), {})
    _add_for_good(_hook())


def refuse_code() -> None:
    """Refuse, in this process and from now on, to show the code of the kit's references.

    What an exercise needs is there to be called, and how it is written is not there to be read: it
    may be what another exercise asks for. Nobody is shown it, the kit and Python's own modules
    included: what they read, others find in their frames. Tracebacks are made without it.
    """
    for name in ("walk_stack", "walk_tb", "_walk_tb_with_full_positions"):
        walk = getattr(traceback, name, None)
        if walk is not None:
            setattr(traceback, name, _over_shown(walk))
    _add_for_good(_code_hook())


def _add_for_good(hook: Any) -> None:
    """Add an audit hook that no collector finds: nothing that Python shows holds it."""
    untrack = ctypes.pythonapi.PyObject_GC_UnTrack
    untrack.argtypes, untrack.restype = (ctypes.py_object,), None
    sys.addaudithook(hook)
    for each in (hook, hook.__defaults__, *hook.__defaults__):
        if type(each) in (FunctionType, set, tuple):
            untrack(each)


def _over_shown(walk: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """Let a function of `traceback` walk over those frames only whose code is shown."""

    def walk_shown(start: Any) -> Iterator[Any]:
        if type(start) is not TracebackType:
            yield from (item for item in walk(start) if _is_shown(item[0]))
            return
        links = []
        while start is not None:
            if _is_shown(start.tb_frame):
                links.append(start)
            start = start.tb_next
        for link in links:
            yield next(iter(walk(link)))

    return walk_shown


def _is_shown(frame: FrameType) -> bool:
    return file_of(frame) != REFERENCE


def _code_hook() -> Any:
    def refuse(
        event: str,
        arguments: tuple[Any, ...],
        names: frozenset[str] = frozenset({"__code__", "f_code", "gi_code", "cr_code"}),
        busy: set[int] = set(),  # noqa: B006 - of this hook alone; nothing else leads to it
        this: Any = threading.get_ident,
        error: type[Exception] = OSError,  # as for a source that is not there
        kind: Any = type,
        holders: tuple[type, ...] = (FunctionType, FrameType, GeneratorType, CoroutineType),
        read: tuple[Any, ...] = (
            attrgetter("__code__.co_filename"),
            attrgetter("f_code.co_filename"),
            attrgetter("gi_code.co_filename"),
            attrgetter("cr_code.co_filename"),
        ),
        files: tuple[str, ...] = (REFERENCE, __file__),
    ) -> None:
        if event == "gc.get_referents":
            objects = arguments[0]
        elif event == "object.__getattr__" and arguments[1] in names:
            objects = arguments[:1]
        elif event in ("sys._current_frames", "sys.monitoring.register_callback"):
            raise error("calls cannot be followed so while code is graded")
        else:
            return
        thread = this()
        if thread in busy:
            return
        busy.add(thread)
        hidden = False
        try:
            for each in objects:
                # Exactly of these types: no code of anybody's runs for them.
                if kind(each) in holders and read[holders.index(kind(each))](each) in files:
                    hidden = True
        finally:
            busy.discard(thread)
            del busy  # or whoever catches the exception finds it in this frame
        if hidden:
            raise error("what an exercise stands on is there to be called, not to be read")

    return refuse


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


def _nothing(*_arguments: object) -> None:
    """In the place of a function that is taken away, for those that call it."""
