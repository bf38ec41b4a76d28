"""The frames that the judge and the student's process exchange.

A frame is `u32 body length | u32 header length | JSON header | raw tensor bytes`. Nothing is
pickled and nothing is evaluated. A reply is believed in no field before that field was checked, so
whatever the other side sends, `decode` returns plain data or raises `WireError`.
"""

from __future__ import annotations

import builtins
import json
import math
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import Tensor

MAX_REPLY = 8 << 20
MAX_HEADER = 256 << 10
MAX_TENSORS = 256
MAX_DIMENSIONS = 8
MAX_DEPTH = 12
# Bytes up to this length cross in the header. A vocabulary has more of them than a frame tensors.
MAX_SHORT = 256
UNLIMITED = 1 << 31

_DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        "float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8",
        "bool", "complex64", "complex128",
    )
}  # fmt: skip
_DTYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_ITEM_SIZES = {name: dtype.itemsize for name, dtype in _DTYPES.items()}
_KEYS = (str, int, float, type(None))  # and bool, which is an int
# Of these, isinstance(value, Tensor) takes longer than all else that is done with them.
_WORDS = frozenset({str, int, bool, float, type(None)})
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_JSON = json.JSONEncoder(separators=(",", ":"))
_LENGTHS = struct.Struct("<II")
LENGTH = struct.Struct("<I")


class WireError(Exception):
    """The other side sent something that is no frame of ours."""


class TooLargeError(WireError):
    """The other side sent a frame of `size` bytes, more than the `limit`."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"frame of {size} bytes, over the limit of {limit}")
        self.size = size
        self.limit = limit


@dataclass(frozen=True)
class Opaque:
    """A value that is not data, such as a function: only the name of its type is sent."""

    type_name: str


@dataclass(frozen=True)
class Affine:
    """The function `x ↦ x · scale + shift`, which can cross where code cannot.

    Checks hand it over as the sublayer, or as the dropout, of the code under test.
    """

    scale: Tensor | float = 1.0
    shift: Tensor | float = 0.0

    def __call__(self, x: Tensor) -> Tensor:
        """Return the function's value, in the broadcast shape; by default x itself."""
        if type(self.scale) is type(self.shift) is float and (self.scale, self.shift) == (1.0, 0.0):
            return x
        return x * self.scale + self.shift


