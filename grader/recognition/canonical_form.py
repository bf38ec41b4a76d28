"""The canonical form of replies. Replies that the exercise treats alike have the same one.

A reply becomes a set of marks: one for its form or its exception, then one for each leaf and, if
that is a tensor, one for its dtype. What the contract leaves free has no mark: which of the
accepted exceptions is raised, additional attributes, leading axes of length one in a table, the
names of plain attributes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from grader.remote.nested import leaves
from grader.remote.wire import Handle

Request = Mapping[str, Any]

PROJECTIONS = 4
# The rounding of each dtype, with room for a few hundred sums in any order.
ROUNDING = {torch.float64: 2e-5, torch.float32: 2e-5, torch.bfloat16: 4e-2, torch.float16: 5e-3}
# A vanishing gradient is pure rounding, which differs between processors. Tensors smaller than this
# are compared as if they had this size.
SMALLEST_SIZE = 1e-8
_REFUSALS = {"AssertionError", "ValueError", "IndexError"}
RAISED = 1 << 40  # marks the code of an exception, or of a missing one
_ABSENT = "absent"
# Replies of right answers have up to 90,000 numbers. Of far larger ones only the shape counts, and
# directions are kept for a few sizes: wrong answers can have any size.
MOST_NUMBERS, SIZES_KEPT = 1 << 18, 64
_HUGE = 1e30  # fits in float32, and its square in float64


@dataclass(frozen=True)
class Mark:
    """One leaf of a reply: a code for what it is, and its values if it has any.

    `values` are projections of the tensor onto fixed directions, `size` is its root mean square.
    They tell whether two tensors are equal as well as the tensors would, and are much smaller.
    """

    code: int
    values: tuple[float, ...] = ()
    size: float = 0.0
    rounding: float = 0.0

    def equals(self, mark: Mark) -> bool:
        """Return whether both are the same but for rounding."""
        if self.code != mark.code or len(self.values) != len(mark.values):
            return False
        size = max(self.size, mark.size, SMALLEST_SIZE)
        limit = max(self.rounding, mark.rounding) * size
        return all(
            abs(left - right) <= limit for left, right in zip(self.values, mark.values, strict=True)
        )


Marks = dict[str, Mark]


def marks(request: Request, reply: Any, right: Any) -> Marks:
    """Return the marks of a reply, by the path of the leaf: "" is the form of the whole.

    `right` is the reference's reply to the same request. If their forms differ, there are no leaves
    to compare, and the form is the only mark.
    """
    if raised(reply):
        return {"": Mark(_code(exception(reply["error"])) | RAISED)}
    if not isinstance(reply, dict) or "ok" not in reply:
        return {"": Mark(_code("no reply"))}
    if raised(right):
        return {"": Mark(ACCEPTED)}
    simplify = _SIMPLE.get(request["op"], _as_it_is)
    value, wanted = simplify(reply["ok"], right["ok"]), simplify(right["ok"], right["ok"])
    form = _form(value)
    marks = {"": Mark(_code(form))}
    if form != _form(wanted):
        return marks
    for path, leaf in _leaves(value):
        marks.update(_leaf(path, leaf))
    return marks


def raised(reply: Any) -> bool:
    """Return whether the reply is an exception."""
    return isinstance(reply, dict) and isinstance(reply.get("error"), dict)


def _out_of_memory(reply: Any) -> bool:
    """Return whether a memory limit caused the exception: known mistakes run without one."""
    return raised(reply) and (
        "MemoryError" in reply["error"].get("kinds", ())
        or "allocate memory" in str(reply["error"].get("text", ""))
    )


def exception(error: Mapping[str, Any]) -> str:
    """Return an exception without numbers and addresses, so that the same fault reads the same."""
    kinds = [str(kind) for kind in error.get("kinds", [])] or ["Exception"]
    named = {"MissingParameterError", "ParameterShapeError", "NotImplementedError"} & set(kinds)
    if not named and _REFUSALS & set(kinds):
        return "refused"
    if "NoneType" in str(error.get("text", "")):
        return "None used"  # which operation comes first says little
    text = re.sub(r"0x[0-9a-f]+|\d+", "#", str(error.get("text", "")))
    text = re.sub(r"(#, )+#|\[#\]|\(#,?\)", "#", text)
    return f"{kinds[0]}: {text[:80]}"


def _form(value: Any) -> str:
    if isinstance(value, Tensor):
        return "tensor"
    if isinstance(value, dict):
        items = [f"{key!r}:{_form(value[key])}" for key in sorted(value, key=str)]
        return "{" + ",".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_form, value)) + "]"
    if hasattr(value, "type_name"):  # anything but plain data is sent as its type's name
        return str(value.type_name)
    return "number" if isinstance(value, (int, float)) else type(value).__name__


def _leaves(value: Any, path: str = ".") -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _leaves(value[key], f"{path}{key}.")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}{index}.")
    else:
        yield path, value


def _leaf(path: str, value: Any) -> Marks:
    if isinstance(value, Tensor):
        return {path: _tensor(value), f"{path}dtype": Mark(_code(str(value.dtype)))}
    if isinstance(value, float):
        number = torch.tensor([value], dtype=torch.float64)
        return {path: _tensor(number)}
    return {path: Mark(_code(repr(value)))}


def _tensor(value: Tensor) -> Mark:
    code = _code(str(tuple(value.shape)))
    if not 0 < value.numel() <= MOST_NUMBERS:
        return Mark(code)
    flat = value.detach().reshape(-1)
    numbers = (flat.real if flat.is_complex() else flat).double()
    count = numbers.numel()
    size = float(numbers.norm()) / count**0.5
    if not size < _HUGE:
        finite = numbers.isfinite()
        code = _code(f"{code} {finite.tolist()} {numbers.isnan().tolist()}")
        numbers = torch.where(finite, numbers, 0.0).clamp(-_HUGE, _HUGE)
        size = float(numbers.norm()) / count**0.5
    projected = (_directions(count) @ numbers) / count**0.5
    return Mark(code, tuple(projected.tolist()), size, ROUNDING.get(value.dtype, 1e-9))


@lru_cache(maxsize=SIZES_KEPT)
def _directions(count: int) -> Tensor:
    generator = torch.Generator().manual_seed(count)
    return torch.randn(PROJECTIONS, count, generator=generator, dtype=torch.float64)


def _code(text: str) -> int:
    return zlib.crc32(text.encode(errors="replace"))


# The code for a missing exception.
ACCEPTED = _code("accepted") | RAISED


def _as_it_is(value: Any, right: Any) -> Any:
    del right
    return value


def _parameters(value: Any, right: Any) -> Any:
    """Return each requested parameter's shape, dtype, requires_grad and sharing; and any others."""
    rows = {row[0]: row for row in value} if _rows(value) else {}
    wanted = [row[0] for row in right]
    first: dict[Any, str] = {}
    for name in sorted(rows):
        first.setdefault(rows[name][4], name)
    parameters: dict[str, Any] = {
        name: [str(rows[name][1]), rows[name][2], rows[name][3], first[rows[name][4]]]
        if name in rows
        else [_ABSENT] * 4
        for name in wanted
    }
    return {**parameters, "others": str(sorted(set(rows) - set(wanted)))}


