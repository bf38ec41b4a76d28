"""What a whole model is made of: somebody's own files, and the kit's for what is not written.

A model that trains needs the exercise `transformer` and all under it, `training` and `decoding`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.curriculum import stubs
from grader.curriculum.exercises import CurriculumError, closure, find

EXERCISES = (*closure("transformer"), "transformer", "training", "decoding")
# Of an exercise that is not here, all is used.
_USED = {"decoding": ("greedy_decode",)}


@dataclass(frozen=True)
class WholeModel:
    """The files that make a model, by exercise.

    `own` are somebody's, `kit` the kit's for all that may be wanted of them; `lent` are the names
    that the kit's file gives to an exercise begun and not finished.
    """

    own: dict[str, str] = field(default_factory=dict)
    kit: dict[str, str] = field(default_factory=dict)
    lent: dict[str, list[str]] = field(default_factory=dict)

    def words(self) -> list[str]:
        """What is the kit's and not one's own, in sentences."""
        whole = [name for name in EXERCISES if name not in self.own]
        said = []
        if whole:
            verb = "is" if len(whole) == 1 else "are"
            said.append(f"Not written yet, so it {verb} the kit's: {', '.join(whole)}.")
        for name, entries in self.lent.items():
            verb = "is" if len(entries) == 1 else "are"
            said.append(
                f"In {name}, {', '.join(entries)} {verb} not written yet: the kit's is used."
            )
        return said


def entries() -> dict[str, tuple[str, ...]]:
    """The names that are used of each of the `EXERCISES`."""
    return {name: _USED.get(name, find(name).entries) for name in EXERCISES}


def gather(sources: Mapping[str, str], solutions: Path = stubs.SOLUTIONS) -> WholeModel:
    """The model that these files make, the kit's in place of what they lack.

    Raises CurriculumError where the kit has no answer to lend, as in a student's edition.
    """
    model = WholeModel()
    wanted = []
    for name, used in entries().items():
        source = sources.get(name)
        unwritten = list(used) if source is None else not_written(source, used)
        if source is not None and set(unwritten) != set(used):
            model.own[name] = source
            if unwritten:
                model.lent[name] = unwritten
        if unwritten:
            wanted.append(name)
    model.kit.update(lend(wanted, solutions))
    for name, source in sources.items():
        # A piece may use one that no model needs, such as one's own relu.
        if name not in EXERCISES and not not_written(source, find(name).entries):
            model.own[name] = source
    return model


def lend(names: Sequence[str], solutions: Path = stubs.SOLUTIONS) -> dict[str, str]:
    """The kit's files of these exercises. Raises CurriculumError where it has none to lend."""
    missing = [name for name in names if not (solutions / f"{name}.py").is_file()]
    if missing:
        first, *others = missing
        more = f" (and then {', '.join(others)})" if others else ""
        raise CurriculumError(
            f"The model needs {first}{more}, which is not written yet and which the kit does not "
            f"hand out here. Write {first} first: pytest exercises/test_{first}.py"
        )
    return {name: stubs.reference_source(name, solutions) for name in names}


def not_written(source: str, names: tuple[str, ...]) -> list[str]:
    """Those of the names that the source leaves as a stub does.

    None if the source is no Python: then it is somebody's, and running it says what is wrong.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return []
    stub_like = {node.name for node in body if isinstance(node, _DEFINITION) and _raises(node)}
    return [name for name in names if name in stub_like]


_DEFINITION = ast.FunctionDef | ast.ClassDef


def _raises(node: ast.AST) -> bool:
    return any(
        isinstance(one, ast.Raise) and "is not written yet" in ast.dump(one)
        for one in ast.walk(node)
    )
