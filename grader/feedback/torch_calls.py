"""What is wrong with the arguments of a call of torch's own, whose `def` line nobody looks up."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_NAMES = (
    r"^TypeError: (?:\w+\.)*?(\w+?)(?:\.__init__)?\(\) "
    r"(?:got an unexpected keyword argument '(\w+)'|received an invalid combination|"
    r"missing \d|takes )"
)
_HOMES = {r"(?:torch\.)?nn\.": nn, r"(?:F|functional)\.": F, r"torch\.": torch}
_OF_EVERY_TENSOR = ("device", "dtype", "out", "layout", "requires_grad", "pin_memory")
_GIVEN = r"\b(\w+)=\w+"
_ARGUMENT = r"[(,]\s*(?:\w+ (?:of \w+ )?)?(\w+)\s*(?:=|(?=[,)]))"


def torch_call(error: str, line: str) -> str:
    """Return what a call to torch lacks: for an unknown keyword, the nearest known one.

    `error` is "Type: text", `line` the student's line: it tells torch's `nn.Linear` from a class of
    the student's that is called the same. "" for another error.
    """
    matched = re.search(_NAMES, error)
    called = matched and _called(matched[1].removeprefix("_"), line)
    if not matched or not called:
        return ""
    shown, target = called
    known = _keywords(target, error)
    arguments = error.partition("got (")[2].partition(")")[0]
    given = [matched[2]] if matched[2] else re.findall(_GIVEN, arguments)
    for keyword in given:
        if known and keyword not in known:
            near = difflib.get_close_matches(keyword, known, 1, 0.5)
            question = f"Did you mean `{near[0]}`?" if near else f"It takes {_listed(known)}."
            return f"torch's `{shown}` has no argument `{keyword}`. {question}"
    if known and "combination" not in matched[0]:
        return f"These arguments don't fit torch's `{shown}`, which takes {_listed(known)}."
    return ""


def _called(name: str, line: str) -> tuple[str, Any] | None:
    """Return how torch's callable of that name is called in the line, and the callable itself."""
    if name == "DropoutNd":
        name = "Dropout"
    for prefix, home in _HOMES.items():
        matched = re.search(rf"(?<![\w.]){prefix}{name}(?=\()", line)
        # `getattr` would import some of what torch has not imported yet: 800 modules.
        if matched and name in vars(home):
            return matched[0], vars(home)[name]
    if re.search(rf"\.{name}\(", line) and hasattr(Tensor, name):
        return name, getattr(Tensor, name)
    return None


def _keywords(target: Callable[..., Any], error: str) -> list[str]:
    """Return the names of the arguments, from the `def` line, the message or the documentation."""
    try:
        names = list(inspect.signature(target).parameters)
    except (ValueError, TypeError):
        signatures = "(" + error.partition("expected one of")[2].replace(" * (", ",")
        names = re.findall(_ARGUMENT, signatures) if "," in signatures else []
        names += re.findall(_ARGUMENT, (target.__doc__ or "").strip().partition("\n")[0])
    hidden = {"self", "args", "kwargs", "None", "False", "True", *_OF_EVERY_TENSOR}
    return [name for name in dict.fromkeys(names) if name not in hidden and name[0].isalpha()]


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
