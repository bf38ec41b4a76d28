"""A made-up class, for `grader demo` and for tests: twelve odd ways to hand in, and a crowd."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from grader import curriculum
from grader.course.building import source_path
from grader.curriculum import mistakes
from grader.submission.cells import POINTS

Cells = list[NotebookNode]


@dataclass(frozen=True)
class Member:
    """One of the class: what the notebook is like, and how it is made of a right one."""

    name: str
    story: str
    change: Callable[[Cells], Cells | str]


def hand_in(course: Path, assignment: str, members: tuple[Member, ...] | None = None) -> None:
    """Write each student's submission, as nbgrader collects it. The assignment is released."""
    right = solved(course, assignment)
    for member in MEMBERS if members is None else members:
        folder = course / "submitted" / member.name / assignment
        folder.mkdir(parents=True)
        notebook = copy.deepcopy(right)
        changed = member.change(notebook.cells)
        if not isinstance(changed, str):
            notebook.cells = changed
            changed = nbformat.writes(notebook)
        (folder / f"{assignment}.ipynb").write_text(changed, encoding="utf-8")


def solved(course: Path, assignment: str) -> NotebookNode:
    """Return the released notebook with the right answer in every solution cell."""
    source = nbformat.read(source_path(course, assignment), as_version=4)
    answers = {grade_id(cell): cell.source for cell in source.cells if _is_solution(cell)}
    path = course / "release" / assignment / f"{assignment}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if _is_solution(cell):
            cell.source = answers[grade_id(cell)]
    return notebook


def find(cells: Cells, name: str) -> NotebookNode:
    """Return the cell with this `grade_id`."""
    return next(cell for cell in cells if grade_id(cell) == name)


