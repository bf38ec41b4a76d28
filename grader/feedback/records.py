"""Dataclasses as JSON, and back without trust: a file may be damaged, a line made to harm."""

from __future__ import annotations

import dataclasses
import json
import math
import types
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

Data = TypeVar("Data")
_NOT_FINITE = ("nan", "inf", "-inf")


@dataclass(frozen=True)
class Within:
    """The bounds of a number, in an annotation: `Annotated[float, Within(0.0, 1.0)]`."""

    low: float
    high: float

    def __call__(self, number: float) -> float:
        """Return the number. Raises ValueError if it is not within the bounds."""
        if not self.low <= number <= self.high:
            raise ValueError(f"{str(number)[:40]} is out of bounds")
        return number


def loaded(text: str | bytes) -> Any:
    """Return what the JSON says.

    Raises ValueError for what is no JSON, for numbers that are none or too large, and for brackets
    nested deeper than any report of ours.
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_real, parse_int=_whole)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _real(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits[:20])


def _whole(digits: str) -> int:
    return int(digits) if len(digits) < 20 else _refuse(f"{digits[:20]}…")


def fields(value: Any) -> Any:
    """Return a dataclass as JSON can hold it: numbers unknown to JSON become "nan", "-inf"."""
    if dataclasses.is_dataclass(value):
        return {each.name: fields(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [fields(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.value if isinstance(value, Enum) else value


def read(kind: type[Data], data: Any) -> Data:
    """Return the dataclass that `data` describes, each field what its annotation says.

    A field that is not in `data` has its default; what else is there is left out. `Annotated` has
    functions that a value goes through, such as `Within`. Raises ValueError.
    """
    if not isinstance(data, dict):
        raise ValueError(f"{str(data)[:40]!r} is no {kind.__name__}")
    made_of: Any = kind
    annotations = _annotations(made_of)
    values = {name: _read(annotations[name], data[name]) for name in annotations if name in data}
    try:
        return kind(**values)
    except TypeError as error:  # a field without a default is missing
        raise ValueError(str(error)) from None


@cache
def _annotations(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _read(kind: Any, value: Any) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        value = _read(parts[0], value)
        for through in parts[1:]:
            value = through(value)
        return value
    if origin in (Union, types.UnionType):
        (inner,) = (part for part in parts if part is not type(None))
        return None if value is None else _read(inner, value)
    if origin in (list, tuple):
        fits = isinstance(value, (list, tuple))
        if fits and origin is tuple and parts[1:] != (...,):
            return tuple(_read(part, item) for part, item in zip(parts, value, strict=True))
        return origin(_read(parts[0], item) for item in value) if fits else _odd(value)
    if dataclasses.is_dataclass(kind):
        return read(kind, value)  # type: ignore[arg-type]
    if kind is float:
        if isinstance(value, str) and value in _NOT_FINITE:
            return float(value)
        return value if type(value) in (int, float) else _odd(value)
    if issubclass(kind, Enum):
        return kind(value)
    return value if type(value) is kind else _odd(value)


def _odd(value: object) -> NoReturn:
    raise ValueError(f"{str(value)[:40]!r} is of another kind than it should be")
