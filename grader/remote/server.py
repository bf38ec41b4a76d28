"""Runs beside the student's code: loads it and serves the judge's requests.

Nothing that this process says is believed by the judge. Requests are trusted, replies plain data.
"""

from __future__ import annotations

import copy
import inspect
import socket
import sys
import time
import traceback
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.remote import fixtures, wire
from grader.remote.edits import edits
from grader.remote.guard import Guard, Rule
from grader.remote.modules import PACKAGE, Modules, file_name
from grader.remote.nested import leaves
from grader.remote.notebook import Notebook, cell_sources
from grader.remote.remarks import remarks
from grader.remote.settings import Settings
from grader.remote.source import Edit, Source, parsed

MAX_TEXT = 500
PAGE = 300  # edits to a reply
PATIENCE = 0.02
ENOUGH = 1 << 20
_DONE = wire.encode({"ok": None})


class MissingParameterError(KeyError):
    """The student's module has no parameter of a name that the judge has weights for."""

    def __str__(self) -> str:
        return str(self.args[0])


class ParameterShapeError(ValueError):
    """A parameter of the student's module has another shape than the judge's weights."""


class Server:
    """Carries out requests on one exercise's code. One request is one dict, its name under `op`."""

    def __init__(self, module: Any = None, guard: Guard | None = None) -> None:
        self.guard = guard or Guard()
        self.module = module
        self.objects: dict[int, Any] = {}
        self.graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        self.settings = Settings()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request: its value under `ok`, or what was raised under `error`."""
        arguments = {name: value for name, value in request.items() if name != "op"}
        operation: Callable[..., Any] = getattr(self, f"do_{request['op']}")
        try:
            reply: dict[str, Any] = {"ok": operation(**arguments)}
        except BaseException as error:  # a student may raise anything, SystemExit included
            reply = {"error": describe(error)}
        return self.noticed(reply)

    def noticed(self, reply: dict[str, Any]) -> dict[str, Any]:
        """The reply, and under `forbidden` what was called that may not be, and where."""
        called = self.guard.take()
        return {**reply, "forbidden": called} if called else reply

    def do_begin(self, seed: int) -> None:
        """Forgets what earlier checks made, undoes what they set, and seeds the generator."""
        self.objects.clear()
        self.graphs.clear()
        self.settings.restore()
        # torch.manual_seed takes 70 µs more, to tell devices that are not there.
        torch.default_generator.manual_seed(seed)

    def do_new(self, handle: int, entry: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Makes an object of the class `entry`, known from now on by its handle."""
        self.objects[handle] = getattr(self.module, entry)(*args, **kwargs)

    def do_give(self, handle: int, kind: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Makes a module of the kit's, for the student's functions to be called with."""
        self.objects[handle] = fixtures.make(kind, *args, **kwargs)

    def do_call(
        self,
        target: Sequence[Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        ticket: int | None = None,
        tracked: Sequence[str] = (),
        echo: bool = False,
    ) -> Any:
        """Calls the student's code.

        A `Handle` among the arguments becomes its object. With a `ticket`, gradients can be asked
        for later: with regard to every floating argument and to the parameters named in `tracked`.
        With `echo`, the reply ends with the arguments as they are after the call.
        """
        function = self.find(target)
        args = [self.resolved(arg) for arg in args]
        kwargs = {name: self.resolved(value) for name, value in kwargs.items()}
        inputs: list[Tensor] = []
        if ticket is not None:
            inputs = [arg.requires_grad_() for arg in args if _differentiable(arg)]
            inputs += self.parameters_of(target[0], tracked)
        with torch.set_grad_enabled(ticket is not None):
            value = function(*args, **kwargs)
        if ticket is not None:
            outputs = [item for item in leaves(value) if _differentiable(item)]
            self.graphs[ticket] = (outputs, inputs)
        return (value, list(args)) if echo else value

    def do_backward(self, ticket: int, cotangents: Sequence[Tensor]) -> list[Tensor | None]:
        """The gradients of an earlier call, pulled back from its floating outputs."""
        outputs, inputs = self.graphs.pop(ticket)
        # Torch imports sympy, which takes 0.4 s, when it is handed the cotangents themselves.
        with torch.enable_grad():
            sums = [
                (output * cotangent).sum()
                for output, cotangent in zip(outputs, cotangents, strict=True)
                if output.requires_grad
            ]
        trainable = [tensor for tensor in inputs if tensor.requires_grad]
        if not sums or not trainable:
            return [None] * len(inputs)
        found = torch.autograd.grad(sums, trainable, allow_unused=True)
        by_identity = {
            id(tensor): gradient for tensor, gradient in zip(trainable, found, strict=True)
        }
        return [by_identity.get(id(tensor)) for tensor in inputs]

    def do_parameters(self, handle: int) -> list[tuple[str, list[int], str, bool, int]]:
        """What the module registers as parameters: name, shape, dtype, trainable, storage number.

        A tensor that is registered twice appears twice, with the same number.
        """
        numbers: dict[int, int] = {}
        rows = []
        for name, value in self.objects[handle].named_parameters(remove_duplicate=False):
            number = numbers.setdefault(value.untyped_storage().data_ptr(), len(numbers))
            rows.append((name, list(value.shape), str(value.dtype), value.requires_grad, number))
        return rows

    def do_buffers(self, handle: int) -> dict[str, Tensor]:
        """The module's buffers, by name."""
        return dict(self.objects[handle].named_buffers())

    def do_stay_behind(self, handle: int) -> list[str]:
        """The names of tensors that `module.to("meta")` leaves where they are: plain attributes."""
        module = self.objects[handle].to("meta")
        return [
            f"{path}.{name}".lstrip(".")
            for path, part in module.named_modules()
            for name, value in vars(part).items()
            if any(isinstance(item, Tensor) and not item.is_meta for item in leaves(value))
        ]

    def do_load(self, handle: int, weights: dict[str, Tensor], strict: bool = True) -> None:
        """Copies weights in, by name.

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
                    yours, wanted = tuple(parameters[name].shape), tuple(value.shape)
                    raise ParameterShapeError(f"{name} has the shape {yours}, not {wanted}")

    def do_weights(self, handle: int, names: Sequence[str]) -> dict[str, Tensor]:
        """The values of the parameters so named."""
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
        """The attribute that the target names."""
        return self.find(target)

    def do_defaults(self, entry: str) -> dict[str, Any]:
        """The defaults in the signature of the class `entry`, as far as it shows them."""
        try:
            parameters = inspect.signature(getattr(self.module, entry)).parameters.values()
        except (TypeError, ValueError):
            return {}
        return {one.name: one.default for one in parameters if one.default is not one.empty}

    def do_probe(self, expression: str) -> None:
        """Makes the judge's forbidden call, which the guard should refuse."""
        eval(expression, {"torch": torch, "nn": nn, "F": F, "x": torch.ones(1, 1, 2, 2)})

    def do_globals(self) -> dict[str, str]:
        """The global settings of torch that student code has no business to change."""
        return self.settings.now()

    def find(self, target: Sequence[Any]) -> Any:
        """What `[None, "attention"]` names in the module, or `[3, "layers.0"]` in object 3."""
        handle, path = target
        found = self.module if handle is None else self.objects[handle]
        for part in path.split(".") if path else ():
            found = found[int(part)] if part.isdigit() else getattr(found, part)
        return found

    def resolved(self, value: Any) -> Any:
        """The object that a handle means; any other value as it is."""
        return self.objects[value.number] if isinstance(value, wire.Handle) else value

    def parameters_of(self, handle: int | None, names: Sequence[str]) -> list[Tensor]:
        """The parameters so named of the object that the handle means.

        One that is not there is a tensor that no gradient reaches.
        """
        if handle is None or not names:
            return []
        parameters = dict(self.objects[handle].named_parameters(remove_duplicate=False))
        return [parameters.get(name, torch.empty(0)) for name in names]


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as data: the names of its classes, its text, the last line of the student's."""
    try:
        text = str(error)[:MAX_TEXT]
    except BaseException:  # its __str__ is the student's too
        text = ""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(f"{PACKAGE}/")
    ]
    file, line = (frames[-1].filename, frames[-1].lineno) if frames else (None, None)
    if isinstance(error, SyntaxError) and (error.filename or "").startswith(f"{PACKAGE}/"):
        file, line, text = error.filename, error.lineno, error.msg
    kinds = [kind.__name__[:80] for kind in type(error).__mro__ if kind is not object]
    return {"kinds": kinds[:8], "text": text, "file": file, "line": line}


