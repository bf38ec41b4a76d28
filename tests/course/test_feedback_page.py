"""The page of `nbgrader generate_feedback`: the whole notebook is there, and nothing in it runs."""

from __future__ import annotations

import base64
import logging
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nbgrader", reason="nbgrader is not installed")

import nbgrader.api
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from grader.course import building
from grader.course.engines import convert_with_one_engine
from grader.course.feedback import Feedback, _remove_interrupted
from grader.course.preprocessors import MIME
from grader.feedback.finding import Finding, Grid, Status
from grader.feedback.results import CheckResult, Diagnosis, ExerciseResult, exercise_fields

SCRIPT = "<script>alert(1)</script>"
WRONG = Finding(
    f"1 of 2 numbers is wrong. {SCRIPT}",
    Grid(((1.0, 0.5),), ((1.0, 0.25),), ((False, True),), ("query 0",), ("key 0", "key 1")),
)
RESULT = ExerciseResult(
    "attention",
    Status.FAILED,
    10,
    15,
    None,
    (CheckResult("agrees", "The output is `softmax`.", Status.FAILED, 0, 5, WRONG),),
    (Diagnosis(("scaled",), "You divide by d_k.", ("See section 3.2.1.",)),),
    ("Looks at torch.nn.functional.",),
)


def tag(name: str, **fields: Any) -> dict[str, Any]:
    """What nbgrader notes of a cell once it is graded."""
    plain = {"grade": False, "solution": False, "task": False, "locked": False}
    return {"nbgrader": {"schema_version": 3, "grade_id": name, **plain, **fields}}


def page(*cells: Any, late: float = 0.0) -> str:
    about = {"notebook": "ps1", "score": 12.0, "max_score": 20.0, "late_penalty": late}
    result, _ = Feedback().from_notebook_node(new_notebook(cells=list(cells)), {"nbgrader": about})
    return str(result)


def graded(score: float = 10.0) -> Any:
    """The grade cell of `attention`, as autograding leaves it."""
    data = {"text/plain": str(score), MIME: exercise_fields(RESULT)}
    output = new_output("execute_result", data, execution_count=None)
    noted = tag("attention-points", grade=True, score=score, points=15.0)
    return new_code_cell("%%check attention", outputs=[output], metadata=noted)


class Tags(HTMLParser):
    """Gathers the tags of a page and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def words(text: str) -> str:
    """The text of a page on one line."""
    body = text.partition("<body>")[2]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_a_question_that_waits_for_the_instructor_has_no_zero() -> None:
    noted = tag("why", grade=True, solution=True, score=0.0, points=10.0)
    assert "why 0 of 10" in words(page(new_markdown_cell("Because.", metadata=noted)))
    noted["nbgrader"]["ungraded"] = True
    assert "why not graded yet, of 10" in words(page(new_markdown_cell("Because.", metadata=noted)))


def test_exercises_have_their_names_points_and_pictures() -> None:
    result = page(graded())
    assert "ps1: 12 of 20 points" in words(result)
    assert "attention 10 of 15 wrong" in words(result)
    assert 'aria-label="wrong"' in result
    assert "Test cell" not in result
    assert "See section 3.2.1." in result
    assert "Looks at torch" not in result  # that is for the instructor


def test_a_grade_that_was_changed_by_hand_is_shown() -> None:
    assert "In the gradebook: 12.5 of 15" in words(page(graded(12.5)))
    assert "In the gradebook" not in page(graded())


def test_answers_questions_and_comments_of_others_are_there() -> None:
    question = new_markdown_cell("Because **of** the scale.")
    question.metadata = tag(
        "why", grade=True, solution=True, score=2.0, points=4.0, comment=f"Well *said*. {SCRIPT}"
    )
    task = new_markdown_cell("Draw it.", metadata=tag("draw", task=True, score=1.0, points=1.0))
    test = new_code_cell(
        "assert 1 + 1 == 2", metadata=tag("sum", grade=True, score=2.0, points=2.0)
    )
    own = new_code_cell("print('mine')", outputs=[new_output("stream", text="\x1b[31mmine\x1b[0m")])
    answer = new_code_cell("def attention(): ...", metadata=tag("attention", solution=True))
    text = page(question, task, test, own, new_raw_cell("raw <b>"), answer, late=1.5)
    for wanted in (
        "why 2 of 4 comment",
        "Your answer: why 2 of 4 Because of the scale.",
        "Comment Well said .",
        "draw 1 of 1",
        "sum 2 of 2",
        "late submission −1.5",
        "Your answer: attention",
        "raw &lt;b&gt;",
    ):
        assert wanted in words(text), wanted
    assert '<pre class="message">mine</pre>' in text
    assert "<strong>of</strong>" in text


def test_nothing_of_a_student_runs_or_is_fetched() -> None:
    bad = (
        f"{SCRIPT}<img src=x onerror=alert(2)><b style='position:fixed' onclick=x>b</b>"
        "<a href='javascript:x'>c</a>"
    )
    drawn = f"<svg xmlns='http://www.w3.org/2000/svg'>{SCRIPT}</svg>"
    outputs = [
        new_output("display_data", {"text/html": bad}),
        new_output("display_data", {"text/markdown": bad}),
        new_output("display_data", {"image/svg+xml": drawn}),
        new_output("display_data", {"image/png": '"><script>alert(1)</script>'}),
        new_output("display_data", {"application/javascript": "alert(1)", "text/plain": SCRIPT}),
        new_output("error", ename="E", evalue=SCRIPT, traceback=[SCRIPT]),
        new_output("stream", text=SCRIPT),
    ]
    text = page(new_markdown_cell(bad), new_code_cell(f"# {SCRIPT}", outputs=outputs), graded())
    tags = Tags(text).found
    assert "script" not in {name for name, _ in tags}
    assert "svg" not in {name for name, _ in tags}
    for name, attributes in tags:
        assert not any(attribute.startswith("on") for attribute in attributes), (name, attributes)
        assert not (attributes.get("href") or "").startswith("javascript"), attributes
        assert (attributes.get("src") or "data:image/").startswith("data:image/"), attributes
        assert "position" not in (attributes.get("style") or "")
    assert f"base64,{base64.b64encode(drawn.encode()).decode()}" in text
    assert "default-src 'none'" in text


def test_what_the_kit_wrote_is_folded_and_what_was_edited_is_not() -> None:
    (made,) = (
        cell
        for cell in building.notebook("ps1", ["attention"]).cells
        if cell.metadata.grader.part == "attention-text"
    )
    folded = page(made, graded())
    assert "<summary>Scaled dot-product attention" in folded
    made.source += "\n\nA hint of mine."
    edited = page(made, graded())
    assert "<summary>Scaled dot-product attention" not in edited
    assert "A hint of mine." in edited


class Converter:
    """Stands for one of nbgrader's converters, which opens gradebooks while it converts."""

    def __init__(self) -> None:
        self.engines: list[Any] = []

    def convert_notebooks(self) -> None:
        self.engines += [nbgrader.api.create_engine("sqlite://") for _ in range(2)]
        raise KeyboardInterrupt


