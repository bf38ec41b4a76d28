"""What is wrong for certain at a line that raised an error: facts that need no known mistake.

    batch, seq = ids.shape              # takes two axes, and `ids` was given with one
    held[:, :, n:n + 1] = key           # makes room for one, and two were given at once
    assert length % block == 0          # demands what the exercise doesn't promise
    total / torch.sqrt(4)               # uses a function as it can never be used

What a line does with the numbers is said only of what the exercise gave, unchanged: elsewhere the
line may be right and one before it wrong. Then a fact names the one before, or says nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from grader.curriculum.rules import listed
from grader.recognition.functions import Functions
from grader.recognition.given import Given
from grader.recognition.likeness import parsed
from grader.recognition.raised_calls import CALLS
from grader.recognition.raised_line import Fact, Raised
from grader.recognition.raised_shapes import SHAPES
from grader.recognition.raised_values import VALUES

_LONGEST = 2_000  # of an error


def at_raise(
    error: str,
    source: str,
    line: int,
    entries: Collection[str],
    values: Mapping[str, object] | None = None,
) -> Fact | None:
    """Return what is wrong at the line of a source that raised "Type: text"; None if unknown.

    `values` are what the exercise gave in this call, by the names of the student's parameters.
    """
    tree = parsed(source)
    given = Given(tree, entries)
    place = given.code.at(line)
    if place is None:
        return None
    function, statement = place
    raised = Raised(error[:_LONGEST], statement, function, given, values or {})
    try:
        fact = next(filter(None, (kind(raised) for kind in (*SHAPES, *VALUES, *CALLS))), None)
    except RecursionError:
        return None
    return None if fact is None else replace(fact, line=fact.line or line)


def at_call(error: str, source: str, entries: Collection[str]) -> Fact | None:
    """Return why the exercise's own call of a function raised "Type: text"; None if unknown."""
    said = re.match(r"TypeError: ([\w.]+)\(\) got an unexpected keyword argument '(\w+)'", error)
    for function in Functions(parsed(source)).all if said else ():
        owner = f"{function.owner.name}." if function.owner else ""
        name = f"{owner}{function.node.name}"
        if said is None or name != said[1] or function.node.args.kwarg:
            continue
        if name.partition(".")[0] in entries and said[2] not in function.parameters:
            shown = name.removesuffix(".__init__")
            own = [f"`{parameter}`" for parameter in function.parameters]
            return Fact(
                f"The exercise calls `{shown}` with an argument `{said[2]}`, but yours has no "
                f"argument with that name. It has {listed(own) if own else 'none'}.",
                "What names does the exercise give the arguments?",
                function.node.lineno,
            )
    return None


def convolution(parameter: str, source: str) -> Fact | None:
    """Return that a layer, whose parameter has another shape than it should, is a convolution."""
    parts = {f"self.{part}" for part in parameter.split(".")}
    for node in ast.walk(parsed(source)):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        called = ast.unparse(node.value.func)
        if re.search(r"\bConv\dd$", called) and parts & set(map(ast.unparse, node.targets)):
            return Fact(
                f"`{ast.unparse(node.targets[0])}` is a convolution: the weight of `{called}` has "
                "an axis more than a map from features to features needs.",
                "Which layer of torch.nn applies one matrix to the features of every token?",
                node.lineno,
            )
    return None
