"""Makes the list of what right answers call of torch, from all right answers that are known.

What right answers to several exercises call is ordinary in every exercise whose rule does not
forbid it; what is called in one or two, only there. A list by hand adds elementary operators that
none of them happens to use.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import torch
import torch.nn.functional as F
from torch import nn, optim

from grader import curriculum
from grader.curriculum import mistakes, ordinary, stubs
from grader.curriculum.rules import rule
from grader.grading.ordinary_calls import names_of_torch, words_of
from grader.grading.recording import Recording, Recordings
from grader.grading.student_process import PROGRAM, StudentProcess
from grader.recognition.likeness import is_text
from grader.remote.budget import Budget
from grader.remote.channel import Times
from grader.remote.guard import operators_meant
from grader.remote.operators import View, operator_name
from grader.remote.session import TorchCall
from grader.sandbox.host import Host

SEED = 2017
_METHODS = {"forward", "step"}  # of classes that are forbidden, and of honest ones
SEVERAL = 3  # exercises
_TIMES = Times(load=60.0, call=120.0)  # since to be watched takes time, too
# Of what right answers import, and of the special names in them: what finds functions by texts, or
# without names.
_FINDERS = {
    *("builtins", "concurrent", "ctypes", "gc", "importlib", "inspect", "marshal", "pickle"),
    *("multiprocessing", "runpy", "scipy", "sys", "threading"),
}
_WAYS = {
    *("__builtins__", "__class__", "__closure__", "__code__", "__dict__", "__getattr__"),
    *("__getattribute__", "__globals__", "__import__", "__loader__", "__self__"),
    *("__subclasses__", "__torch_dispatch__", "__torch_function__", "__wrapped__"),
}
# Modules that right answers may import as well.
_IMPORTS = """
    abc bisect collections contextlib copy dataclasses decimal einops enum fractions functools
    heapq itertools math matplotlib numbers numpy operator os pandas random re statistics textwrap
    time torch tqdm typing typing_extensions warnings
"""
# Special names of which right answers need not have any to be ordinary: operators, and the like.
_SPECIAL = """
    __abs__ __add__ __all__ __and__ __annotations__ __author__ __bool__ __call__ __contains__
    __copy__ __deepcopy__ __del__ __delitem__ __doc__ __enter__ __eq__ __exit__ __file__ __float__
    __floordiv__ __format__ __ge__ __getitem__ __gt__ __hash__ __iadd__ __imul__ __init__ __int__
    __invert__ __iter__ __le__ __len__ __lt__ __main__ __matmul__ __mod__ __mul__ __name__ __ne__
    __neg__ __new__ __next__ __or__ __post_init__ __pow__ __qualname__ __radd__ __repr__
    __reversed__ __rmul__ __rsub__ __rtruediv__ __setitem__ __slots__ __str__ __sub__ __truediv__
    __version__ __future__
