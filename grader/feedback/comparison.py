"""Comparing what a student's code returns with what it should return, in plain words.

Public tests and hidden checks both use these functions. Each returns nothing when all is well and
raises a `Mismatch` otherwise. A `Mismatch` is data (a headline, a small grid, a helping sentence)
that a terminal, an HTML page or a picture can show; `str()` of it is the plain text.

The first argument is whatever a student's code gave back, so nothing here calls a method of it
before its type is known: it may be None, a tuple, a sparse tensor or an object that raises in
`__eq__`, `__str__` and `__repr__`.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import cast

import torch
from torch import Tensor
from torch.nn import Module

from grader.feedback.finding import MODIFIED, SIDES, Grid
from grader.feedback.grids import cut_grid
from grader.feedback.mismatch import Mismatch
from grader.feedback.relations import question_for, relation
from grader.feedback.shapes import shape_mismatch, sizes_in_words
from grader.feedback.sizes import Sizes
from grader.feedback.tensors import article, as_tensor, type_name
from grader.feedback.tolerance import SMALLEST_SIZE, TOLERANCE, note

__all__ = [
    "Grid",
    "Mismatch",
    "assert_differs",
    "assert_dtype",
    "assert_finite",
    "assert_matches",
    "assert_parameters",
    "assert_parts",
    "assert_raises",
    "assert_shape",
    "assert_sizes",
    "assert_unchanged",
    "assert_zero",
    "too_large",
]

_KINDS = {
    torch.bool: "True and False",
    torch.uint8: "whole numbers",
    torch.int8: "whole numbers",
    torch.int16: "whole numbers",
    torch.int32: "whole numbers",
    torch.int64: "whole numbers",
}
_NAN_HELP = (
    "NaN typically comes from 0/0 or inf/inf, from inf - inf, from softmax over a row that is -inf "
    "throughout, or from the square root of a negative number."
)
_IN_PLACE = (
    "Tensors that belong to the caller must not be modified. Is there a `+=` or `-=`, an "
    "assignment to a slice, a method that ends in `_`, or `inplace=True`?"
)
_MANY = 8
_MADE = "Is it made with nn.Parameter (or a module of nn) and kept under this name?"
_IN_A_LIST = (
    "Is it in an nn.ModuleList? PyTorch finds nothing in a plain list. Or are too few made?"
)
_SWAPPED = "Are two sizes swapped where it is created?"
_FROM = "Which sizes do you create it with, and which does the exercise give?"
_COARSE = (
    "It comes back as {dtype}, which holds only about three digits of a number; keep the dtype of "
    "the input."
)
_INF_HELP = "Infinity typically comes from a division by zero or from exp of a large number."


def assert_matches(
    actual: object,
    expected: Tensor,
    subject: str = "output",
    *,
    axes: Sequence[str] = (),
    help: str = "",
    rtol: float | None = None,
    atol: float | None = None,
    sides: tuple[str, str] = SIDES,
    asks: Mapping[str, Tensor] | None = None,
) -> None:
    """Check type, shape and numbers of `actual` against `expected`.

    `axes` names the axes of `expected` ("batch", "query", "d_v"), `subject` is the noun in the
    message ("output", "attention weights"), `sides` the titles of the two halves of the grid.
    `help` is a question or sentence that leads on. `asks` holds questions for numbers that suggest
    one: where `actual` has the numbers that belong to a question, that is asked instead of `help`.
    Floating numbers are compared in float64 with a tolerance relative to the largest expected
    number; a float32 result where float64 is expected is fine. With `rtol` or `atol` given, they
    mean what they mean in `torch.allclose` (one left out is 0). Whole numbers and booleans must be
    equal and of the same dtype. Raises `Mismatch`.
    """
    __tracebackhide__ = True
    yours = as_tensor(actual, subject, help)
    wanted = expected.detach()
    question = question_for(yours, asks or {})
    if question:
        try:
            assert_matches(
                yours,
                expected,
                subject,
                axes=axes,
                help=question,
                rtol=rtol,
                atol=atol,
                sides=sides,
            )
        except Mismatch as error:
            error.names_cause = True
            raise
    if yours.shape != wanted.shape:
        raise shape_mismatch(yours, wanted, tuple(wanted.shape), subject, axes, help)
    if wanted.dtype not in TOLERANCE:
        _check_dtype(yours, wanted.dtype, subject, help)
        if not torch.equal(yours, wanted):
            raise _value_mismatch(yours, wanted, yours != wanted, subject, axes, help, sides)
        return
    if yours.dtype not in TOLERANCE:
        raise _dtype_mismatch(yours, "a floating dtype such as float32", subject, help)
    if yours.numel() == 0:
        return
    # The precision of the expected dtype: returning fewer digits must not help.
    tolerance = TOLERANCE[wanted.dtype]
    coarse = yours.dtype if TOLERANCE[yours.dtype] > tolerance else None
    yours, wanted = yours.double(), wanted.double()
    magnitude = wanted.abs()
    largest = magnitude.max().item()
    if rtol is None and atol is None:
        limit = magnitude.add_(max(largest, SMALLEST_SIZE)).mul_(tolerance)
    else:
        limit = magnitude.mul_(rtol or 0.0).add_(atol or 0.0)
    # An expected infinity would make the limit infinite too, so that anything passes.
    if math.isfinite(largest):
        difference = (yours - wanted).abs_()
        note(difference, limit)
        if (difference <= limit).all().item():
            return
    if coarse is not None and rtol is atol is None:
        help = f"{_COARSE.format(dtype=str(coarse).removeprefix('torch.'))} {help}".strip()
    _slow_check(yours, wanted, tolerance, rtol, atol, subject, axes, help, sides)


def assert_unchanged(given: Tensor, before: Tensor, name: str, *, axes: Sequence[str] = ()) -> None:
    """Check that `given`, called `name` in messages, still equals `before`, a copy of it.

    Raises `Mismatch`.
    """
    __tracebackhide__ = True
    if not torch.equal(given, before):
        wrong = given.detach() != before
        error = Mismatch(
            f"Your code changes {name}: {_share_of(wrong)} been modified in place.",
            cut_grid(given.detach(), before, wrong, axes, MODIFIED),
            _IN_PLACE,
        )
        error.modified = given
        raise error


def assert_zero(actual: object, subject: str = "output", help: str = "") -> None:
    """Check that every number of `actual` is exactly zero. Raises `Mismatch`."""
    __tracebackhide__ = True
    yours = _numbers(actual, subject, help)
    if not torch.count_nonzero(yours).item():
        return
    _check_not_finite(yours, None, subject, (), help, ("yours", ""))
    wrong = yours != 0
    raise Mismatch(
        f"{_share(int(wrong.sum().item()), yours, subject)} not zero; they should be exactly zero.",
        cut_grid(yours, torch.zeros_like(yours), wrong),
        help,
    )


def assert_finite(
    actual: object, subject: str = "output", *, axes: Sequence[str] = (), help: str = ""
) -> None:
    """Check that `actual` is a tensor without NaN and infinity. Raises `Mismatch`."""
    __tracebackhide__ = True
    yours = _numbers(actual, subject, help)
    if not torch.isfinite(yours).all().item():
        _check_not_finite(yours, None, subject, axes, help, ("yours", ""))


def assert_parts(actual: object, names: Sequence[str], subject: str) -> None:
    """Check that what a call of `subject` returned is a tuple of things so named.

    Raises `Mismatch`.
    """
    __tracebackhide__ = True
    if not isinstance(actual, (tuple, list)):
        description = "None: is a `return` missing?" if actual is None else "only one thing."
    elif len(actual) == len(names):
        return
    else:
        description = f"{len(actual)} things."
    raise Mismatch(f"{subject} should return ({', '.join(names)}); yours returned {description}")


def assert_shape(
    actual: object,
    shape: Mapping[str, int] | Sequence[int],
    subject: str = "output",
    help: str = "",
) -> None:
    """Check that `actual` is a tensor of this shape, given as {axis name: size} or as sizes.

    Raises `Mismatch`.
    """
    __tracebackhide__ = True
    yours = as_tensor(actual, subject, help)
    axes = tuple(shape) if isinstance(shape, Mapping) else ()
    sizes = tuple(shape.values()) if isinstance(shape, Mapping) else tuple(shape)
    if tuple(yours.shape) != sizes:
        raise shape_mismatch(yours, None, sizes, subject, axes, help)


def assert_dtype(
    actual: object, dtype: torch.dtype, subject: str = "output", help: str = ""
) -> None:
    """Check that `actual` is a tensor of exactly this dtype. Raises `Mismatch`."""
    __tracebackhide__ = True
    _check_dtype(as_tensor(actual, subject, help), dtype, subject, help)


def assert_differs(actual: object, other: Tensor, subject: str = "output", help: str = "") -> None:
    """Check that `actual` has the shape of `other` and some other numbers. Raises `Mismatch`."""
    __tracebackhide__ = True
    yours = as_tensor(actual, subject, help)
    if yours.shape != other.shape:
        raise shape_mismatch(yours, None, tuple(other.shape), subject, (), help)
    if torch.equal(yours, other):
        raise Mismatch(
            f"The numbers in your {subject} stay the same; they should change.", None, help
        )


def assert_parameters(
    module: object,
    shapes: Mapping[str, Sequence[int]],
    subject: str,
    asks: Mapping[str, str] | None = None,
) -> None:
    """Check that `module` has exactly the parameters `shapes` names. Raises `Mismatch`.

    `asks` are questions for parameters that are missing or too many, by a pattern of their names,
    such as "*.bias".
    """
    __tracebackhide__ = True
    if not issubclass(type(module), Module):
        raise Mismatch(f"{subject} is {article(module)}; it should be a module.", None)
    held = dict(cast(Module, module).named_parameters(remove_duplicate=False))
    sizes = {name: tuple(parameter.shape) for name, parameter in held.items()}
    for name, shape in shapes.items():
        if name not in sizes:
            raise Mismatch(
                f"{subject} has no parameter `{name}`. {those_there(name, list(sizes))}",
                None,
                _asked(name, asks) or (_IN_A_LIST if re.search(r"\.\d+\.", name) else _MADE),
                "__init__",
            )
        if sizes[name] != tuple(shape):
            raise Mismatch(
                f"The parameter `{name}` of {subject} has shape {sizes_in_words(sizes[name])}; "
                f"it should have {sizes_in_words(tuple(shape))}.",
                None,
                _SWAPPED if sorted(sizes[name]) == sorted(shape) else _FROM,
                "__init__",
            )
    # One of them may have a second name, as when an nn.Sequential holds a layer as well.
    known = {id(held[name]) for name in shapes}
    extra = [name for name, parameter in held.items() if id(parameter) not in known]
    if extra:
        headline = not_belonging(subject, extra)
        raise Mismatch(headline, None, _asked(extra[0], asks), "__init__")


def not_belonging(subject: str, extra: Sequence[str]) -> str:
    """Return the sentence on parameters that a module should not have; of many, it names some."""
    names = _some_of([f"`{name}`" for name in extra])
    return f"{subject} has parameters that do not belong to it: {names}."


def _asked(name: str, asks: Mapping[str, str] | None) -> str:
    """Return the question for a parameter of this name, or ""."""
    asked = (question for pattern, question in (asks or {}).items() if fnmatch(name, pattern))
    return next(asked, "")


def _some_of(names: Sequence[str]) -> str:
    """Return names as a sentence has them, and of many how many more there are."""
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return f"{', '.join(names[:_MANY])}{more}"


def those_there(missing: str, names: Sequence[str]) -> str:
    """Return a sentence on the parameters there are instead; of many, on those of the same part."""
    if len(names) <= _MANY:
        there = ", ".join(f"`{name}`" for name in names) or "none at all"
        return f"The parameters it has: {there}."
    part = missing.partition(".")[0]
    same = [f"`{name}`" for name in names if name.partition(".")[0] == part]
    if same:
        return f"Those of its `{part}`: {_some_of(same)}."
    parts = dict.fromkeys(f"`{name.partition('.')[0]}`" for name in names)
    return f"All it has belong to {', '.join(parts)}."


def assert_defaults(owner: Callable[..., object], **defaults: object) -> None:
    """Check the defaults that the `def` line of a function or a class gives as plain values.

    Where there is no such line to read, or where a default is None and found out in the body,
    nothing is said. Raises `Mismatch`, and NotImplementedError where the body is not written yet.
    """
    __tracebackhide__ = True
    try:
        parameters = inspect.signature(owner).parameters
    except (TypeError, ValueError):
        return
    written = vars(owner).get("__init__") if isinstance(owner, type) else owner
    body = getattr(written, "__code__", None)
    names: set[str] = {*body.co_names} if body is not None else set()
    if {"NotImplementedError"} <= names <= {"NotImplementedError", "super", "__init__"}:
        owner(**dict.fromkeys(parameters))  # raises it where the student has to write
    for name, expected in defaults.items():
        default = parameters[name].default if name in parameters else expected
        if isinstance(default, bool | int | float | str | tuple) and default != expected:
            called = getattr(owner, "__name__", "the call")
            raise Mismatch(
                f"The default of `{name}` in {called} is {default}; it should be {expected}.",
                None,
                "",
                "__init__" if isinstance(owner, type) else "def",
            )


@contextmanager
def assert_sizes(limit: int, given: Sequence[object], subject: str, help: str) -> Iterator[None]:
    """Check that the block, `subject` in messages, makes no tensor of more than `limit` numbers.

    `given` are the tensors that are there already. Raises `Mismatch`.
    """
    __tracebackhide__ = True
    with Sizes(limit, given) as sizes:
        yield
    if sizes.larger:
        raise too_large(sizes.larger, limit, subject, help)


def too_large(shape: str, limit: int, subject: str, help: str) -> Mismatch:
    """Say that a tensor of this shape, made on the way, has more than `limit` numbers."""
    headline = (
        f"{subject} makes a tensor of shape {shape}. None may have more than {limit} numbers."
    )
    return Mismatch(headline, None, help)


@contextmanager
def assert_raises(kind: type[Exception], subject: str, help: str = "") -> Iterator[None]:
    """Check that the block, called `subject` in messages, raises `kind`.

    `AssertionError` counts as `ValueError`, and `ValueError` as `IndexError`. `LookupError` stands
    for `KeyError` or `IndexError`. A `NotImplementedError` is let through: the code is not written
    yet. Raises `Mismatch`.
    """
    __tracebackhide__ = True
    accepted: tuple[type[Exception], ...] = (kind,)
    wanted = "KeyError or IndexError" if kind is LookupError else kind.__name__
    if kind is ValueError:
        accepted = (ValueError, AssertionError)
    elif kind in (IndexError, LookupError):
        accepted = (kind, ValueError, AssertionError)
    try:
        yield
    except accepted:
        return
    except NotImplementedError:
        raise
    except Exception as error:
        raise Mismatch(
            f"{subject} raised {type_name(error)}; it should raise {wanted}.", None, help, "raise"
        ) from error
    raise Mismatch(f"{subject} raises nothing; it should raise {wanted}.", None, help, "raise")


def _numbers(actual: object, subject: str, help: str) -> Tensor:
    """`actual` as a tensor that holds some numbers of a usual dtype."""
    __tracebackhide__ = True
    yours = as_tensor(actual, subject, help)
    if yours.dtype not in TOLERANCE and yours.dtype not in _KINDS:
        raise _dtype_mismatch(yours, "a usual one such as float32", subject, help)
    if yours.numel() == 0:
        sizes = sizes_in_words(tuple(yours.shape))
        raise Mismatch(f"Your {subject} is empty: its shape is {sizes}.", None, help)
    return yours


def _check_dtype(yours: Tensor, dtype: torch.dtype, subject: str, help: str) -> None:
    __tracebackhide__ = True
    if yours.dtype != dtype:
        raise _dtype_mismatch(yours, str(dtype).removeprefix("torch."), subject, help)


def _dtype_mismatch(yours: Tensor, wanted: str, subject: str, help: str) -> Mismatch:
    dtype = str(yours.dtype).removeprefix("torch.")
    kind = _KINDS.get(yours.dtype)
    held = f" ({kind})" if kind and dtype != "bool" else ""
    return Mismatch(
        f"The dtype of your {subject} is {dtype}{held}; it should be {wanted}.", None, help
    )


def _slow_check(
    yours: Tensor,
    wanted: Tensor,
    tolerance: float,
    rtol: float | None,
    atol: float | None,
    subject: str,
    axes: Sequence[str],
    help: str,
    sides: tuple[str, str],
) -> None:
    """Compare where something is not finite or not close; raises unless all is well after all."""
    __tracebackhide__ = True
    _check_not_finite(yours, wanted, subject, axes, help, sides)
    finite = torch.isfinite(wanted)
    magnitude = wanted.abs()[finite]
    size = max([*magnitude.flatten().tolist(), SMALLEST_SIZE])
    limit = torch.zeros_like(wanted)
    if rtol is None and atol is None:
        limit[finite] = (magnitude + size) * tolerance
    else:
        limit[finite] = magnitude * (rtol or 0.0) + (atol or 0.0)
    difference = torch.where(finite, (yours - wanted).abs(), 0.0)
    wrong = torch.where(finite, difference > limit, yours != wanted) & ~(
        yours.isnan() & wanted.isnan()
    )
    if wrong.any().item():
        raise _value_mismatch(yours, wanted, wrong, subject, axes, help, sides)


def _check_not_finite(
    yours: Tensor,
    wanted: Tensor | None,
    subject: str,
    axes: Sequence[str],
    help: str,
    sides: tuple[str, str],
) -> None:
    """Raise where `yours` is NaN or infinite and `wanted`, if given, is not the same.

    Where some of `wanted` is infinite, an infinity elsewhere is a number like any other.
    """
    __tracebackhide__ = True
    may_be_infinite = wanted is not None and bool(wanted.isinf().any().item())
    for odd, words, hint in (
        (yours.isnan(), "NaN (not a number)", _NAN_HELP),
        (yours.isinf(), "infinite", _INF_HELP),
    ):
        if hint is _INF_HELP and may_be_infinite:
            continue
        if wanted is not None:
            odd = odd & torch.isfinite(wanted)
        if odd.any().item():
            count = int(odd.sum().item())
            raise Mismatch(
                f"{_share(count, yours, subject)} {words}.",
                cut_grid(yours, wanted, odd, axes, sides),
                f"{hint} {help}".strip(),
            )


def _value_mismatch(
    yours: Tensor,
    wanted: Tensor,
    wrong: Tensor,
    subject: str,
    axes: Sequence[str],
    help: str,
    sides: tuple[str, str],
) -> Mismatch:
    count, total = int(wrong.sum().item()), wrong.numel()
    if total == 1 and wanted.dim() == 0 and sides == SIDES and wanted.dtype.is_floating_point:
        number, right = yours.item(), wanted.item()
        alone = Mismatch(f"Your {subject} is {number:.7g}; it should be {right:.7g}.", None, help)
        alone.only_numbers = True
        return alone
    # Where two answers of the student's are compared, neither is the right one.
    headline = f"{_share(count, wanted, subject)} {'wrong' if sides == SIDES else 'different'}"
    if wanted.dtype == torch.bool:
        if count == total > 1 and not help:
            help = "True and False are swapped throughout: which of the two means visible?"
        headline += "."
    else:
        largest = (yours - wanted).abs()[wrong].max().item()
        headline += f"; the largest difference is {largest:.2g}." if largest < math.inf else "."
        if sides == SIDES:
            headline = f"{headline} {relation(yours, wanted)}".strip()
    return Mismatch(headline, cut_grid(yours, wanted, wrong, axes, sides), help)


def _share_of(wrong: Tensor) -> str:
    """Return how many of the numbers, such as "3 of 9 numbers have"."""
    count = int(wrong.sum().item())
    return f"{count} of {wrong.numel()} numbers {'has' if count == 1 else 'have'}"


def _share(count: int, tensor: Tensor, subject: str) -> str:
    """Return the beginning of a sentence with a count, "3 of 9 numbers in your x are"."""
    noun, total = ("entries" if tensor.dtype == torch.bool else "numbers"), tensor.numel()
    if total == 1:
        return f"Your {subject} is"
    if count == total == 2:
        return f"Both {noun} in your {subject} are"
    if count == total:
        return f"All {total} {noun} in your {subject} are"
    return f"{count} of {total} {noun} in your {subject} {'is' if count == 1 else 'are'}"
