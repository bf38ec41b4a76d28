"""Which statements may be wrong where a student's values depart from a right answer's.

That is the statement that made the wrong value, and others that it depends on and about which the
values tell nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from grader import curriculum
from grader.grading.search.handover import Departure, Step
from grader.recognition.likeness import parsed

MOST = 3  # statements that are shown at once
# Conditions that only say what there is to do.
_HARMLESS = re.compile(r"\bis (?:not )?None\b|isinstance|training|\bndim\b|\.dim\(\)")
# Modules in which nothing is left to get wrong once their parameters are those of the exercise.
_PLAIN_MODULES = {
    "Linear", "Dropout", "Embedding", "ModuleList", "Sequential", "Parameter", "Identity",
    *(entry for name in curriculum.NAMES for entry in curriculum.find(name).entries),
}  # fmt: skip


@dataclass(frozen=True)
class Blame:
    """Statements of which one is wrong: the file and the first line of each, the last one's first.

    `variable` is what the last of them makes.
    """

    variable: str
    statements: tuple[tuple[str, int], ...]


def blamed(texts: Mapping[str, str], departure: Departure) -> Blame | None:
    """Return the statements to blame for the value that departs; None if they are too many."""
    codes = {name: _Code(parsed(text)) for name, text in texts.items()}
    return _Search(codes, departure).blame()


class _TooManyError(Exception):
    """What may be wrong is too much to be shown."""


@dataclass(frozen=True)
class _Place:
    """A statement, with the function and the class that it is in and the conditions it is under."""

    node: ast.stmt
    qualified: str
    function: ast.FunctionDef | None
    owner: ast.ClassDef | None
    conditions: tuple[ast.If | ast.While, ...]
    loops: tuple[ast.For | ast.While, ...]

    def makes(self, step: Step) -> bool:
        """Return whether a step of this function is on the statement's lines."""
        lines = range(self.node.lineno, (self.node.end_lineno or self.node.lineno) + 1)
        return step[1] in lines and (self.function is None or step[1] != _first_line(self.function))


