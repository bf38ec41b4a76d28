"""The object that checks call `student`: the student's functions and classes, wherever they run.

    output, weights = student.attention(query, key, value)
    norm = student.LayerNorm(8).load(weights).eval()
    gradient, = torch.autograd.grad(norm(x), x, cotangent)

Arguments and results are plain data and tensors. Gradients flow through the calls as through any
other function of torch: with regard to the arguments, and to the weights given to `load`.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import torch
from torch import Tensor

from grader.remote import wire
from grader.remote.nested import leaves, rebuilt
from grader.remote.session import Session, StudentError


class Student:
    """The module under test. `student.attention` is a function, `student.LayerNorm` a class."""

    def __init__(self, session: Session, seed: int = 0) -> None:
        self._session = session
        self._numbers = count()
        # What the judge draws from its own seed is not to be drawn there before it arrives.
        own = zlib.crc32(hashlib.sha256(f"student of {seed}".encode()).digest())
        session.request({"op": "begin", "seed": own})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name[0].isupper():
            return lambda *args, **kwargs: RemoteModule(self, "new", name, args, kwargs)
        return RemoteFunction(self, (None, name))

    def __repr__(self) -> str:
        return "student"

    def _remote(self, weights: Mapping[str, Tensor] | None = None) -> RemoteModule:
        """Return a placeholder, under a new number, for an object that is not made yet."""
        remote = object.__new__(RemoteModule)
        remote._handle = next(self._numbers)
        RemoteFunction.__init__(remote, self, (remote._handle, ""), weights)
        return remote

    def give(self, kind: str, *args: Any, **kwargs: Any) -> RemoteModule:
        """Return a module of the kit in the student's process, to pass to the student's functions.

        `kind` is one of `grader.remote.fixtures`.
        """
        return RemoteModule(self, "give", kind, args, kwargs)

    def needed(self, exercise: str, entry: str, *args: Any, **kwargs: Any) -> RemoteModule:
        """Make an object of a class of another exercise, which the exercise under test needs.

        What is needed is the reference, so a mistake of the student's there does not count here.
        """
        return RemoteModule(self, "new", f"{exercise}.{entry}", args, kwargs)

    def defaults(self, entry: str) -> dict[str, Any]:
        """Return the defaults in the signature of the class `entry`."""
        values: dict[str, Any] = _typed(
            self._session.request({"op": "defaults", "entry": entry}), dict
        )
        return values

    def global_settings(self) -> dict[str, Any]:
        """torch's global settings in the student's process."""
        settings: dict[str, Any] = _typed(self._session.request({"op": "globals"}), dict)
        return settings


class RemoteFunction:
    """A function, a method or a submodule of the student's."""

    def __init__(
        self,
        student: Student,
        target: tuple[int | None, str],
        weights: Mapping[str, Tensor] | None = None,
    ) -> None:
        self._student = student
        self._target = target
        self._weights = weights or {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value that the student's code returns for these arguments."""
        tracked = [name for name, value in self._weights.items() if value.requires_grad]
        needed = tracked or any(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        if torch.is_grad_enabled() and needed:
            return _differentiable_call(
                self._student, self._request(args, kwargs), self._weights, tracked
            )
        return self._student._session.request(self._request(args, kwargs))

    def echo(self, *args: Any) -> tuple[Any, list[Any]]:
        """Return the value, and the arguments as the call left them."""
        reply = self._student._session.request({**self._request(args, {}), "echo": True})
        value, after = _typed(reply, tuple, length=2)
        return value, _typed(after, list, length=len(args))

    def recording(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value of a call with autograd on, which is off where no gradient is asked for.

        For code that trains: the gradients that it makes stay on the student's side.
        """
        return self._student._session.request({**self._request(args, kwargs), "recording": True})

    def kept(self, *args: Any, **kwargs: Any) -> RemoteModule:
        """Return the value of a call, left on the student's side."""
        made = self._student._remote()
        self._student._session.request({**self._request(args, kwargs), "keep": made._handle})
        return made

    def set(self, key: str, value: Any) -> None:
        """Put a value into the attribute, which is a dictionary."""
        self._student._session.request(
            {"op": "set", "target": self._target, "key": key, "value": value}
        )

    def within(self, limit: int, *args: Any) -> tuple[Any, str]:
        """Return the value, and the shape of a tensor of over `limit` numbers that the call made.

        The shape is "" where it made none. A student's process can lie about that.
        """
        reply = self._student._session.request({**self._request(args, {}), "limit": limit})
        value, larger = _typed(reply, tuple, length=2)
        return value, _typed(larger, str)

    def _request(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "op": "call",
            "target": self._target,
            "args": [_sent(arg) for arg in args],
            "kwargs": {name: _sent(value) for name, value in kwargs.items()},
        }

    def __getattr__(self, name: str) -> RemoteFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        handle, path = self._target
        return RemoteFunction(self._student, (handle, f"{path}.{name}".lstrip(".")), self._weights)

    def __getitem__(self, index: int) -> RemoteFunction:
        return self.__getattr__(str(index))

    def get(self) -> Any:
        """Return the attribute itself, where that is plain data."""
        return self._student._session.request({"op": "get", "target": self._target})


@dataclass(frozen=True)
class RemoteParameter:
    """A registered parameter. Two names with the same `storage` are one tensor."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    storage: int


class RemoteModule(RemoteFunction):
    """An object beside the student's code, in training mode as torch makes it.

    It is of a class of the student's (`new`) or of the kit's (`give`).
    """

    def __init__(
        self,
        student: Student,
        op: Literal["new", "give"],
        kind: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        handle = next(student._numbers)
        super().__init__(student, (handle, ""))
        self._handle = handle
        name = {"new": "entry", "give": "kind"}[op]
        arguments = {key: _sent(value) for key, value in kwargs.items()}
        self._ask(op, **{name: kind}, args=[_sent(arg) for arg in args], kwargs=arguments)

    def _ask(self, op: str, **arguments: Any) -> Any:
        return self._student._session.request({"op": op, "handle": self._handle, **arguments})

    def load(self, weights: Mapping[str, Tensor], strict: bool = True) -> RemoteModule:
        """Copy the weights in, by name. Raises `StudentError` (`KeyError` for a missing name).

        If not `strict`, weights without a place are left out: that is for another check to see.
        """
        self._weights = dict(weights)
        self._ask("load", weights=dict(weights), strict=strict)
        return self

    def weights(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Return the values of the parameters so named."""
        wanted_names = list(names)
        state = _typed(self._ask("weights", names=wanted_names), dict)
        return {name: _typed(state.get(name), Tensor) for name in wanted_names}

    def train(self, mode: bool = True) -> RemoteModule:
        """`module.train(mode)`."""
        self._ask("train", mode=mode)
        return self

    def eval(self) -> RemoteModule:
        """`module.eval()`."""
        return self.train(False)

    def to(self, dtype: torch.dtype) -> RemoteModule:
        """`module.to(dtype)`."""
        self._ask("to", dtype=str(dtype).removeprefix("torch."))
        return self

    def copy(self) -> RemoteModule:
        """`copy.deepcopy(module)`."""
        twin = self._student._remote(self._weights)
        self._ask("copy", new=twin._handle)
        return twin

    def parameters(self) -> list[RemoteParameter]:
        """Return all registered parameters, shared ones under each of their names."""
        rows = _typed(self._ask("parameters"), list)
        return [_parameter(row) for row in rows]

    def buffers(self) -> dict[str, Tensor]:
        """Return the buffers, by name."""
        state = _typed(self._ask("buffers"), dict)
        return {_typed(name, str): _typed(value, Tensor) for name, value in state.items()}

    def stay_behind(self) -> list[str]:
        """List the tensors that `module.to("meta")` does not move. The object is spent then."""
        return [_typed(name, str) for name in _typed(self._ask("stay_behind"), list)]


def _sent(argument: Any) -> Any:
    """Return the argument with what lives on the student's side as handles."""
    return rebuilt(argument, lambda leaf: _handle(leaf) if type(leaf) in _REMOTE else leaf)


def _handle(leaf: RemoteFunction) -> wire.Handle:
    number, path = leaf._target
    if number is None:
        raise TypeError(f"{path} of the student's module cannot be an argument; an object's can")
    return wire.Handle(number, path)


_REMOTE = (RemoteFunction, RemoteModule)


def _parameter(row: Any) -> RemoteParameter:
    name, shape, dtype, trainable, storage = _typed(row, tuple, length=5)
    sizes = tuple(_typed(size, int) for size in _typed(shape, list))
    return RemoteParameter(
        _typed(name, str), sizes, _typed(dtype, str), _typed(trainable, bool), _typed(storage, int)
    )


def _typed(value: Any, kind: type, length: int | None = None) -> Any:
    fits = type(value) is kind
    if not fits or (length is not None and len(value) != length):
        raise StudentError(["TypeError"], f"expected a {kind.__name__} in the reply", None, None)
    return value


def _differentiable_call(
    student: Student, request: dict[str, Any], weights: Mapping[str, Tensor], tracked: list[str]
) -> Any:
    ticket = next(student._numbers)
    ask = student._session.request
    box: list[Any] = []

    def forward() -> list[Tensor]:
        box.append(ask({**request, "ticket": ticket, "tracked": tracked}))
        return [leaf for leaf in leaves(box[0]) if _is_float(leaf)]

    inputs = [arg for arg in request["args"] if _is_float(arg)]
    inputs += [weights[name] for name in tracked]

    def backward(cotangents: Sequence[Tensor]) -> list[Tensor | None]:
        reply = ask({"op": "backward", "ticket": ticket, "cotangents": list(cotangents)})
        gradients = _typed(reply, list, length=len(inputs))
        return [_gradient(gradient, leaf) for gradient, leaf in zip(gradients, inputs, strict=True)]

    traced: Callable[..., tuple[Tensor, ...]] = _Call.apply
    outputs = iter(traced(forward, backward, *inputs))
    return rebuilt(box[0], lambda leaf: next(outputs) if _is_float(leaf) else leaf)


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _gradient(value: Any, leaf: Tensor) -> Tensor | None:
    if value is None:
        return None
    gradient: Tensor = _typed(value, Tensor)
    if gradient.shape != leaf.shape:
        raise StudentError(
            ["ValueError"], "a gradient has another shape than its tensor", None, None
        )
    return gradient.to(leaf.dtype)


class _Call(torch.autograd.Function):
    """Ties a remote call into the judge's autograd graph: one request forward, one backward."""

    @staticmethod
    def forward(
        ctx: Any,
        forward: Callable[[], list[Tensor]],
        backward: Callable[[Sequence[Tensor]], list[Tensor | None]],
        *leaves: Tensor,
    ) -> tuple[Tensor, ...]:
        del leaves
        ctx.pull_back = backward
        return tuple(forward())

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        return (None, None, *ctx.pull_back(cotangents))
