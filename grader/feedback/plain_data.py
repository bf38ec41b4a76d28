"""Comparing plain data that a student's code returns, such as lists of words, in plain words.

As in `comparison`, what came back may be anything: nothing of it is called before its type is
known, and what is shown of it is short and printable.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from grader.feedback.mismatch import Mismatch
from grader.feedback.tensors import type_name

_KINDS = (bool, int, float, str, bytes, list, tuple, dict, type(None))
_NOUNS = {
    "str": "a string", "int": "an int", "list": "a list", "dict": "a dictionary",
    "tuple": "a tuple",
}  # fmt: skip
_MANY = 3
_DEPTH = 5


class _Short(reprlib.Repr):
    """The beginning of a long list or dictionary, and of the strings in it."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxdict = 12
        self.maxstring = self.maxother = 60


_short = _Short().repr


def assert_equals(actual: object, expected: Any, subject: str, help: str = "") -> None:
    """Check that `actual` is the same plain data as `expected`: type, items, order of a list.

    `subject` is the call as a student would write it, "tokenize('a b')", or another noun.
    Numbers have to be of the same type: neither True nor 1.0 counts as 1. Raises `Mismatch`.
    """
    __tracebackhide__ = True
    if _equal(actual, expected):
        return
    given = f"{subject} is {shown(actual)}"
    kind = type(expected).__name__
    if actual is None:
        raise Mismatch(f"{subject} is None: is a `return` missing?", None, help)
    if not isinstance(actual, type(expected)):
        wanted = _NOUNS.get(kind, kind)
        raise Mismatch(f"{given}; it should be {wanted}: {shown(expected)}.", None, help)
    if isinstance(actual, dict):
        raise Mismatch(f"{subject}: {_entries(actual, expected)}", None, help)
    raise Mismatch(f"{given}; it should be {shown(expected)}.", None, help)


def shown(value: object) -> str:
    """Return a value as a student would write it, shortened; for other objects their type."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, (list, tuple, dict)):
        odd = next((item for item in _inside(value) if type(item) not in _KINDS), None)
        return _short(value) if odd is None else f"a {type_name(value)} that holds {shown(odd)}"
    return _short(value) if type(value) in _KINDS else f"something of the type {type_name(value)}"


def _inside(
    value: list[Any] | tuple[Any, ...] | dict[Any, Any], depth: int = _DEPTH
) -> Iterator[Any]:
    """Yield all that a list, tuple or dictionary holds, as deep as it is shown."""
    for item in (*value.keys(), *value.values()) if isinstance(value, dict) else value:
        yield item
        if depth and type(item) in (list, tuple):
            yield from _inside(item, depth - 1)


def _equal(actual: object, expected: Any) -> bool:
    """Return whether both are the same, without calling `==` of what may be anything."""
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(actual, list if isinstance(expected, list) else tuple)
            and len(actual) == len(expected)
            and all(map(_equal, actual, expected))
        )
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and all(type(key) is str for key in actual)
            and actual.keys() == expected.keys()
            and all(_equal(actual[key], value) for key, value in expected.items())
        )
    if isinstance(expected, str):
        return isinstance(actual, str) and str.__eq__(actual, expected) is True
    return type(actual) is type(expected) and bool(actual == expected)


def _entries(actual: dict[Any, Any], expected: dict[Any, Any]) -> str:
    """Return the entries in which two dictionaries differ, the first few of them."""
    # What should not be there comes first: it often explains the other entries.
    wrong = [f"{shown(key)} should not be there" for key in actual if key not in expected]
    wrong += [
        f"{key!r} should have {shown(value)}, not {shown(actual[key])}"
        if key in actual
        else f"{key!r} is missing; it should be {shown(value)}"
        for key, value in expected.items()
        if key not in actual or not _equal(actual[key], value)
    ]
    more = f", and {len(wrong) - _MANY} more" if len(wrong) > _MANY else ""
    return f"{'; '.join(wrong[:_MANY])}{more}."
