"""A report as HTML: nothing of a student's is markup, and a sanitiser lets all of ours pass."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from grader.feedback.finding import Finding, Grid, Status
from grader.report import html
from grader.report.results import CheckResult, Diagnosis, ExerciseResult, Report, SubmissionResult

SCRIPT = "<script>alert(1)</script>"
ODD = f"{SCRIPT} \x1b[31m \u202e"
GRID = Grid(
    yours=((0.25, float("nan")),),
    expected=((0.25, 0.75),),
    differs=((False, True),),
    rows=("query 0",),
    columns=("key 0", "key 1"),
    where="batch 1",
)


def exercise(status: Status = Status.FAILED) -> ExerciseResult:
    checks = (
        CheckResult("one", "Takes `x` as it comes.", Status.PASSED, 2, 2),
        CheckResult("two", "Is finite.", Status.FAILED, 0, 3, Finding(ODD)),
        CheckResult("three", "Is finite too.", Status.FAILED, 0, 1, Finding(ODD)),
    )
    diagnosis = Diagnosis(("scaled",), f"You divide by `d_k`.\nWhy {SCRIPT}?")
    return ExerciseResult("attention", status, 2, 6, Finding(SCRIPT), checks, (diagnosis,))


class Tags(HTMLParser):
    """Gathers every tag and attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self.open = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += tag != "br"
        self.found += [(tag, name, value or "") for name, value in attrs] or [(tag, "", "")]

    def handle_endtag(self, tag: str) -> None:
        self.open -= tag != "br"


def test_a_students_text_is_never_markup() -> None:
    piece = html.exercise(exercise())
    assert "<script" not in piece
    assert "\x1b" not in piece
    assert "\u202e" not in piece
    assert "&lt;script&gt;" in piece


def test_our_own_marks_pass_the_sanitiser() -> None:
    for piece in (html.exercise(exercise()), html.table(GRID), html.panel("right", "x", "y")):
        tags = Tags(piece)
        assert tags.open == 0
        for tag, name, value in tags.found:
            assert tag in html.TAGS
            assert not name or html.allowed(tag, name, value), (tag, name, value)


def test_a_sanitiser_stops_styles_and_scripts_of_others() -> None:
    assert not html.allowed("div", "style", "position:fixed;top:0")
    assert not html.allowed("div", "onclick", "x()")
    assert not html.allowed("img", "src", "x")


def test_each_thing_is_said_once_and_code_is_marked() -> None:
    piece = html.exercise(exercise())
    assert piece.count("&lt;script&gt;") == 3  # the exercise's, the diagnosis's, one of the checks'
    assert "<code>x</code>" in piece
    assert "2 of 6 points" in piece


def test_a_grid_shows_the_wrong_cells() -> None:
    piece = html.table(GRID)
    assert piece.count(html.STYLES["off"]) == 1
    assert "NaN" in piece
    assert "batch 1" in piece


def test_pages_are_written_for_the_whole_class(tmp_path: Path) -> None:
    results = [SubmissionResult(name, 2, 6, (exercise(),)) for name in ("ada", "../" + SCRIPT)]
    failed = ExerciseResult("attention", Status.GRADER_ERROR, None, 6, Finding("again"))
    results.append(SubmissionResult("carl", None, 6, (failed,)))
    index = html.write_pages(Report(7, "jail", tuple(results)), tmp_path / "pages")
    names = sorted(path.name for path in index.parent.iterdir())
    assert [names[0], *names[2:]] == ["0001-ada.html", "0003-carl.html", "index.html"]
    assert re.fullmatch(r"0002-[\w-]+\.html", names[1])
    text = index.read_text(encoding="utf-8")
    assert "<td>not graded</td>" in text
    assert "<script" not in text
    assert "? of 6" in text
    assert "seed 7" in text
