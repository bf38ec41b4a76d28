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
from grader.curriculum.project import EXERCISES
from grader.submission.cells import POINTS

# Where a notebook and its cells say what the kit made of them.
KEY = "grader"
SETUP = "# Run this cell first, each time that you open the notebook.\n%load_ext grader"
_OURS = ("solutions", "exercises")
# A notebook has the page's section in its first cell.
_COMMON_LINE = stubs.COMMON_LINE.replace("exercises/README.md", "the first cell")


def notebook(
    assignment: str,
    exercises: Sequence[str],
    points: Mapping[str, float] | None = None,
    questions: float = 0.0,
) -> NotebookNode:
    """Return the instructor's version of an assignment, with answers, for `generate_assignment`.

    `points` are what the instructor gives for exercises, where not the kit's; `questions` are the
    points of what else they ask.

    What a chosen exercise needs and is not chosen is provided in a locked cell, in a form that
    gives nothing away of the assigned ones.
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
    """Return a hash that distinguishes a cell made by the kit from an edited one."""
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
    """Return the cell with the picture of an exercise's text, if it has one.

    It holds the picture itself: JupyterLab shows no SVG that is attached to a cell.
    """
    path = EXERCISES / stubs.PICTURES / f"{name}.svg"
    if not path.exists():
        return []
    svg = path.read_bytes()
    title, description = (text.text for text in ElementTree.fromstring(svg)[:2])
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

Write a Transformer by hand, piece by piece. Every exercise has an explanation, a cell for your code
and a cell with tests.

1. Each time you open this notebook, first run the cell `%load_ext grader` below. Without it, a
   cell with tests says that `%%check` is not found.
2. Read the explanation. Replace each `raise NotImplementedError` with your code, and run the cell.
3. Run the cell with the tests below it. It says what is right, what is wrong and why.
4. Before you submit the notebook, choose *Kernel, Restart and Run All*, or press *Validate*.

For grading, the cells run from top to bottom, as after *Restart and Run All*. If you define a name
twice, the last one above the exercise's tests is graded. A cell is stopped after
4 seconds of CPU time, all cells together after 10. Put longer experiments below the last tests:
cells there are not run. Commands after `!` are not run either, and nothing is drawn or typed in, so
your answers can't depend on them.

You may add cells of your own. `%check attention` in any cell tests that exercise again, and
`%show attention` draws what your code computes next to what is expected. The points come from
hidden checks, which test more than these tests do. Each exercise is graded with correct solutions
for the others, so a mistake costs you only once.

| exercise | points |
|---|---|
{rows}
| **together** | **{total}** |

{stubs.COMMON}

{stubs.common_demands()}"""


def _explanation(name: str, points: float) -> str:
    """Return the docstring of the solution, every heading one level lower."""
    docstring = ast.get_docstring(ast.parse(stubs.solution(name)), clean=True) or name
    docstring = stubs.with_rule(docstring.replace(stubs.COMMON_LINE, _COMMON_LINE), name)
    title, _, text = docstring.partition("\n")
    text = re.sub(r"^(#+ )", r"#\1", text.strip(), flags=re.MULTILINE)
    return f"## {title.rstrip('.')}\n\n*Exercise `{name}`, {points:g} points.*\n\n{text}"


def _public_tests(name: str) -> str:
    path = EXERCISES / f"test_{name}.py"
    if not path.exists():
        raise curriculum.CurriculumError(stubs.no_public_tests(name))
    body = _body(path.read_text(encoding="utf-8"))
    return f"%%check {name}\n# The public tests. Run this cell; it cannot be edited.\n\n{body}"


def _body(source: str) -> str:
    """Return a module without its docstring and without what it imports from other exercises."""
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
    """Return where nbgrader looks for the instructor's version."""
    return course / "source" / assignment / f"{assignment}.ipynb"
