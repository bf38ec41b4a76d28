"""Runs beside the student's code: carries out the judge's requests on it.

Nothing that this process says is believed by the judge. Requests are trusted, replies plain data.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.feedback.sizes import Sizes
from grader.remote import fixtures, wire
from grader.remote.guard import Guard
from grader.remote.modules import PACKAGE, file_of
from grader.remote.nested import leaves, rebuilt
from grader.remote.settings import Settings

MAX_TEXT = 500


class MissingParameterError(KeyError):
    """The student's module has no parameter of a name that the judge has weights for."""

    def __str__(self) -> str:
        return str(self.args[0])


class ParameterShapeError(ValueError):
    """A parameter of the student's module has another shape than the judge's weights."""


class Server:
    """Carries out requests on one exercise's code. One request is one dict, its name under `op`.

    `caught` is what the code may raise. The kit's own code only raises an `Exception`: anything
    else comes from a time limit and is not a reply.
    """

    def __init__(
        self,
        module: Any = None,
        guard: Guard | None = None,
        caught: type[BaseException] = Exception,
    ) -> None:
        self.caught = caught
        self.guard = guard or Guard()
        self.module = module
        self.objects: dict[int, Any] = {}
        self.graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        self.settings = Settings()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request: a value under `ok`, or an exception under `error`."""
        arguments = {name: value for name, value in request.items() if name != "op"}
        operation: Callable[..., Any] = getattr(self, f"do_{request['op']}")
        try:
            reply: dict[str, Any] = {"ok": operation(**arguments)}
        except self.caught as error:
            reply = {"error": describe(error)}
        return self.noticed(reply)

    def noticed(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Return the reply, with forbidden calls and their places under `forbidden`."""
        called = self.guard.take()
        return {**reply, "forbidden": called} if called else reply

    def do_begin(self, seed: int) -> None:
        """Forget what earlier checks made, undo what they set, and seed the generator."""
        self.objects.clear()
        self.graphs.clear()
        self.settings.restore()
        # torch.manual_seed takes 70 µs more, for devices that don't exist here.
        torch.default_generator.manual_seed(seed)

    def do_new(self, handle: int, entry: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Make an object of the class `entry`, known from now on by its handle.

        `kv_cache.KVCache` is a class of another exercise, one that this exercise needs.
        """
        needed, _, name = entry.rpartition(".")
        module = self.needed(needed) if needed else self.module
        args = [self.resolved(arg) for arg in args]
        kwargs = {key: self.resolved(value) for key, value in kwargs.items()}
        self.objects[handle] = getattr(module, name)(*args, **kwargs)

    def do_give(self, handle: int, kind: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Make an object of the kit's, for the student's functions to be called with."""
        args = [self.resolved(arg) for arg in args]
        self.objects[handle] = fixtures.make(kind, *args, **kwargs)

    def do_call(
        self,
        target: Sequence[Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        ticket: int | None = None,
        tracked: Sequence[str] = (),
        echo: bool = False,
        recording: bool = False,
        keep: int | None = None,
        limit: int | None = None,
    ) -> Any:
        """Call the student's code.

        A `Handle` in the arguments becomes its object, a `Seeded` a generator. With a `ticket`,
        gradients can be asked for later: with regard to every floating argument and to the
        parameters named in `tracked`. With `echo`, the reply ends with the arguments as they are
        after the call; with a `limit`, with the shape of a tensor of more numbers that was made on
        the way, "" if there was none. With `recording`, autograd is on, as it is where nobody turns
        it off. What is to be kept stays here, as the object of the number `keep`.
        """
        function = self.find(target)
        args = [self.resolved(arg) for arg in args]
        kwargs = {name: self.resolved(value) for name, value in kwargs.items()}
        inputs: list[Tensor] = []
        if ticket is not None:
            inputs = [arg.requires_grad_() for arg in args if _differentiable(arg)]
            inputs += self.parameters_of(target[0], tracked)
        sizes = contextlib.nullcontext() if limit is None else Sizes(limit, args)
        with torch.set_grad_enabled(recording or ticket is not None), sizes:
            value = function(*args, **kwargs)
        if keep is not None:
            self.objects[keep] = value
            return None
        if ticket is not None:
            outputs = [item for item in leaves(value) if _differentiable(item)]
            self.graphs[ticket] = (outputs, inputs)
        if isinstance(sizes, Sizes):
            return value, sizes.larger
        return (value, list(args)) if echo else value

    def do_backward(self, ticket: int, cotangents: Sequence[Tensor]) -> list[Tensor | None]:
        """Return the gradients of an earlier call, pulled back from its floating outputs."""
        outputs, inputs = self.graphs.pop(ticket)
        # Torch would import sympy, which takes 0.4 s, if it were passed the cotangents themselves.
        with torch.enable_grad():
            sums = [
                (output * cotangent).sum()
                for output, cotangent in zip(outputs, cotangents, strict=True)
                if output.requires_grad
            ]
        trainable = [tensor for tensor in inputs if tensor.requires_grad]
        if not sums or not trainable:
            return [None] * len(inputs)
        gradients = torch.autograd.grad(sums, trainable, allow_unused=True)
        by_identity = {
            id(tensor): gradient for tensor, gradient in zip(trainable, gradients, strict=True)
        }
        return [by_identity.get(id(tensor)) for tensor in inputs]

    def do_parameters(self, handle: int) -> list[tuple[str, list[int], str, bool, int]]:
        """Return the registered parameters: name, shape, dtype, trainable, storage number.

        A tensor that is registered twice appears twice, with the same number.
        """
        numbers: dict[int, int] = {}
        rows = []
        for name, value in self.objects[handle].named_parameters(remove_duplicate=False):
            number = numbers.setdefault(value.untyped_storage().data_ptr(), len(numbers))
            rows.append((name, list(value.shape), str(value.dtype), value.requires_grad, number))
        return rows

    def do_buffers(self, handle: int) -> dict[str, Tensor]:
        """Return the module's buffers, by name."""
        return dict(self.objects[handle].named_buffers())

    def do_stay_behind(self, handle: int) -> list[str]:
        """Return the names of tensors that `module.to("meta")` does not move: plain attributes."""
        module = self.objects[handle].to("meta")
        return [
            f"{path}.{name}".lstrip(".")
            for path, part in module.named_modules()
            for name, value in vars(part).items()
            if any(isinstance(item, Tensor) and not item.is_meta for item in leaves(value))
        ]

    def do_load(self, handle: int, weights: dict[str, Tensor], strict: bool = True) -> None:
        """Copy weights in, by name.

        Where they do not fit, raises `MissingParameterError` and `ParameterShapeError`, or if not
        `strict` passes over.
        """
        parameters = dict(self.objects[handle].named_parameters(remove_duplicate=False))
        with torch.no_grad():
            for name, value in weights.items():
                if name in parameters and parameters[name].shape == value.shape:
                    parameters[name].copy_(value)
                elif strict and name not in parameters:
                    raise MissingParameterError(name)
                elif strict:
                    actual, expected = tuple(parameters[name].shape), tuple(value.shape)
                    raise ParameterShapeError(f"{name} has the shape {actual}, not {expected}")

    def do_weights(self, handle: int, names: Sequence[str]) -> dict[str, Tensor]:
        """Return the values of the parameters so named."""
        parameters = dict(self.objects[handle].named_parameters(remove_duplicate=False))
        return {name: parameters[name] for name in names}

    def do_train(self, handle: int, mode: bool) -> None:
        """`module.train(mode)`."""
        self.objects[handle].train(mode)

    def do_to(self, handle: int, dtype: str) -> None:
        """`module.to(dtype)`; the name is one of torch's, such as `float64`."""
        self.objects[handle].to(getattr(torch, dtype))

    def do_copy(self, handle: int, new: int) -> None:
        """`copy.deepcopy(module)`, known by the handle `new`."""
        self.objects[new] = copy.deepcopy(self.objects[handle])

    def do_get(self, target: Sequence[Any]) -> Any:
        """Return the attribute that the target names."""
        return self.find(target)

    def do_set(self, target: Sequence[Any], key: str, value: Any) -> None:
        """Put a value into the dictionary that the target names."""
        self.find(target)[key] = value

    def do_defaults(self, entry: str) -> dict[str, Any]:
        """Return the defaults in the signature of the class `entry`, as far as it shows them."""
        try:
            parameters = inspect.signature(getattr(self.module, entry)).parameters.values()
        except (TypeError, ValueError):
            return {}
        return {
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.default is not parameter.empty
        }

    def do_probe(self, expression: str) -> None:
        """Make the judge's forbidden call, which the guard should refuse."""
        eval(expression, {"torch": torch, "nn": nn, "F": F, "x": torch.ones(1, 1, 2, 2)})

    def do_globals(self) -> dict[str, str]:
        """Return the global settings of torch that student code has no business to change."""
        return self.settings.now()

    def find(self, target: Sequence[Any]) -> Any:
        """Return what `[None, "attention"]` names in the module, `[3, "layers.0"]` in object 3."""
        handle, path = target
        value = self.module if handle is None else self.objects[handle]
        for part in path.split(".") if path else ():
            value = value[int(part)] if part.isdigit() else getattr(value, part)
        return value

    def needed(self, exercise: str) -> Any:
        """Return the module that provides an exercise which this exercise needs.

        It is found where the student's own imports find it. A notebook in a kernel has no such
        modules: there all names are together.
        """
        package = getattr(self.module, "__package__", None) or PACKAGE
        try:
            return importlib.import_module(f"{package}.{exercise}")
        except ImportError:
            return self.module

    def resolved(self, value: Any) -> Any:
        """Return the value with the objects that its handles and seeds mean, in an iterator too."""
        if isinstance(value, Iterator):
            return iter([self.resolved(item) for item in value])
        return rebuilt(value, self._object)

    def _object(self, leaf: Any) -> Any:
        if isinstance(leaf, wire.Seeded):
            return torch.Generator().manual_seed(leaf.seed)
        return self.find((leaf.number, leaf.path)) if isinstance(leaf, wire.Handle) else leaf

    def parameters_of(self, handle: int | None, names: Sequence[str]) -> list[Tensor]:
        """Return the parameters so named of the object that the handle means.

        One that is not there is a tensor that no gradient reaches.
        """
        if handle is None or not names:
            return []
        parameters = dict(self.objects[handle].named_parameters(remove_duplicate=False))
        return [parameters.get(name, torch.empty(0)) for name in names]


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def describe(error: BaseException) -> dict[str, Any]:
    """Return an exception as data: the names of its classes, its text, the student's last line."""
    try:
        text = str(error)[:MAX_TEXT]
    except BaseException:  # its __str__ is the student's too
        text = ""
    places = [
        (file_of(frame), line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if file_of(frame).startswith(f"{PACKAGE}/")
    ]
    file, line = places[-1] if places else (None, None)
    if isinstance(error, SyntaxError) and (error.filename or "").startswith(f"{PACKAGE}/"):
        file, line, text = error.filename, error.lineno, error.msg
    kinds = [kind.__name__[:80] for kind in type(error).__mro__ if kind is not object]
    return {"kinds": kinds[:8], "text": text, "file": file, "line": line}
