"""A line of the student's own source, as findings quote it."""

from __future__ import annotations

import ast

from grader.feedback.finding import Place
from grader.recognition.likeness import parsed, walk
from grader.remote.session import clean
from grader.remote.source_lines import source_lines

MAX_LINE = 160
MOST_PARTS = 10  # of a parameter's name; those of the exercises have up to six


def quoted(source: str, line: int) -> str:
    """Return a line of a student's source, fit to show and not too long; "" where there is none."""
    lines = source_lines(source)
    own = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return clean(own, MAX_LINE).replace("\n", " ")


def place_of(exercise: str, line: int, source: str) -> Place:
    """Return the place of a line in the answer to an exercise."""
    return Place(f"{exercise}.py", line, quoted(source, line))


def made_at(parameter: str, exercise: str, source: str) -> tuple[Place, ...]:
    """Return the place that makes a parameter, if a single one can; () if that isn't clear.

    Of `layers.0.self_attn.q_proj.weight`, that is the one that makes `q_proj`, or where another
    exercise does that, `self_attn`.
    """
    nodes = walk(parsed(source))
    replacing = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Assign) and f"self.{parameter}" in map(ast.unparse, node.targets)
    ]
    if "." in parameter and replacing:  # another takes the place of what the part has made
        return (place_of(exercise, replacing[-1], source),)
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    parts = [part for part in parameter.split(".") if not part.isdigit()]
    if len(parts) > MOST_PARTS:  # a module within itself may nest without end
        return ()
    owners, made = [*classes.values()], None
    for part in parts:
        found = [node for owner in owners for node in _makes(owner, part)]
        if len(found) != 1:
            return () if found or made is None else (place_of(exercise, made.lineno, source),)
        made = found[0]
        called = {node.id for node in ast.walk(made) if isinstance(node, ast.Name)}
        owners = [classes[name] for name in called & classes.keys()]
    is_nested = len(parts) > 1  # the class that makes it may be right, and given the wrong sizes
    return (place_of(exercise, made.lineno, source),) if made and not is_nested else ()


def _makes(owner: ast.ClassDef, part: str) -> list[ast.Assign | ast.AnnAssign]:
    """Return the lines of a class that assign an attribute; none if they leave its parts open."""
    return [
        node
        for node in ast.walk(owner)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and f"self.{part}" in map(ast.unparse, _targets(node))
        and not (isinstance(node.value, ast.Call) and not (node.value.args or node.value.keywords))
    ]


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]