def serve(sock: socket.socket) -> None:
    """Serves one judge until it hangs up.

    The first frame brings a submission, and is answered with the remarks on it. Every later one
    says which of its exercises to load, or is about small edits of it, which is answered with one
    frame, or is a list of requests on the exercise that was loaded last, each answered with a frame
    of its own. Replies wait for
    one another, but only while that is quick: the judge allows each a time of its own.
    """
    try:
        inbox = wire.Inbox(sock)
        submission = wire.decode_trusted(inbox.receive())
        # Before any of the student's code has run, so that this one reply is the kit's alone.
        notebook = submission.get("notebook")
        sources = cell_sources(notebook["cells"]) if notebook else submission["sources"]
        wire.send(sock, _frame({"ok": remarks(sources)}))
        work = Work(**submission)
        while True:
            asked = wire.decode_trusted(inbox.receive())
            if isinstance(asked, dict):
                operation = asked.pop("op")
                wire.send(sock, _frame(getattr(work, operation)(**asked)))
            else:
                _serve(sock, work.server, asked)
    except (EOFError, ConnectionError):
        return


def _serve(sock: socket.socket, server: Server, requests: list[dict[str, Any]]) -> None:
    waiting = bytearray()
    sent = time.monotonic()
    for request in requests:
        waiting += _frame(server.answer(request))
        if time.monotonic() - sent > PATIENCE or len(waiting) > ENOUGH:
            wire.send(sock, waiting)
            waiting.clear()
            sent = time.monotonic()
    wire.send(sock, waiting)