@dataclass(frozen=True)
class Once:
    """An iterator over these items, which arrives as one that can be gone through a single time."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Seeded:
    """A `torch.Generator` that starts from this seed, made on the other side for one call."""

    seed: int


@dataclass(frozen=True)
class Handle:
    """An object that lives on the other side, by the number that it was made under.

    So a check hands a module to a function of the student's: `student.initialise(module)`. With a
    `path` it is an attribute of that object: `student.AdamW([model.weight])`.
    """

    number: int
    path: str = ""


def encode(value: Any) -> bytes:
    """Return one frame for `value`: data, tensors, `Affine`, `Once`, `Seeded`, `Handle`.

    Everything else becomes `Opaque`.
    """
    tensors: list[list[Any]] = []
    buffers: list[bytes] = []
    header = {"v": _plain(value, tensors, buffers, 0), "t": tensors}
    text = _JSON.encode(header).encode()
    size = LENGTH.size + len(text) + sum(map(len, buffers))
    return b"".join((_LENGTHS.pack(size, len(text)), text, *buffers))


def _plain(value: Any, tensors: list[list[Any]], buffers: list[bytes], depth: int) -> Any:
    if depth > MAX_DEPTH:
        return {"R": "deeply nested value"}
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, Tensor):
        return _tensor(value, tensors, buffers)
    if isinstance(value, int):
        number = int.__int__(value)
        return number if -(2**63) <= number < 2**63 else {"R": "very large int"}
    if isinstance(value, float):
        real = float.__float__(value)
        return real if math.isfinite(real) else {"F": repr(real)}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (list, tuple)):
        items = _items(value, tensors, buffers, depth + 1)
        return items if isinstance(value, list) else {"U": items}
    if isinstance(value, dict):
        if not all(isinstance(key, _KEYS) for key in value):
            return {"R": f"{kind.__name__} with other keys than texts and numbers"[:80]}
        pairs = [
            [_plain(key, tensors, buffers, depth + 1), _plain(item, tensors, buffers, depth + 1)]
            for key, item in value.items()
        ]
        return {"D": pairs}
    if kind is Affine:
        return {
            "A": [_plain(part, tensors, buffers, depth + 1) for part in (value.scale, value.shift)]
        }
    if kind is Once:
        return {"I": [_plain(item, tensors, buffers, depth + 1) for item in value.items]}
    if kind is Seeded:
        return {"S": value.seed}
    if kind is Handle:
        return {"H": [value.number, value.path]}
    if kind is Opaque:  # which has crossed before
        return {"R": str(value.type_name)[:80]}
    if kind is bytes and len(value) <= MAX_SHORT:
        return {"X": value.hex()}
    if kind is bytes and len(tensors) >= MAX_TENSORS:  # the other side would refuse the frame
        return {"R": "very long bytes"}
    if kind is bytes:
        tensors.append(["uint8", [len(value)], len(value), None])
        buffers.append(value)
        return {"B": len(tensors) - 1}
    return {"R": kind.__name__[:80]}


def _items(
    values: Iterable[Any], tensors: list[list[Any]], buffers: list[bytes], depth: int
) -> list[Any]:
    """Encode values; a tensor that is there twice, as in `attend(x, x, x)`, stays one object."""
    items: list[Any] = []
    known: dict[int, Any] = {}
    for value in values:
        item = known.get(id(value)) or _plain(value, tensors, buffers, depth)
        if type(value) not in _WORDS and isinstance(value, Tensor):
            known[id(value)] = item
        items.append(item)
    return items


def _tensor(value: Tensor, tensors: list[list[Any]], buffers: list[bytes]) -> dict[str, Any]:
    with torch._C.DisableTorchFunctionSubclass():
        plain = Tensor.detach(value)
        name = _DTYPE_NAMES.get(plain.dtype)
        if name is None or plain.layout is not torch.strided or plain.is_meta:
            return {"R": f"{plain.device.type} tensor of {plain.dtype}, {plain.layout}"[:80]}
        plain = plain.resolve_conj().resolve_neg().cpu()
        # A transposed tensor crosses as the contiguous one that it is a view of, so that the other
        # side gets it transposed too.
        order: list[int] | None = None
        if not plain.is_contiguous():
            strides = plain.stride()
            order = sorted(range(plain.dim()), key=lambda axis: -strides[axis])
            plain = plain.permute(order).contiguous()
        data = _raw(plain)
        tensors.append([name, list(plain.shape), len(data), order])
    buffers.append(data)
    return {"T": len(tensors) - 1}


def _raw(plain: Tensor) -> bytes:
    # Not by ctypes, which is closed to the student's process.
    numbers = plain.view(torch.int16) if plain.dtype is torch.bfloat16 else plain
    return numbers.numpy().tobytes()


def decode(body: bytes | bytearray) -> Any:
    """Return the value in a frame's body (all that follows the first length).

    Raises `WireError` for anything that `encode` would not have written.
    """
    if len(body) < LENGTH.size:
        raise WireError("short frame")
    (length,) = LENGTH.unpack_from(body)
    start = LENGTH.size + length
    if length > MAX_HEADER or start > len(body):
        raise WireError("bad header length")
    return _decode(body, start)


def decode_trusted(body: bytes | bytearray) -> Any:
    """`decode` without the limit on the header, for frames that the judge wrote."""
    (length,) = LENGTH.unpack_from(body)
    return _decode(body, LENGTH.size + length, limit=UNLIMITED)


def body(frame: bytes) -> bytes:
    """Return what of a frame comes after its length, as `Inbox.receive` gives it."""
    return frame[LENGTH.size :]


def crossed(value: Any) -> Any:
    """Return `value` as the other side would receive it."""
    return decode_trusted(body(encode(value)))


def _decode(body: bytes | bytearray, start: int, limit: int = MAX_TENSORS) -> Any:
    try:
        header = json.loads(bytes(body[LENGTH.size : start]), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise WireError("header is not JSON") from None
    if type(header) is not dict or set(header) != {"v", "t"}:
        raise WireError("bad header")
    return _Decoder(_tensors(header["t"], body, start, limit)).value(header["v"], 0)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _tensors(entries: Any, body: bytes | bytearray, offset: int, limit: int) -> list[Tensor]:
    if type(entries) is not list or len(entries) > limit:
        raise WireError("bad tensor table")
    tensors = []
    view = memoryview(body)
    for entry in entries:
        name, shape, size, order = _tensor_entry(entry)
        if offset + size > len(body):
            raise WireError("tensor bytes are missing")
        data = bytearray(view[offset : offset + size])
        offset += size
        if name == "bool" and data.translate(None, b"\0\1"):
            raise WireError("bad bool byte")
        dtype = _DTYPES[name]
        tensor = torch.frombuffer(data, dtype=dtype) if size else torch.empty(0, dtype=dtype)
        if len(shape) != 1:
            tensor = tensor.view(shape)
        if order is not None:
            tensor = tensor.permute(sorted(range(len(order)), key=order.__getitem__))
        tensors.append(tensor)
    if offset != len(body):
        raise WireError("bytes are left over")
    return tensors


def _tensor_entry(entry: Any) -> tuple[str, list[int], int, list[int] | None]:
    if type(entry) is not list or len(entry) != 4:
        raise WireError("bad tensor entry")
    name, shape, size, order = entry
    if type(name) is not str or name not in _DTYPES:
        raise WireError("bad dtype")
    if type(shape) is not list or len(shape) > MAX_DIMENSIONS or type(size) is not int:
        raise WireError("bad shape")
    count = numbers = 1
    for length in shape:
        if type(length) is not int or length < 0:
            raise WireError("bad shape")
        count *= length
        numbers *= length or 1
    if numbers > UNLIMITED:
        raise WireError("shape too large")
    if count * _ITEM_SIZES[name] != size:
        raise WireError("tensor bytes do not match the shape")
    if order is not None and (
        type(order) is not list
        or any(type(axis) is not int for axis in order)
        or sorted(order) != list(range(len(shape)))
    ):
        raise WireError("bad axis order")
    return name, shape, size, order


class _Decoder:
    """Turns the JSON tree back into values, with the tensors at hand."""

    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = tensors

    def value(self, node: Any, depth: int) -> Any:
        kind = type(node)
        if node is None or kind is bool or kind is str or kind is float:
            return node
        if kind is int:
            if not -(2**63) <= node < 2**63:
                raise WireError("integer out of range")
            return node
        if depth > 2 * MAX_DEPTH:
            raise WireError("value nested too deep")
        if kind is list:
            return [self.value(item, depth + 1) for item in node]
        if kind is dict and len(node) == 1:
            ((tag, content),) = node.items()
            return self.tagged(tag, content, depth + 1)
        raise WireError("bad value")

    def tagged(self, tag: Any, content: Any, depth: int) -> Any:
        if tag == "T":
            return self.tensor(content)
        if tag == "U" and type(content) is list:
            return tuple(self.value(item, depth) for item in content)
        if tag == "I" and type(content) is list:
            return iter([self.value(item, depth) for item in content])
        if tag == "D" and type(content) is list:
            return dict(self.pair(pair, depth) for pair in content)
        if tag == "F" and type(content) is str and content in ("nan", "inf", "-inf"):
            return float(content)
        if tag == "R" and type(content) is str:
            return Opaque(content[:80])
        if tag == "A" and type(content) is list and len(content) == 2:
            scale, shift = (self.value(part, depth) for part in content)
            if isinstance(scale, (Tensor, float)) and isinstance(shift, (Tensor, float)):
                return Affine(scale, shift)
        if tag == "S" and type(content) is int and 0 <= content < 2**63:
            return Seeded(content)
        if tag == "H" and type(content) is list and [*map(type, content)] == [int, str]:
            return Handle(*content)
        if tag == "X" and type(content) is str and len(content) <= 2 * MAX_SHORT:
            return self.short_bytes(content)
        if tag == "B":
            return self.bytes(content)
        raise WireError("bad value")

    def tensor(self, index: Any) -> Tensor:
        if type(index) is not int or not 0 <= index < len(self.tensors):
            raise WireError("bad tensor index")
        return self.tensors[index]

    def bytes(self, index: Any) -> bytes:
        raw = self.tensor(index)
        if raw.dtype is not torch.uint8 or not raw.is_contiguous():
            raise WireError("bad bytes")
        return _raw(raw)

    def short_bytes(self, digits: str) -> builtins.bytes:
        if not _HEX.fullmatch(digits):
            raise WireError("bad bytes")
        return builtins.bytes.fromhex(digits)

    def pair(self, node: Any, depth: int) -> tuple[Any, Any]:
        if type(node) is not list or len(node) != 2:
            raise WireError("bad dict")
        key = self.value(node[0], depth)
        if type(key) not in (str, int, bool, float, type(None)):
            raise WireError("bad key")
        return key, self.value(node[1], depth)