def grade_id(cell: NotebookNode) -> str:
    """Return the cell's `grade_id`, or ""."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _is_solution(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _with_mistakes(cells: Cells) -> Cells:
    for exercise, name in (("attention", "scaled-by-d-k"), ("layer_norm", "unbiased-variance")):
        known = next(mistake for mistake in mistakes.load(exercise) if mistake.name == name)
        cell = find(cells, exercise)
        cell.source = known.apply(cell.source)
    return cells


def _half_done(cells: Cells) -> Cells:
    for cell in cells:
        if grade_id(cell) in ("encoder", "transformer", "feed_forward"):
            cell.source = _unwritten(cell.source)
    return cells


def _unwritten(source: str) -> str:
    """Return the answer taken out again, as nbgrader takes it out for the release."""
    lines: list[str] = []
    inside = False
    for line in source.split("\n"):
        if "BEGIN SOLUTION" in line:
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            lines += [f"{indent}# YOUR CODE HERE", f"{indent}raise NotImplementedError()"]
        elif "END SOLUTION" in line:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


def _lively(cells: Cells) -> Cells:
    start = "%matplotlib inline\n!pip install seaborn\nimport warnings\nwarnings.warn('careful')"
    helper = "def scale(x, by):\n    print('scaled')\n    return x / by"
    plot = "import asyncio\nawait asyncio.sleep(0)\nplt.plot(losses)"
    cell = find(cells, "attention")
    cell.source = "%%time\n" + cell.source.replace(
        "query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))",
        "scale(query @ key.transpose(-2, -1), math.sqrt(query.size(-1)))",
    )
    return [new_code_cell(start), new_code_cell(helper), *cells, new_code_cell(plot)]


def _hanging(cells: Cells) -> Cells:
    cell = find(cells, "attention")
    cell.source = "def attention(query, key, value, mask=None, dropout=None):\n    while True: pass"
    return cells


def _leaving(cells: Cells) -> Cells:
    cell = find(cells, "masks")
    cell.source = "import os\n" + cell.source.replace(
        "    return", "    os._exit(0)\n    return", 1
    )
    return [new_code_cell("import os\nos._exit(0)"), *cells]


def _cheating(cells: Cells) -> Cells:
    tricks = (
        "import torch\ntorch.allclose = lambda *a, **k: True\n"
        "torch.testing.assert_close = lambda *a, **k: None\n"
        "setattr(torch, 'equal', lambda *a: True)"
    )
    for cell in cells:
        if _is_solution(cell):
            cell.source = _unwritten(cell.source)
        elif grade_id(cell).endswith(POINTS):
            cell.source = "15.0"
            cell.metadata["nbgrader"]["points"] = 1000
    return [new_code_cell(tricks), *cells]


def _disordered(cells: Cells) -> Cells:
    kept = [cell for cell in cells if grade_id(cell) not in ("setup", "masks-points", "positional")]
    answer = new_code_cell(find(cells, "positional").source)
    copied = new_code_cell(find(cells, "layer_norm").source)
    copied.metadata = copy.deepcopy(find(cells, "layer_norm").metadata)
    answers = [cell for cell in kept if _is_solution(cell)]
    tests = [cell for cell in kept if not _is_solution(cell)]
    return [answer, *reversed(answers), *reversed(tests), copied]


def _retagged(cells: Cells) -> Cells:
    first, second = find(cells, "masks"), find(cells, "attention")
    first.metadata["nbgrader"], second.metadata["nbgrader"] = (
        second.metadata["nbgrader"],
        first.metadata["nbgrader"],
    )
    for cell in cells:
        if "nbgrader" in cell.metadata:
            cell.metadata["nbgrader"]["checksum"] = "0" * 32
    return cells


def _scripted(cells: Cells) -> Cells:
    script = "<script>alert(1)</script><img src=x onerror=alert(2)> [me](javascript:alert(3))"
    cell = find(cells, "masks")
    cell.source = cell.source.replace(
        "    return", f"    raise ValueError({script!r})\n    return", 1
    )
    return [new_markdown_cell(script), *cells]


def _damaged(cells: Cells) -> str:
    text = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    return text[: len(text) // 2]


MEMBERS: tuple[Member, ...] = (
    Member("ada", "has everything right", lambda cells: cells),
    Member("bela", "divides by d_k and takes an unbiased variance", _with_mistakes),
    Member("carl", "has three exercises still to do", _half_done),
    Member("dora", "wrote a loop that never ends", _hanging),
    Member("emil", "ends the process, in two places", _leaving),
    Member("fay", "uses magics, plots, prints and a helper from another cell", _lively),
    Member("gus", "patches torch and writes 15.0 into the cells with tests", _cheating),
    Member(
        "hana",
        "moved the answers to the top, deleted and copied cells",
        _disordered,
    ),
    Member("ivo", "swapped the tags of two cells and broke all checksums", _retagged),
    Member("jana", "put scripts into a text and an exception", _scripted),
    Member("kurt", "submitted half a file, which is not valid JSON", _damaged),
    Member("lea", "has everything right, too", lambda cells: cells),
)


def members(count: int) -> tuple[Member, ...]:
    """Return a class of that size: the twelve as far as they go, then some with common mistakes."""
    crowd = (
        _ordinary(f"student{number:03}", number) for number in range(len(MEMBERS) + 1, count + 1)
    )
    return (*MEMBERS[:count], *crowd)


def _ordinary(name: str, number: int) -> Member:
    """Return a student who has most of it right, the same one in every class."""
    chance = random.Random(number)
    wrong = [name.name for name in curriculum.EXERCISES if name.core and chance.random() < 0.15]
    known = {
        name: chance.choice([mistake for mistake in mistakes.load(name) if _plain(mistake)])
        for name in wrong
    }
    story = "; ".join(f"{name}: {mistake.name}" for name, mistake in known.items())

    def change(cells: Cells) -> Cells:
        for exercise, mistake in known.items():
            for cell in cells:
                if grade_id(cell) == exercise and cell.source.count(_find(mistake)) == 1:
                    cell.source = mistake.apply(cell.source)
        return [new_markdown_cell(f"Submitted by {name}."), *cells]

    return Member(name, story or "has everything right", change)


def _plain(mistake: mistakes.Mistake) -> bool:
    """Return whether it is one edit of the answer in `solutions/`."""
    return not mistake.edits[0].form and len(mistake.edits[0].replacements) == 1


def _find(mistake: mistakes.Mistake) -> str:
    return mistake.edits[0].replacements[0][0]