def _rows(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, (list, tuple)) and len(row) == 5 and isinstance(row[0], str)
        for row in value
    )


def _buffers(value: Any, right: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _table(value.get(name, _ABSENT)) for name in right}


def _table(value: Any) -> Any:
    if isinstance(value, Tensor):
        while value.dim() and value.shape[0] == 1:
            value = value[0]
    return value


def _some(value: Any, right: Any) -> Any:
    del right
    return bool(value)


def _asked_for(value: Any, right: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: value.get(name, _ABSENT) for name in right}


_SIMPLE: dict[str, Callable[[Any, Any], Any]] = {
    "parameters": _parameters,
    "buffers": _buffers,
    "stay_behind": _some,
    "defaults": _asked_for,
}


def depends_on(request: Request) -> tuple[set[Any], set[Any]]:
    """Return the objects and graphs that a request needs, and those that it makes."""
    op = request["op"]
    if op == "new":
        return set(), {request["handle"]}
    if op == "copy":
        return {request["handle"]}, {request["new"]}
    if op == "backward":
        return {("graph", request["ticket"])}, set()
    needs = {request["handle"]} if "handle" in request else set()
    if "target" in request and request["target"][0] is not None:
        needs = {request["target"][0]}
    ticket = request.get("ticket")
    return needs, set() if ticket is None else {("graph", ticket)}


def told(requests: Sequence[Request], replies: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """Yield each reply, and whether it says anything.

    It doesn't if it depends on an earlier crash, or if the memory limit was reached. Nor does an
    object that a call of a missing one was to change.
    """
    missing: set[Any] = set()
    for request, reply in zip(requests, replies, strict=True):
        needs, makes = depends_on(request)
        hidden = bool(needs & missing)
        if hidden:
            given = leaves([request.get("args", ()), request.get("kwargs", {})])
            missing |= {leaf.number for leaf in given if isinstance(leaf, Handle)}
        if hidden or raised(reply):
            missing |= makes
        yield reply, not hidden and not _out_of_memory(reply)
