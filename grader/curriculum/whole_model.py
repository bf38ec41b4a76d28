"""The parts of a whole model: the student's files, and the kit's for what is not written."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.curriculum import stubs
from grader.curriculum.exercises import NAMES, CurriculumError, find
from grader.curriculum.project import EXERCISES, SOLUTIONS


@dataclass(frozen=True)
class WholeModel:
    """The files that make a model, by exercise.

    `own` are somebody's, `kit` the kit's for all that may be wanted of them; `lent` are the names
    that the kit's file gives to an exercise begun and not finished.
    """

    own: dict[str, str] = field(default_factory=dict)
    kit: dict[str, str] = field(default_factory=dict)
    lent: dict[str, list[str]] = field(default_factory=dict)

    def words(self, exercises: Iterable[str]) -> list[str]:
        """Return, in sentences, which of these exercises are the kit's instead of the student's."""
        whole = [name for name in exercises if name not in self.own]
        sentences = []
        if whole:
            subject = "it is" if len(whole) == 1 else "they are"
            sentences.append(f"Not written yet, so {subject} the kit's: {', '.join(whole)}.")
        for name, entries in self.lent.items():
            verb = "is" if len(entries) == 1 else "are"
            sentences.append(
                f"In {name}, {', '.join(entries)} {verb} not written yet: the kit's is used."
            )
        return sentences


def entries(
    exercises: Sequence[str], used: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the names that a model uses of each exercise: those in `used`, or else all."""
    return {name: used.get(name, find(name).entries) for name in exercises}


def gather(
    sources: Mapping[str, str],
    entries: Mapping[str, tuple[str, ...]],
    solutions: Path = SOLUTIONS,
) -> WholeModel:
    """Return the model of these files, with the kit's parts for missing `entries`.

    Raises CurriculumError where the kit has no answer to lend, as in a student's edition.
    """
    model = WholeModel()
    wanted = []
    for name, used in entries.items():
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
        if name not in entries and not not_written(source, find(name).entries):
            model.own[name] = source
    return model


def lend(names: Sequence[str], solutions: Path = SOLUTIONS) -> dict[str, str]:
    """Return the kit's files of these exercises. Raises CurriculumError if it has none."""
    missing = [name for name in names if not (solutions / f"{name}.py").is_file()]
    if missing:
        first, *further = missing
        more = f" (and then {', '.join(further)})" if further else ""
        raise CurriculumError(
            f"The model needs {first}{more}, which is not written yet and which the kit does not "
            f"hand out here. Write {first} first: pytest exercises/test_{first}.py"
        )
    return {name: stubs.reference_source(name, solutions) for name in names}


def answers() -> dict[str, str]:
    """Return the kit's files of all exercises; empty in a student's edition, which has none."""
    try:
        return lend(NAMES)
    except CurriculumError:
        return {}


def public_tests(names: Iterable[str]) -> dict[str, str]:
    """Return the kit's public tests of these exercises, as text, as far as they are there."""
    files = {name: EXERCISES / f"test_{name}.py" for name in names}
    return {name: file.read_text("utf-8") for name, file in files.items() if file.is_file()}


def not_written(source: str, names: tuple[str, ...]) -> list[str]:
    """Return those of the names that the source leaves as a stub does.

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
        isinstance(inner, ast.Raise) and "is not written yet" in ast.dump(inner)
        for inner in ast.walk(node)
    )