class _Code:
    """The statements of a file."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    def calls_of(self, function: ast.FunctionDef) -> list[ast.Call]:
        """Return the calls of a function in the file itself."""
        calls = (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        return [
            call for call in calls if ast.unparse(call.func).rpartition(".")[2] == function.name
        ]

    @cached_property
    def places(self) -> dict[int, _Place]:
        """The innermost statement on each line."""
        places: dict[int, _Place] = {}
        for place in _placed(self.tree):
            body = getattr(place.node, "body", None)
            end = body[0].lineno - 1 if body else place.node.end_lineno or place.node.lineno
            for line in range(place.node.lineno, max(end, place.node.lineno) + 1):
                places[line] = place
        return places


def _placed(
    node: ast.AST,
    qualified: str = "",
    function: ast.FunctionDef | None = None,
    owner: ast.ClassDef | None = None,
    conditions: tuple[ast.If | ast.While, ...] = (),
    loops: tuple[ast.For | ast.While, ...] = (),
) -> Iterator[_Place]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield _Place(child, qualified, function, owner, conditions, loops)
        if isinstance(child, ast.FunctionDef):
            inside = ".<locals>." if function is not None else "." if owner is not None else ""
            yield from _placed(child, qualified + inside + child.name, child, owner)
        elif isinstance(child, ast.ClassDef):
            yield from _placed(child, child.name, None, child)
        else:
            under = (*conditions, child) if isinstance(child, ast.If | ast.While) else conditions
            within = (*loops, child) if isinstance(child, ast.For | ast.While) else loops
            yield from _placed(child, qualified, function, owner, under, within)


class _Search:
    def __init__(self, codes: Mapping[str, _Code], departure: Departure) -> None:
        self.codes = codes
        self.departure = departure
        self.steps = [*dict.fromkeys(departure.steps)]

    def blame(self) -> Blame | None:
        """Return what may be to blame for the wrong value; None if that is too much."""
        file, line, _, variable = self.departure.wrong
        self.found: list[tuple[str, int]] = []
        self.followed: set[tuple[str, int]] = set()
        self.entered: set[str] = set()
        try:
            self._follow(file, line)
            self._add_callers(file, line)
        except (_TooManyError, RecursionError):  # one name for another, hundreds of times
            return None
        return Blame(variable, tuple(self.found))

    def _follow(self, file: str, line: int) -> None:
        """Add the statement on a line, and the unknown ones that it depends on."""
        place = self._at(file, line)
        if isinstance(place.node, ast.FunctionDef | ast.ClassDef):
            raise _TooManyError
        if (file, place.node.lineno) in self.followed:
            return
        self.followed.add((file, place.node.lineno))
        if not _renames(place.node):
            self._add(file, place.node.lineno)
        function = place.function
        if function is None or "<locals>" in place.qualified:  # it reads another one's variables
            raise _TooManyError
        if self._does_more(file, function, (place.loops or (place.node,))[0]):
            raise _TooManyError
        for condition in place.conditions:
            if not _HARMLESS.search(ast.unparse(condition.test)):
                self._add(file, condition.lineno)
        names, attributes = _read(place.node)
        if any(_stored_later(loop, place.node) & {*names} for loop in place.loops):
            raise _TooManyError  # it may be right, and start from what an earlier round got wrong
        for name in names:
            self._follow_name(file, place, function, name)
        self._follow_called(file, place)
        for attribute in attributes:
            self._follow_attribute(file, place, attribute)

    def _add_callers(self, file: str, line: int) -> None:
        """Add the calls of the function that a line is in, unless the check itself calls it."""
        place = self._at(file, line)
        if place.function is None or self.departure.steps[0][2] == place.qualified:
            return
        for call in self.codes[file].calls_of(place.function):
            self._add(file, self._at(file, call.lineno).node.lineno)

    def _at(self, file: str, line: int) -> _Place:
        place = self.codes[file].places.get(line)
        if place is None:
            raise _TooManyError
        return place

    def _add(self, file: str, line: int) -> None:
        if (file, line) not in self.found:
            self.found.append((file, line))
        if len(self.found) > MOST:
            raise _TooManyError

    def _follow_unknown(self, steps: Iterable[Step]) -> None:
        for file, line, _, _ in sorted(self.departure.unknown.intersection(steps)):
            self._follow(file, line)

    def _follow_called(self, file: str, place: _Place) -> None:
        """Add what functions return that ran for a statement, as far as that is unknown.

        What they are called with comes of the statement.
        """
        inside: list[Step] = []
        for step in self.departure.steps:
            if (step[0], step[2]) != (file, place.qualified):
                inside.append(step)
                continue
            if place.makes(step):
                self.entered |= {called[2] for called in inside}
                self._follow_unknown([each for each in inside if each[3] == "return"])
            inside = []

    def _follow_name(self, file: str, place: _Place, function: ast.FunctionDef, name: str) -> None:
        """Add what sets a variable that a statement reads, as far as that is unknown."""
        steps = self._latest(file, place, name)
        is_argument = name in _arguments(function)
        if is_argument and place.qualified in self.entered:
            steps = {step for step in steps if step[1] != _first_line(function)}
        elif is_argument and not steps and self.codes[file].calls_of(function):
            raise _TooManyError  # what it was called with may be wrong
        self._follow_unknown(steps)
        self._add_partial(place, function, steps)
        if not steps and not is_argument:
            names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
            for node in names:
                if node.id == name and isinstance(node.ctx, ast.Store):
                    self._follow(file, node.lineno)

    def _add_partial(self, place: _Place, function: ast.FunctionDef, steps: Iterable[Step]) -> None:
        """Add what may have left out a part: of a step, or of the rounds of a loop."""
        for step in steps:
            file, line, _, _ = step
            if step not in self.departure.complete:
                self._add_maker(file, line, function)
            if line == _first_line(function):
                continue
            for loop in self._at(file, line).loops:
                if loop not in place.loops:
                    self._add(file, loop.lineno)

    def _add_maker(self, file: str, line: int, function: ast.FunctionDef) -> None:
        if line == _first_line(function):
            raise _TooManyError  # what the function was called with may be wrong
        place = self._at(file, line)
        self._add(file, place.node.lineno)
        inside: list[Step] = []
        for step in self.departure.steps:
            if (step[0], step[2]) != (file, place.qualified):
                inside.append(step)
                continue
            if place.makes(step) and any(each not in self.departure.complete for each in inside):
                raise _TooManyError  # a function that it calls may be wrong
            inside = []

    def _latest(self, file: str, place: _Place, variable: str) -> set[Step]:
        """Return the steps that made what a variable held whenever a statement ran."""
        own = [
            step for step in self.departure.steps if (step[0], step[2]) == (file, place.qualified)
        ]
        if not any(map(place.makes, own)):
            return {step for step in own if step[3] == variable}
        latest: Step | None = None
        found: set[Step] = set()
        was_here = False
        for step in own:
            is_here = place.makes(step)
            if is_here and not was_here and latest is not None:
                found.add(latest)
            was_here = is_here
            if step[3] == variable:
                latest = step
        return found

    def _follow_attribute(self, file: str, place: _Place, attribute: str) -> None:
        """Add what sets an attribute of `self`, unless right answers have its value as well."""
        if place.owner is None:
            return
        steps = [step for step in self.steps if step[3] == f"self.{attribute}"]
        is_unknown = any(step in self.departure.unknown for step in steps)
        before = len(self.found)
        for node in ast.walk(place.owner):
            target = getattr(node, "targets", [getattr(node, "target", None)])[0]
            if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                continue
            if not isinstance(target, ast.Attribute) or target.attr != attribute:
                continue
            set_in = self._at(file, node.lineno).function
            if is_unknown and isinstance(node.value, ast.Call):
                raise _TooManyError  # the parameters of a module are wrong
            if set_in is None or set_in.name != "__init__":
                self._follow(file, node.lineno)
            elif is_unknown or (not steps and not _is_plain(node.value)):
                self._add(file, node.lineno)
                if isinstance(node.value, ast.Name):  # a default is wrong, or what was passed
                    self._add(file, set_in.lineno)
        if is_unknown and len(self.found) == before:
            raise _TooManyError  # a buffer, say, and what sets it is not clear

    def _does_more(self, file: str, function: ast.FunctionDef, until: ast.stmt) -> bool:
        """Return whether a call before that may have changed something that isn't seen."""
        noted = {line for name, line, *_ in self.steps if name == file}
        end = until.lineno
        if isinstance(until, ast.For | ast.While):
            end = 1 + (until.end_lineno or until.lineno)
        return any(
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and node.lineno < end
            and not noted & {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
            for node in ast.walk(function)
        )


def _arguments(function: ast.FunctionDef) -> set[str]:
    listed = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {argument.arg for argument in listed} - {"self"}


def _first_line(function: ast.FunctionDef) -> int:
    """Return the line that Python calls the first one of a function."""
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


def _stored_later(loop: ast.For | ast.While, node: ast.stmt) -> set[str]:
    """Return the variables that a loop sets, whole or in part, from a statement on."""
    stored = set()
    for target in ast.walk(loop):
        if isinstance(getattr(target, "ctx", None), ast.Store) and isinstance(target, ast.expr):
            named = next((part for part in ast.walk(target) if isinstance(part, ast.Name)), None)
            if named is not None and target.lineno >= node.lineno:
                stored.add(named.id)
    return stored


def _renames(node: ast.stmt) -> bool:
    """Return whether a statement only gives another name to what an object holds."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute)


def _is_plain(value: ast.expr | None) -> bool:
    """Return whether an attribute that is set so is right if the module's parameters are."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in _PLAIN_MODULES
    return isinstance(value, ast.Name)


def _read(node: ast.stmt) -> tuple[list[str], list[str]]:
    """Return the variables and the attributes of `self` that the head of a statement reads."""
    part: ast.AST = node
    if isinstance(node, ast.For):
        part = node.iter
    elif isinstance(node, ast.If | ast.While):
        part = node.test
    names: dict[str, None] = {}
    attributes: dict[str, None] = {}
    for inner in ast.walk(part):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            names[inner.id] = None
        elif isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
            names[inner.target.id] = None
        elif isinstance(inner, ast.Attribute) and ast.unparse(inner.value) == "self":
            attributes[inner.attr] = None
    return [*names], [*attributes]