"""
# Operators that do one elementary thing: none of them is what an exercise asks for.
_ELEMENTARY = """
    abs absolute acos add addbmm addcdiv addcmul addmm addmv addr all allclose alias amax amin
    aminmax angle any arange argmax argmin argsort as_strided as_strided_copy asin atan atan2
    baddbmm bernoulli bitwise_and bitwise_not bitwise_or bitwise_xor bmm broadcast_tensors
    broadcast_to bucketize cat ceil chunk clamp clamp_max clamp_min clip clone column_stack
    complex concat conj contiguous copy copysign cos cosh count_nonzero cummax cummin cumprod
    cumsum detach diag diag_embed diagonal diff div dot dstack einsum empty empty_like
    empty_strided eq equal erf erfc erfinv exp exp2 expand expand_as expm1 exponential eye fill
    flatten flip float_power floor floor_divide fmod frac full full_like gather ge ger gt hstack
    hypot imag index index_add index_copy index_fill index_put index_reduce index_select inner
    is_nonzero is_same_size isclose isfinite isin isinf isnan isneginf isposinf item kron
    kthvalue ldexp le lerp lift_fresh lift_fresh_copy linalg_cross linalg_matrix_norm
    linalg_norm linalg_vector_norm linspace log log10 log1p log2 logical_and logical_not
    logical_or logical_xor logspace lt masked_fill masked_scatter masked_select matmul max
    maximum mean median meshgrid min minimum mm mode moveaxis movedim mul multi_dot multinomial
    mv nan_to_num nanmean nansum narrow ne neg new_empty new_empty_strided new_full new_ones
    new_zeros nonzero norm normal numpy_T ones ones_like outer permute pin_memory polar pow prod
    put quantile rad2deg rand rand_like randint randint_like randn randn_like random randperm
    range ravel real reciprocal record_stream refine_names remainder repeat repeat_interleave
    reshape resize resize_as resolve_conj resolve_neg roll rot90 round rsqrt rsub scalar_tensor
    scatter scatter_add scatter_reduce searchsorted select select_scatter set sgn sigmoid sign
    signbit sin sinh slice slice_scatter sort special_expm1 split split_with_sizes
    split_with_sizes_copy sqrt square squeeze stack std std_mean sub sum swapaxes swapdims t
    take take_along_dim tan tensor_split tensordot tile to topk trace transpose tril
    tril_indices triu triu_indices trunc unbind unflatten unfold uniform unique_consecutive
    unsafe_split unsafe_chunk unsafe_split_with_sizes unsqueeze var var_mean vdot view view_as
    view_as_complex view_as_real vstack where xlogy zero zeros zeros_like constant_pad_nd
    softplus linalg_vecdot embedding embedding_dense_backward linear gelu_backward sigmoid_backward
    concatenate divide greater greater_equal less less_equal multiply negative positive subtract
    _assert_async _assert_scalar _conj _conj_physical
    _efficientzerotensor _has_compatible_shallow_copy_type _index_put_impl
    _local_scalar_dense _neg_view _pin_memory _reshape_alias _reshape_copy _shape_as_tensor
    _stack _sum_to_size _to_copy _unique _unique2 _unsafe_index _unsafe_index_put _unsafe_view
"""
# Modules of torch whose functions hold, pass on or start weights, or call operators, which are seen
# by themselves. None of them computes what an exercise asks for out of elementary operators.
_MODULES = """
    torch._dynamo torch._functorch torch._jit_internal torch._ops torch._tensor torch._tensor_str
    torch.amp torch.autograd torch.cuda torch.distributions torch.func torch.functional torch.jit
    torch.nn.functional torch.nn.init torch.nn.modules.activation torch.nn.modules.container
    torch.nn.modules.conv torch.nn.modules.dropout torch.nn.modules.flatten
    torch.nn.modules.linear torch.nn.modules.loss torch.nn.modules.module
    torch.nn.modules.normalization torch.nn.modules.sparse torch.nn.parameter
    torch.nn.utils.convert_parameters torch.nn.utils.stateless torch.optim.optimizer
    torch.overrides torch.profiler torch.random torch.serialization torch.storage
    torch.torch_version torch.types torch.utils._contextlib torch.utils._device
    torch.utils.checkpoint torch.utils.hooks
"""


def make(tests: Path, exercises: Sequence[str] = curriculum.NAMES) -> dict[str, Any]:
    """Return the list, as it is kept; `tests` has the folder of unusual right answers."""
    recordings = Recordings(SEED)
    with Host(PROGRAM) as host:
        called = {
            exercise: {
                call.name
                for source in right_answers(exercise, tests)
                for call in calls(exercise, source, recordings.of(exercise), host)
            }
            for exercise in exercises
        }
    return {**listed(called), **words(exercises, tests)}


def words(exercises: Sequence[str], tests: Path) -> dict[str, Any]:
    """Return the names of torch's that stand in right answers, and those that rules forbid.

    What computes something and is in few exercises is ordinary only there.
    """
    texts = {name: [*right_answers(name, tests), stubs.solution(name)] for name in exercises}
    written = {
        name: {word for text in texts[name] for word in words_of(_without_docstrings(text))}
        & names_of_torch()
        for name in texts
    }
    elementary = {*_ELEMENTARY.split(), *(f"{name}_" for name in _ELEMENTARY.split())}
    known = (elementary & names_of_torch()).union(*written.values())
    count = Counter(word for words in written.values() for word in words)
    seldom = {word for word in _computing(known) - elementary if count[word] < SEVERAL}
    every = list(chain.from_iterable(texts.values()))
    imports = {*_IMPORTS.split()} | {name for text in every for name in ordinary.imported(text)}
    special = {*_SPECIAL.split()} | {name for text in every for name in ordinary.special(text)}
    return {
        "imports": sorted(imports - _FINDERS),
        "special": sorted(special - _WAYS),
        "words": sorted(known - seldom),
        "words in": {exercise: sorted(seldom & written[exercise]) for exercise in texts},
        "words not in": {
            exercise: sorted(
                (known - _METHODS) & {re.split(r"\W", name)[-1] for name in forbidden_in(exercise)}
            )
            for exercise in texts
        },
    }


def _without_docstrings(source: str) -> str:
    """Return a source without its docstrings: those of the stubs name what may not be used."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and is_text(node):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(lines)