class Work:
    """A submission in this process: its code, and the rule that it is kept to from the first line.

    One exercise after another can be loaded. What an earlier one has set or replaced is put back
    where that is possible; the judge believes nothing but full marks after the first.
    """

    def __init__(
        self, sources: dict[str, str], rule: Rule, notebook: dict[str, Any] | None = None
    ) -> None:
        self.modules = Modules(sources)
        self.notebook = Notebook(**notebook) if notebook else None
        self.guard = Guard(rule)
        self.settings = Settings()
        self.server = Server()
        self.texts: dict[str, str] = {}
        self.parsed: dict[str, Source] = {}
        self.found: list[tuple[str, Edit]] = []

    def edits(self, exercise: str, start: int) -> dict[str, Any]:
        """The small edits of an exercise's answer, from number `start` on, a page of them."""
        if not start:
            if self.notebook:
                self.texts = self.notebook.files(exercise)
            else:
                self.texts = {exercise: self.modules.sources[exercise]}
            self.parsed = parsed(self.texts)
            every = [(file, one) for file, source in self.parsed.items() for one in edits(source)]
            self.found = sorted(every, key=lambda one: one[1].rank)
        page = self.found[start : start + PAGE]
        return {"ok": [(file, one.line, one.kind, one.was, one.becomes) for file, one in page]}

    def lines_run(self, requests: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The lines that run when these requests are answered, by file or cell."""
        seen: dict[str, set[int]] = {file_name(name): set() for name in self.parsed}

        def trace(frame: types.FrameType, *_: Any) -> Any:
            lines = seen.get(frame.f_code.co_filename)
            if lines is None:
                return None
            lines.add(frame.f_lineno)
            return trace

        sys.settrace(trace)
        try:
            for request in requests:
                self.server.answer(request)
        finally:
            sys.settrace(None)
        self.guard.take()
        ran = {name: self.parsed[name].whole(seen[file_name(name)]) for name in self.parsed}
        return {"ok": [(name, line) for name, lines in ran.items() for line in sorted(lines)]}

    def edit(self, exercise: str, number: int) -> dict[str, Any]:
        """Loads an exercise with one edit, in the place of what was loaded before."""
        self.settings.restore()
        self.server = Server(guard=self.guard)
        file, edit = self.found[number]
        try:
            edited = self.parsed[file].edited(edit)
            if self.notebook:
                self.server.module = self.notebook.reload({**self.texts, file: edited})
            else:
                self.server.module = self.modules.reload(exercise, edited)
        except BaseException as error:  # an edited module may raise anything, too
            return self.server.noticed({"error": describe(error)})
        return self.server.noticed({"ok": None})

    def load(self, exercise: str, references: dict[str, bytes]) -> dict[str, Any]:
        """Imports an exercise and gets ready to answer requests on it.

        In place of importing a notebook's cells are run; what is to be told of them is the reply.
        """
        self.settings.restore()
        self.server = Server(guard=self.guard)
        reply: dict[str, Any] = {"ok": None}
        try:
            if self.notebook:
                self.server.module = self.notebook.load(exercise, references)
                reply = {"ok": self.notebook.told()}
                self.guard.take()  # it is told of, and nothing came of it
            else:
                self.server.module = self.modules.load(exercise, references)
            self.server.settings = Settings()
        except BaseException as error:  # a module may raise anything while it is imported
            reply = {"error": describe(error)}
        return self.server.noticed(reply)


def _frame(reply: dict[str, Any]) -> bytes:
    if len(reply) == 1 and reply.get("ok", reply) is None:
        return _DONE
    try:
        return wire.encode(reply)
    except Exception as error:  # a subclass of the student's may refuse to be read
        return wire.encode({"error": describe(error)})
