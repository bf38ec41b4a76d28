"""What the hidden checks assert of calls and of modules, where `feedback` compares tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.feedback.comparison import (
    Mismatch,
    assert_matches,
    assert_parts,
    assert_shape,
    not_belonging,
    those_there,
)
from grader.feedback.mismatch import Edited, NoGradient, Proven, WrongShape
from grader.feedback.plain_data import assert_equals
from grader.feedback.tensors import article
from grader.remote.nested import rebuilt
from grader.remote.proxy import RemoteModule
from grader.remote.session import StudentError
from grader.remote.wire import Opaque

# What is asked where no gradient reaches something.
IS_IT_USED = "Is it used? Is the graph cut by detach, .data, no_grad, item or numpy?"


def parts(value: Any, names: Sequence[str], subject: str) -> Sequence[Any]:
    """The items of a tuple that a call returned. Raises `Mismatch` if it is no such tuple."""
    assert_parts(value, names, subject)
    items: Sequence[Any] = value
    return items


def assert_returns(actual: Any, expected: Any, subject: str, help: str = "") -> None:
    """A call gave this plain data. `subject` is the call as a student would write it."""
    assert_equals(rebuilt(actual, _with_its_type), expected, subject, help)


def _with_its_type(leaf: Any) -> Any:
    """What crossed as the name of its type only, as something of a type so called."""
    return type(leaf.type_name, (), {})() if isinstance(leaf, Opaque) else leaf


def came_back(value: object) -> str:
    """The end of a sentence "yours returned …" about something of another type."""
    if value is None:
        return "None: is a `return` missing?"
    return f"{article(value)}."


# What the contract accepts where it asks for an error.
_ACCEPTED = {
    "KeyError": {"KeyError"},
    "ValueError": {"ValueError", "AssertionError"},
    "IndexError": {"IndexError", "ValueError", "AssertionError"},
    "LookupError": {"LookupError", "ValueError", "AssertionError"},
}
# The names by which a student knows them.
_NAMED = {"LookupError": "KeyError or IndexError"}


def assert_refuses(
    error: type[Exception], call: Callable[[], Any], reason: str, naming: str = ""
) -> None:
    """The call raises `error`, or what the contract accepts in its place.

    `reason` is the call and why, in words: "MultiHeadAttention(10, 3): 10 features cannot be
    shared out among 3 heads". The words of the error contain those of `naming`.
    """
    name = _NAMED.get(error.__name__, error.__name__)
    try:
        call()
    except StudentError as raised:
        if _ACCEPTED[error.__name__].isdisjoint(raised.kinds):
            raised_text = str(raised).rstrip(".")
            raise Mismatch(
                f"{reason}. It should raise {name}; yours raised {raised_text}."
            ) from None
        if naming not in raised.text:
            raise Mismatch(
                f"{reason}. The {name} should name {naming!r}; yours says: {raised}."
            ) from None
        return
    raise Mismatch(f"{reason}. It should raise {name}; yours raised nothing.")


def assert_defaults(student: Any, entry: str, defaults: Mapping[str, Any]) -> None:
    """The signature of the class `entry` has no other defaults than the contract.

    One that it does not show, or that is of another kind (None, say), is left to other checks.
    """
    result = student.defaults(entry)
    for name, value in defaults.items():
        kinds = (int, float) if isinstance(value, (int, float)) else (str,)
        actual = result.get(name, value)
        if type(actual) in (*kinds, bool) and actual != value:
            raise Mismatch(
                f"Without `{name}`, {entry} takes {actual!r}; the default should be {value!r}."
            )


def assert_not_edited(before: Sequence[Tensor], after: Sequence[Any], names: Sequence[str]) -> None:
    """The arguments are after the call what they were before it."""
    for name, old, new in zip(names, before, after, strict=True):
        same = isinstance(new, Tensor) and new.shape == old.shape and torch.equal(new, old)
        if not same:
            raise Edited(name)


def gradients(output: Tensor, inputs: Sequence[Tensor], cotangent: Tensor) -> list[Tensor | None]:
    """The gradients of `output` with regard to `inputs`, pulled back from a random cotangent."""
    if not isinstance(output, Tensor) or not output.requires_grad:
        raise NoGradient("No gradient flows back through your code.", IS_IT_USED)
    if output.shape != cotangent.shape:
        raise Mismatch(
            f"The shape of your output is {tuple(output.shape)}, not {tuple(cotangent.shape)}."
        )
    return list(pull_back(output, inputs, cotangent.to(output.dtype)))


def pull_back(output: Tensor, inputs: Sequence[Tensor], cotangent: Tensor) -> tuple[Tensor, ...]:
    """The gradients of these inputs, None for one that the output does not depend on."""
    # Handed to torch, a cotangent costs 0.4 s: it imports sympy the first time.
    return torch.autograd.grad((output * cotangent).sum(), list(inputs), allow_unused=True)


def assert_gradients(
    actual: Sequence[Tensor | None], expected: Sequence[Tensor], names: Sequence[str]
) -> None:
    """The gradients of the tensors so named are the expected ones.

    One that is zero but for rounding, as that of the bias of keys is, may be missing too.
    """
    sizes = [wanted.abs().max().item() for wanted in expected]
    for name, gradient, wanted, size in zip(names, actual, expected, sizes, strict=True):
        zero = size < 1e-9
        if gradient is not None:
            # Measured: up to 1e-6 of the largest gradient, for code that computes in float32.
            noise = 2e-5 * max(sizes) if zero else None
            assert_matches(gradient, wanted, f"gradient of `{name}`", atol=noise)
        elif not zero:
            raise NoGradient(f"No gradient reaches `{name}`.", IS_IT_USED, name)


def matches(actual: Any, expected: Tensor) -> bool:
    """Whether `assert_matches` would let this pass."""
    try:
        assert_matches(actual, expected)
    except Mismatch:
        return False
    return True


def assert_repeats(again: Any, output: Tensor) -> None:
    """The result of a second call, equal to the first and in evaluation, is that of the first."""
    assert_shape(again, tuple(output.shape))
    if not matches(again, output):
        raise Mismatch(
            "Two equal calls in evaluation give different results.",
            help="Is a layer, with new weights, made in `forward`? Or is a dropout left on?",
        )


def assert_same_in_training(module: RemoteModule, output: Tensor, *arguments: Any) -> None:
    """Check that training mode gives the `output` of evaluation, as where nothing is dropped."""
    trained = module.train()(*arguments)
    module.eval()
    if not matches(trained, output):
        raise Mismatch(
            "In training mode your module returns other numbers than in evaluation mode.",
            help="Is there a dropout, or something else that depends on `self.training`? This "
            "exercise has none.",
        )


def assert_changes(actual: Any, before: Tensor, headline: str) -> None:
    """The result of a call is clearly another than `before`; else `headline` says so."""
    assert_shape(actual, tuple(before.shape))
    if (actual.double() - before.double()).abs().max().item() < 1e-5:
        raise Mismatch(headline)


def assert_registers(
    module: RemoteModule, shapes: Mapping[str, Sequence[int]], subject: str
) -> None:
    """The module's parameters are those that `shapes` names, in these shapes.

    Other names for the same tensors are fine, as when an `nn.Sequential` holds a layer as well.
    """
    result = {parameter.name: parameter for parameter in module.parameters()}
    for name, shape in shapes.items():
        if name not in result:
            raise Proven(f"{subject} has no parameter `{name}`. {those_there(name, list(result))}")
        if result[name].shape != tuple(shape):
            raise WrongShape(
                f"The parameter `{name}` of {subject} has shape {result[name].shape}; "
                f"it should have {tuple(shape)}.",
                parameter=name,
            )
    known = {result[name].storage for name in shapes}
    extra = [name for name, parameter in result.items() if parameter.storage not in known]
    if extra:
        raise Proven(not_belonging(subject, extra), parameter=extra[0])


def assert_keeps_numbers(module: RemoteModule, weights: Mapping[str, Tensor]) -> None:
    """The module holds these weights, which it was given: no two of its parameters are one."""
    held = module.weights(weights)
    given = {name: value.to(held[name].dtype) for name, value in weights.items()}
    for name, value in given.items():
        if not torch.equal(held[name], value):
            same = [f"`{other}`" for other in given if torch.equal(held[name], given[other])]
            raise Proven(
                f"`{name}` does not keep the numbers that are put there: it shares them with "
                f"{same[0] if same else 'another parameter'}.",
                "Are the two one object? Which line makes each of them?",
                name,
            )


def assert_moves(module: RemoteModule) -> None:
    """All tensors of the module follow `.to(...)`."""
    left = module.stay_behind()
    if left:
        raise Mismatch(
            f"`{left[0]}` is a tensor that `.to(...)` does not move.",
            help="A constant is a buffer: see `register_buffer`.",
        )


def assert_drops(
    trained: Sequence[Any], evaluated: Tensor, p: float, subject: str = "output"
) -> None:
    """What two calls in training mode gave is what evaluation gives, after dropout.

    So every number is zero or that of evaluation divided by 1 - p, the share of zeros is about p,
    and the second call drops others than the first. `evaluated` should hold no zeros and 500
    numbers or more.
    """
    kept = evaluated / (1 - p)
    for output in trained:
        assert_shape(output, tuple(evaluated.shape), f"{subject} in training mode")
        expected = torch.where(output == 0, 0.0, kept)
        assert_matches(
            output,
            expected,
            f"{subject} in training mode",
            help=f"With dropout {p} a number becomes zero, or is divided by {1 - p:.2g}.",
        )
        assert_dropped_at_random(output == 0, p, f"your {subject}")
    if torch.equal(trained[0], trained[1]):
        raise Mismatch("Two calls in training mode drop the same numbers.")


def assert_dropped_at_random(dropped: Tensor, p: float, subject: str) -> None:
    """Check that about a share p of `dropped` is True, and that no axis repeats one pattern.

    The bounds are seven standard deviations: correct code exceeds them once in 10^11 times.
    """
    for axis in range(dropped.dim()):
        if dropped.size(axis) > 1 and torch.equal(dropped, dropped.roll(1, axis)):
            raise Mismatch(
                f"Dropout drops the same numbers at every index of axis {axis}.",
                help="It should drop each number independently.",
            )
    count, share = dropped.numel(), dropped.double().mean().item()
    if abs(share - p) > 7 * math.sqrt(p * (1 - p) / count):
        raise Mismatch(f"With dropout {p}, {share:.0%} of the numbers in {subject} are dropped.")
