"""The configuration of the student's code in which each request of a probe is answered.

A configuration is what `if` branches test: the constructor's arguments, the mode, whether an
optional argument was given. A fault in one branch shows in one configuration only.

    settings(module, requests)[5]       # {"norm_first": "with `norm_first=True`", ...}
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Request = Mapping[str, Any]
# The value in words, by the name of an argument or "mode".
Settings = dict[str, str]

MODES = {True: "in training mode", False: "in evaluation mode"}


@dataclass
class _Object:
    """An object that a request made: its class, its constructor's arguments, and its mode."""

    made_by: Any
    arguments: Settings = field(default_factory=dict)
    mode: bool = True

    @property
    def settings(self) -> Settings:
        return {**self.arguments, "mode": MODES[self.mode]}


def settings(module: Any, requests: Sequence[Request]) -> list[Settings]:
    """Return the configuration of every request. `module` is the reference, for its signatures."""
    objects: dict[Any, _Object] = {}
    graphs: dict[Any, Settings] = {}
    settings: list[Settings] = []
    for request in requests:
        op, handle = request["op"], request.get("handle")
        if op == "new":
            made_by = getattr(module, request["entry"], None)
            objects[handle] = _Object(made_by, _arguments(made_by, request))
        elif op == "copy" and handle in objects:
            objects[request["new"]] = objects[handle]
        elif op == "train" and handle in objects:
            objects[handle] = _Object(
                objects[handle].made_by, objects[handle].arguments, request["mode"]
            )
        if op == "call":
            current = _of_call(module, request, objects)
            if "ticket" in request:
                graphs[request["ticket"]] = current
        elif op == "backward":
            current = graphs.get(request["ticket"], {})
        else:
            current = objects[handle].settings if handle in objects else {}
        settings.append(current)
    return settings


def _of_call(module: Any, request: Request, objects: Mapping[Any, _Object]) -> Settings:
    handle, path = request["target"]
    if handle is None:
        return _arguments(getattr(module, path, None), request)
    if handle not in objects:
        return {}
    called = getattr(objects[handle].made_by, path or "forward", None)
    return {**objects[handle].settings, **_arguments(called, request, bound=False)}


def _arguments(function: Any, request: Request, bound: bool = True) -> Settings:
    """Return what branches may test in a call; a method that is not `bound` takes self."""
    signature = _signature(function)
    if signature is None:
        return {}
    given = list(request["args"]) if bound else [None, *request["args"]]
    try:
        arguments = signature.bind(*given, **request["kwargs"])
    except TypeError:  # a check may make a call that has to be refused
        return {}
    arguments.apply_defaults()
    words = {}
    for name, parameter in list(signature.parameters.items())[not bound :]:
        value = arguments.arguments.get(name)
        # A text without a default is data, such as a sentence.
        is_text = isinstance(value, str) and isinstance(parameter.default, str)
        if isinstance(value, bool) or is_text:
            words[name] = f"with `{name}={value!r}`"
        elif parameter.default is None:
            words[name] = f"with{'out' if value is None else ''} `{name}`"
    return words


def _signature(function: Callable[..., Any] | None) -> inspect.Signature | None:
    try:
        return inspect.signature(function) if function is not None else None
    except (TypeError, ValueError):
        return None
