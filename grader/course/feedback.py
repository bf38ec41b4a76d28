"""The page that a student gets back from `nbgrader generate_feedback`.

It shows the whole notebook: the student's own cells, questions of the instructor's, comments and
points, each exercise under its name with what the judge found. No script is in it.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbconvert.exporters import Exporter
from nbformat.notebooknode import NotebookNode
from nbgrader.utils import rmtree
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from traitlets import default

from grader import curriculum
from grader.course import building, cleaning, points
from grader.course.engines import convert_with_one_engine
from grader.course.limits import Allowance, TooMuchError
from grader.course.preprocessors import MIME
from grader.course.progress import show_progress
from grader.course.submitted import destination_of
from grader.feedback.html import by_class, printable
from grader.feedback.results import ExerciseResult, exercise_result
from grader.report.html import first_to_fix, templates
from grader.submission.cells import POINTS

TEMPLATES = Path(__file__).parent / "templates"
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/svg+xml")
_MAX_OUTPUT = 20_000
FOLDED_LINES = 12


class Feedback(Exporter):
    """The exporter of `nbgrader generate_feedback`."""

    output_mimetype = "text/html"

    @default("file_extension")
    def _html(self) -> str:
        return ".html"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if self.parent is not None:
            _remove_interrupted(self.parent)
            convert_with_one_engine(self.parent)
            show_progress(self.parent, "writing feedback")

    def from_notebook_node(
        self, nb: NotebookNode, resources: Any = None, **options: Any
    ) -> tuple[str, dict[str, Any]]:
        """Return the page of a student's notebook, with the grades from the preprocessors."""
        nb, resources = super().from_notebook_node(nb, resources, **options)
        page = templates(by_class, TEMPLATES).get_template("feedback.html.j2")
        about = resources["nbgrader"]
        exercises = tuple(name for cell in nb.cells if (name := _exercise(_tag(cell))))
        worth = points.of_notebook(nb)
        explanations = _explanations(
            about["notebook"],
            tuple(dict.fromkeys(exercises)),
            tuple(worth.exercises.items()),
            worth.questions,
        )
        allowance = Allowance()
        parts = [
            _part(number, cell, explanations, allowance) for number, cell in enumerate(nb.cells)
        ]
        rows = _rows(parts)
        results = [result for part in parts for result in part.results]
        html = page.render(
            about=about,
            rows=rows,
            parts=parts,
            first=first_to_fix((one, part.anchor) for part in parts for one in part.results),
            results=results,
            code_style=_style(),
        )
        return html, resources


def _remove_interrupted(converter: Any) -> None:
    """Remove the pages that a killed run left half written; nbgrader would take them for done."""
    for folder, files in converter.assignments.items():
        destination = Path(destination_of(converter, folder) or "")
        if not destination.name or not destination.is_dir():
            continue
        pages = [destination / f"{Path(file).stem}.html" for file in files]
        broken = [page for page in pages if not _is_whole(page)]
        if broken:
            converter.log.warning(
                "Writing the feedback on %s was interrupted. It is written again.", folder
            )
            for page in broken:
                page.unlink(missing_ok=True)
            if converter.coursedir.notebook_id == "*":  # then the folder alone counts as done
                rmtree(destination)


def _is_whole(page: Path) -> bool:
    try:
        return page.read_bytes().rstrip().endswith(b"</html>")
    except OSError:
        return False


@dataclass(frozen=True)
class Part:
    """One cell as the page shows it.

    `name` is the exercise, or what the instructor calls the cell; "" for one that nbgrader does not
    know. `score` and `worth` are the gradebook's, None where there are none; an `ungraded` one has
    a score that says nothing yet. `summary` is there for
    what the kit wrote, which need not be read again: the page shows it on demand.
    """

    anchor: str
    name: str
    heading: str
    summary: str
    score: float | None
    worth: float | None
    ungraded: bool
    source: Markup
    code: bool
    outputs: list[Markup]
    results: list[ExerciseResult]
    comment: Markup | None

    @property
    def folded(self) -> str:
        """What the page shows in the place of a student's own code until it is asked for; or ""."""
        long = self.code and self.source.count("\n") >= FOLDED_LINES
        return f"Your code: {self.name or 'a cell'}" if long and not self.summary else ""


@dataclass(frozen=True)
class Row:
    """What the table at the top has of an exercise or a question: its points, and where it is."""

    name: str
    graded: Part | None
    commented: Part | None


def _rows(parts: list[Part]) -> list[Row]:
    names = dict.fromkeys(part.name for part in parts if part.score is not None or part.comment)
    graded = {part.name: part for part in parts if part.score is not None}
    commented = {part.name: part for part in parts if part.comment}
    return [Row(name, graded.get(name), commented.get(name)) for name in names]


def _tag(cell: NotebookNode) -> dict[str, Any]:
    """Return what nbgrader notes of a cell."""
    tag: dict[str, Any] = cell.metadata.get("nbgrader", {})
    return tag