def test_nbgrader_is_as_it_was_but_while_it_converts() -> None:
    """Importing changes nothing; a conversion, however it ends, leaves nothing changed."""
    stock = nbgrader.api.create_engine
    assert stock.__module__.startswith("sqlalchemy")
    converter = Converter()
    convert_with_one_engine(converter)
    assert nbgrader.api.create_engine is stock
    with pytest.raises(KeyboardInterrupt):
        converter.convert_notebooks()
    assert converter.engines[0] is converter.engines[1]
    assert nbgrader.api.create_engine is stock


@pytest.mark.full(seconds=2)
def test_a_text_that_no_parser_gets_through_is_shown_as_it_was_typed() -> None:
    """And all the rest of the page is there as ever."""
    hostile = ">" * 300_000
    html = new_output("display_data", {"text/html": "<div>" * 60_000})
    result = page(
        new_markdown_cell(hostile),
        graded(),
        new_code_cell("draw()", outputs=[html]),
        new_markdown_cell("My *last* words."),
    )
    assert "nested too deep, or too long, to be laid out" in words(result)
    assert "&gt;" * 1_000 in result
    assert "280,000 characters more" in result
    assert "query 0" in words(result)
    assert "<em>last</em>" in result


def test_the_first_thing_to_fix_is_on_top_and_long_code_is_folded_below_its_comment() -> None:
    lines = "\n".join(f"x{number} = {number}" for number in range(20))
    answer = new_code_cell(
        lines, metadata=tag("attention", solution=True, comment="Mind the scale.")
    )
    text = page(answer, graded(4.0))
    top, _, rest = text.partition('<section id="cell-0"')
    assert "Fix first:" in top
    assert 'href="#cell-1"' in top
    before, _, after = rest.partition("Your code: attention")
    assert "Mind the scale." in before
    assert "x19" not in before
    assert "x19" in after


@pytest.mark.parametrize("notebooks", ["*", "ps1"])
def test_pages_that_a_killed_run_left_half_written_are_written_again(
    tmp_path: Path, notebooks: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Of nbgrader alone, a folder that is there counts as done, and the student gets no page."""
    whole = page(graded())
    written = {"whole": whole, "half": whole[: len(whole) // 2], "empty": "", "none": None}
    for student, text in written.items():
        (tmp_path / "feedback" / student).mkdir(parents=True)
        if text is not None:
            (tmp_path / "feedback" / student / "ps1.html").write_text(text)
    converter = SimpleNamespace(
        assignments={f"autograded/{student}/a": ["x/ps1.ipynb"] for student in (*written, "new")},
        coursedir=SimpleNamespace(notebook_id=notebooks),
        _format_source=lambda assignment, student, **_: f"autograded/{student}/{assignment}",
        _format_dest=lambda _, student: str(tmp_path / "feedback" / student),
        log=logging.getLogger(),
    )
    _remove_interrupted(converter)
    pages = {path.parent.name for path in tmp_path.rglob("*.html")}
    folders = {path.name for path in (tmp_path / "feedback").iterdir()}
    assert pages == {"whole"}
    assert folders == ({"whole"} if notebooks == "*" else {*written})
    assert caplog.text.count("is written again") == 3
