"""Walks over what crosses the wire: nested tuples, lists and dicts with tensors and data inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from grader.remote.wire import Affine, Once


def leaves(value: Any) -> Iterator[Any]:
    """Yield the leaves of tuples, lists, dicts and `Once` in order; for `Affine` its tensors."""
    if isinstance(value, (list, tuple)):
        items: Any = value
    elif isinstance(value, dict):
        items = value.values()
    elif type(value) is Affine:
        items = (value.scale, value.shift)
    elif type(value) is Once:
        items = value.items
    else:
        yield value
        return
    for item in items:
        yield from leaves(item)


def rebuilt(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return the same nest with `leaf(...)` in the place of each leaf, called in their order."""
    if isinstance(value, (list, tuple)):
        return type(value)(rebuilt(item, leaf) for item in value)
    if isinstance(value, dict):
        return {key: rebuilt(item, leaf) for key, item in value.items()}
    if type(value) is Once:
        return Once(rebuilt(value.items, leaf))
    return leaf(value)


def sendable(value: Any) -> Any:
    """Return what came over the wire as it was before: an iterator can be sent again."""
    if isinstance(value, dict):
        return {key: sendable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(sendable, value))
    return Once(tuple(value)) if isinstance(value, Iterator) else value


def alike(left: Any, right: Any, leaf: Callable[[Any, Any], bool]) -> bool:
    """Return whether two nests have one form, and leaves of one type that `leaf` finds equal."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        if left.keys() != right.keys():
            return False
        return all(alike(left[key], right[key], leaf) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(
            alike(left_item, right_item, leaf)
            for left_item, right_item in zip(left, right, strict=True)
        )
    if type(left) is Affine:
        return alike(left.scale, right.scale, leaf) and alike(left.shift, right.shift, leaf)
    if type(left) is Once:
        return alike(left.items, right.items, leaf)
    return leaf(left, right)