def _part(
    number: int, cell: NotebookNode, explanations: dict[str, str], allowance: Allowance
) -> Part:
    tag = _tag(cell)
    graded = bool(tag.get("grade") or tag.get("task"))
    comment = tag.get("comment")
    verdicts = [output for output in cell.get("outputs", ()) if MIME in output.get("data", {})]
    outputs = [output for output in cell.get("outputs", ()) if output not in verdicts]
    return Part(
        anchor=f"cell-{number}",
        name=_exercise(tag) or str(tag.get("grade_id", "")),
        heading=_heading(tag),
        summary="The public tests" if verdicts else explanations.get(cell.source, ""),
        score=tag.get("score") if graded else None,
        worth=tag.get("points") if graded else None,
        ungraded=bool(tag.get("ungraded")),
        source=_source(cell, explanations, allowance),
        code=cell.cell_type == "code",
        outputs=[shown for output in outputs if (shown := _shown(output, allowance))],
        # Remarks are for the instructor, and this page is the student's.
        results=[replace(exercise_result(verdict.data[MIME]), remarks=()) for verdict in verdicts],
        comment=_laid_out(cleaning.usual_markdown, comment, allowance) if comment else None,
    )


def _exercise(tag: dict[str, Any]) -> str:
    """Return the exercise that a cell of nbgrader's belongs to, or ""."""
    name = str(tag.get("grade_id", "")).removesuffix(POINTS)
    return name if name in curriculum.NAMES else ""


def _heading(tag: dict[str, Any]) -> str:
    """Return what kind of cell it is, and of what; "" for one that nbgrader does not grade."""
    name = _exercise(tag) or tag.get("grade_id", "")
    for kind, words in (("task", "Task"), ("solution", "Your answer"), ("grade", "Test")):
        if tag.get(kind):
            return f"{words}: {name}"
    return ""


@functools.cache
def _explanations(
    notebook: str,
    exercises: tuple[str, ...],
    worth: tuple[tuple[str, float], ...],
    questions: float,
) -> dict[str, str]:
    """Return what the kit wrote into such a notebook, with the heading of each text."""
    made = building.notebook(notebook, exercises, dict(worth), questions)
    sources = [cell.source for cell in made.cells if cell.cell_type == "markdown"]
    return {source: source.partition("\n")[0].strip("#* ") for source in sources}


def _source(cell: NotebookNode, explanations: dict[str, str], allowance: Allowance) -> Markup:
    attachments = cell.get("attachments")
    if cell.cell_type == "code":
        return _laid_out(_code, cell.source, allowance)
    if cell.cell_type != "markdown":
        return _verbatim(cell.source)
    if cell.source in explanations and not attachments:
        return Markup(cleaning.usual_markdown(cell.source))
    if attachments:
        return _laid_out(
            partial(cleaning.markdown, attachments=attachments), cell.source, allowance
        )
    return _laid_out(cleaning.usual_markdown, cell.source, allowance)


def _laid_out(render: Callable[[str], str], source: str, allowance: Allowance) -> Markup:
    """Return a text of the student's as HTML; as plain text if rendering costs too much."""
    try:
        return Markup(allowance.laid_out(render, source))
    except TooMuchError as error:
        return Markup(cleaning.as_typed(source, error))


# Most cells are the same for the whole class.
@functools.lru_cache(maxsize=512)
def _code(source: str) -> str:
    return highlight(source, PythonLexer(stripnl=False), HtmlFormatter(cssclass="code"))


@functools.cache
def _style() -> Markup:
    """Return the colours of code, by day and by night."""
    day = HtmlFormatter(style="xcode").get_style_defs(".code")
    night = HtmlFormatter(style="github-dark").get_style_defs(".code")
    return Markup(f"{day}\n@media screen and (prefers-color-scheme: dark) {{\n{night}\n}}")


def _verbatim(text: str) -> Markup:
    text = _ANSI.sub("", text)
    if len(text) > _MAX_OUTPUT:
        text = f"{text[:_MAX_OUTPUT]}\n… and {len(text) - _MAX_OUTPUT} characters more"
    return Markup('<pre class="message">{}</pre>').format(printable(text))


def _shown(output: NotebookNode, allowance: Allowance) -> Markup:
    """Return an output as HTML, in the richest form of it that cannot run anything."""
    if output.output_type == "stream":
        return _verbatim(output.text)
    if output.output_type == "error":
        return _verbatim("\n".join(output.traceback) or f"{output.ename}: {output.evalue}")
    data = output.data
    for kind in _PICTURES:
        if kind in data:
            return _picture(kind, data[kind])
    if "text/html" in data:
        return _laid_out(cleaning.piece, data["text/html"], allowance)
    if "text/markdown" in data:
        return _laid_out(cleaning.markdown, data["text/markdown"], allowance)
    return _verbatim(data.get("text/plain", ""))


def _picture(kind: str, data: str) -> Markup:
    """Return a picture that the page holds in itself. In an `img`, no script of an SVG runs."""
    if kind == "image/svg+xml":
        data = base64.b64encode(data.encode()).decode()
    return Markup('<img alt="output" src="data:{};base64,{}">').format(kind, "".join(data.split()))
