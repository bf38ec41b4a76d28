"""Makes the notebook of an assignment from `solutions/` and the public tests."""

from __future__ import annotations

import ast
import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader import curriculum
from grader.curriculum import handed_out, stubs
from grader.curriculum.rules import RULE_HEADING, rule
from grader.submission.cells import POINTS

TESTS = stubs.SOLUTIONS.parent / "exercises"
# Where a notebook and its cells say what the kit made of them.
KEY = "grader"
SETUP = "# Run this cell first, each time that you open the notebook.\n%load_ext grader"
_OURS = ("solutions", "exercises")


def notebook(
    assignment: str,
    exercises: Sequence[str],
    points: Mapping[str, float] | None = None,
    questions: float = 0.0,
) -> NotebookNode:
    """The instructor's version of an assignment, answers included, for `generate_assignment`.

    `points` are what the instructor gives for exercises, where not the kit's; `questions` are the
    points of what else they ask.

    What a chosen exercise needs and is not chosen is handed out in a locked cell, in a form that
    gives nothing away of what is asked for.
    """
    worth = {name: curriculum.find(name).points for name in exercises} | dict(points or {})
    needed = {need for name in exercises for need in curriculum.closure(name)}
    cells = [
        _text(
            "introduction",
            _introduction(assignment, {name: worth[name] for name in exercises}, questions),
        ),
        _code("setup", SETUP, _tag("setup", locked=True)),
    ]
    for name in curriculum.NAMES:
        if name in exercises:
            cells += _exercise(name, worth[name])
        elif name in needed:
            cells += _given(name)
    made = new_notebook(cells=cells)
    made.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    made.metadata[KEY] = {
        "exercises": list(exercises),
        "parts": [cell.metadata[KEY]["part"] for cell in cells],
    }
    return made


def fingerprint(source: str) -> str:
    """A hash by which a cell that the kit made is told from one that somebody has edited."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def _exercise(name: str, points: float) -> list[NotebookNode]:
    tag = _tag(f"{name}{POINTS}", grade=True, locked=True)
    tag["points"] = points
    return [
        _text(f"{name}-text", _explanation(name, points)),
        *_picture(name),
        _code(name, _body(stubs.solution(name)), _tag(name, solution=True)),
        _code(f"{name}{POINTS}", _public_tests(name), tag),
    ]


def _picture(name: str) -> list[NotebookNode]:
    """The cell with the picture of an exercise's text, if it has one.

    It holds the picture itself: JupyterLab shows no SVG that is attached to a cell.
    """
    path = TESTS / stubs.PICTURES / f"{name}.svg"
    if not path.exists():
        return []
    svg = path.read_bytes()
    title, description = (found.text for found in ElementTree.fromstring(svg)[:2])
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    cell = _text(f"{name}-picture", f"**{title}**\n\n![{description}]({address})")
    # A double click would show the letters that the picture is made of.
    cell.metadata["editable"] = False
    return [cell]


def _given(name: str) -> list[NotebookNode]:
    text = f"## Given: {name}\n\nThe next exercises need this one. Here it is, solved."
    source = handed_out.source(name) or stubs.solution(name)
    lines = [line for line in _body(source).split("\n") if not stubs.is_mark(line)]
    return [
        _text(f"{name}-given-text", text),
        _code(f"{name}-given", "\n".join(lines), _tag(f"{name}-given", locked=True)),
    ]


def _introduction(assignment: str, worth: Mapping[str, float], questions: float) -> str:
    parts = {**worth, **({"other questions": questions} if questions else {})}
    rows = "\n".join(f"| {name} | {points:g} |" for name, points in parts.items())
    total = format(sum(parts.values()), "g")
    return f"""# {assignment}

Write a Transformer by hand, piece by piece. For every exercise there is an explanation, a cell for
your code and a cell with tests.

1. Run the cell `%load_ext grader` below, each time that you open this notebook. Until then a cell
   with tests says that `%%check` is not found.
2. Read the explanation. Write your code where `NotImplementedError` is raised, and run the cell.
3. Run the cell with the tests below it. It says what is right, what is wrong and why.
4. Before you hand the notebook in, choose *Kernel, Restart and Run All*, or press *Validate*.

When it is graded, its cells run from top to bottom, as after *Restart and Run All*; each exercise
is what its names mean where its tests stand. A cell is stopped after 4 seconds of processor time,
all cells together after 10: what takes long belongs below the last tests, where nothing is run.
No command after `!` is run, and nothing is drawn or asked: an answer cannot be made of what they
would give.

You may add cells of your own. `%check attention` in any cell tests that exercise again, and
`%show attention` draws what your code computes beside what is expected. Hidden checks look closer
than these tests and give the points; each exercise is graded with right answers for the others, so
a mistake costs you once.

| exercise | points |
|---|---|
{rows}
| **together** | **{total}** |"""


def _explanation(name: str, points: float) -> str:
    """The docstring of the solution, one heading lower."""
    docstring = ast.get_docstring(ast.parse(stubs.solution(name)), clean=True) or name
    title, _, text = docstring.partition("\n")
    text = re.sub(r"^(#+ )", r"#\1", text.strip(), flags=re.MULTILINE)
    if RULE_HEADING not in docstring:
        text = "\n\n".join(part for part in (rule(name).stated, text) if part)
    return f"## {title.rstrip('.')}\n\n*Exercise `{name}`, {points:g} points.*\n\n{text}"


def _public_tests(name: str) -> str:
    path = TESTS / f"test_{name}.py"
    if not path.exists():
        raise curriculum.CurriculumError(stubs.no_public_tests(name))
    body = _body(path.read_text(encoding="utf-8"))
    return f"%%check {name}\n# The public tests. Run this cell; it cannot be edited.\n\n{body}"


def _body(source: str) -> str:
    """A module without its docstring and without what it imports from other exercises."""
    lines = source.split("\n")
    tree = ast.parse(source)
    dropped = [node for node in tree.body[:1] if ast.get_docstring(tree) is not None]
    dropped += [
        node
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _OURS
    ]
    for node in reversed(dropped):
        del lines[node.lineno - 1 : node.end_lineno]
    text = "\n".join(lines).strip("\n")
    return re.sub(r"\n{4,}", "\n\n\n", text)


def _text(part: str, source: str) -> NotebookNode:
    return _made(new_markdown_cell(source), part)


def _code(part: str, source: str, tag: dict[str, Any]) -> NotebookNode:
    cell = _made(new_code_cell(source), part)
    cell.metadata["nbgrader"] = tag
    return cell


def _made(cell: NotebookNode, part: str) -> NotebookNode:
    cell.id = part.replace("_", "-")
    cell.metadata[KEY] = {"part": part, "made": fingerprint(cell.source)}
    return cell


def _tag(
    grade_id: str, grade: bool = False, solution: bool = False, locked: bool = False
) -> dict[str, Any]:
    return {
        "schema_version": 3,
        "grade_id": grade_id,
        "grade": grade,
        "solution": solution,
        "locked": locked,
        "task": False,
    }


def source_path(course: Path, assignment: str) -> Path:
    """Where nbgrader looks for the instructor's version."""
    return course / "source" / assignment / f"{assignment}.ipynb"