def _computing(words: set[str]) -> set[str]:
    """Return those of these words that name an operator, or something in `nn`, `F` or `optim`."""
    operators = {
        name.partition("::")[2].partition(".")[0] for name in torch._C._dispatch_get_all_op_names()
    }
    return words & operators.union(vars(nn), vars(F), vars(optim))


def listed(called: dict[str, set[str]]) -> dict[str, Any]:
    """Return the list that comes of what the right answers to each exercise call."""
    modules = _MODULES.split()
    count = Counter(name for names in called.values() for name in names)
    everywhere = {name for name, number in count.items() if number >= SEVERAL}
    everywhere |= {f"aten::{name}" for name in _ELEMENTARY.split()}
    everywhere = {name for name in everywhere if not _is_in(name, modules)}
    forbidden = {exercise: forbidden_in(exercise) for exercise in called}
    return {
        "modules": modules,
        "everywhere": sorted(everywhere),
        "in": {
            exercise: sorted(name for name in names - everywhere if not _is_in(name, modules))
            for exercise, names in called.items()
        },
        "not in": {
            exercise: sorted(
                name
                for name in forbidden[exercise] - called[exercise]
                if name in everywhere or _is_in(name, modules)
            )
            for exercise in called
        },
    }


def _is_in(name: str, modules: Iterable[str]) -> bool:
    """Return whether it is a function of one of these modules."""
    return any(name.startswith(f"{module}.") for module in modules)


def forbidden_in(exercise: str) -> set[str]:
    """Return the operators and functions that an exercise's rule forbids, by name."""
    names = set()
    for targets in rule(exercise).forbidden.values():
        for target in targets:
            plain = target.partition(" if ")[0]
            if "::" in plain:
                names |= {operator_name(operator) for operator in operators_meant([plain])}
            else:
                names.add(plain.replace(":", "."))
    return names


def right_answers(exercise: str, tests: Path) -> Iterator[str]:
    """Yield the sources of all known right answers: the solution, its forms, unusual ones."""
    yield stubs.reference_source(exercise)
    yield from mistakes.forms(exercise).values()
    for file in sorted((tests / "variants" / exercise).glob("*.py")):
        yield file.read_text(encoding="utf-8")


def calls(
    exercise: str, source: str, recordings: Sequence[Recording], host: Host
) -> list[TorchCall]:
    """Return what an answer calls in any case of any check. Raises what its import raises."""
    seen = []
    for view in get_args(View):
        budget = Budget("The answer", 240.0, 60.0)
        with StudentProcess({exercise: source}, (), host, budget, _TIMES) as process:
            channel = process.load(exercise)
            channel.watch(exercise, {exercise: source}, view)
            for frame, count in (each for item in recordings for each in item.frames):
                channel.gather(frame, count)
            seen += channel.seen()
    return seen


def as_text(record: dict[str, Any]) -> str:
    """Return the list as the file holds it."""
    return json.dumps(record, indent=1) + "\n"


def write(record: dict[str, Any]) -> bool:
    """Write the list and return whether that changed it."""
    text = as_text(record)
    if ordinary.FILE.exists() and ordinary.FILE.read_text(encoding="utf-8") == text:
        return False
    ordinary.FILE.write_text(text, encoding="utf-8")
    return True
