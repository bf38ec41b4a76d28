"""A report as HTML: nothing of a student's is markup, and a sanitiser lets all of ours pass."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from grader.feedback.finding import Finding, Grid, Place, Status
from grader.feedback.html import TAGS, allowed, finding, panel
from grader.feedback.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Integration,
    Report,
    SubmissionResult,
)
from grader.report import html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
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
FOUND = Finding("`x` is wrong.", GRID, "Why?", (Place("attention.py", 3, f"return {SCRIPT}"),))
MASK = Finding(
    "2 entries are wrong.",
    Grid(
        yours=((1.0, 0.0), (0.0, 1.0)),
        expected=((1.0, 1.0), (1.0, 1.0)),
        differs=((False, True), (True, False)),
        rows=("query 0", "query 1"),
        columns=("key 0", "key 1"),
        kind="bool",
    ),
)


def exercise(status: Status = Status.FAILED) -> ExerciseResult:
    checks = (
        CheckResult("one", "Takes `x` as it comes.", Status.PASSED, 2, 2),
        CheckResult("two", "Is finite.", Status.FAILED, 0, 3, Finding(ODD)),
        CheckResult("three", "Is finite too.", Status.FAILED, 0, 1, Finding(ODD)),
    )
    diagnosis = Diagnosis(("scaled",), f"You divide by `d_k`.\nWhy {SCRIPT}?", ("Read on.",))
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
    for piece in (
        html.exercise(exercise()),
        finding(FOUND),
        finding(MASK),
        panel("right", "x", finding(FOUND)),
    ):
        tags = Tags(piece)
        assert tags.open == 0
        for tag, name, value in tags.found:
            assert tag in TAGS
            assert not name or allowed(tag, name, value), (tag, name, value)


def test_a_sanitiser_stops_styles_and_scripts_of_others() -> None:
    assert not allowed("div", "style", "position:fixed;top:0")
    assert not allowed("div", "onclick", "x()")
    assert not allowed("img", "src", "x")


def test_each_thing_is_said_once_and_code_is_marked() -> None:
    piece = html.exercise(exercise())
    assert piece.count("&lt;script&gt;") == 3  # the exercise's, the diagnosis's, one of the checks'
    assert "<code>x</code>" in piece
    assert "2 of 6 points" in piece


def cells(piece: str) -> list[tuple[str, str]]:
    """The style of every number and what stands in its cell."""
    return re.findall(r'<td style="(font-family[^"]*)">(.*?)</td>', piece, re.DOTALL)


def test_a_wrong_number_is_outlined_and_has_a_sign_that_can_be_heard() -> None:
    piece = finding(FOUND)
    (wrong,) = ((style, text) for style, text in cells(piece) if "NaN" in text)
    assert "border:2px solid" in wrong[0]
    assert 'role="img" aria-label="wrong"' in wrong[1]
    assert piece.count('aria-label="wrong"') == 1


def test_both_sides_are_on_one_scale() -> None:
    styles = [style for style, text in cells(finding(FOUND)) if "0.250" in text]
    assert len(styles) == 2
    assert styles[0] == styles[1]
    (strongest,) = (style for style, text in cells(finding(FOUND)) if "0.750" in text)
    assert "rgba(64,128,220" in strongest
    assert strongest != styles[0]


def test_a_mask_is_drawn_as_squares() -> None:
    drawn = [re.sub("<[^>]*>", "", text) for _, text in cells(finding(MASK))]
    assert drawn == ["■", "□✗", "□✗", "■", "■", "■", "■", "■"]
    assert finding(MASK).count('aria-label="False"') == 2


def test_a_picture_has_its_axes_and_is_a_table_for_those_who_listen() -> None:
    piece = finding(FOUND)
    assert piece.count("<caption") == 2
    for scope, name in (("colgroup", "key"), ("rowgroup", "query"), ("row", "0"), ("col", "1")):
        assert re.search(rf'<th scope="{scope}"[^>]*>{name}</th>', piece), scope
    assert "batch 1" in piece
    assert "attention.py, line 3: return &lt;script&gt;" in piece


def test_pages_are_written_for_the_whole_class(tmp_path: Path) -> None:
    whole = Integration(Status.FAILED, MASK)
    results = [
        SubmissionResult(name, 2, 6, (exercise(),), whole) for name in ("ada", "../" + SCRIPT)
    ]
    failed = ExerciseResult("attention", Status.GRADER_ERROR, None, 6, Finding("again"))
    results.append(SubmissionResult("carl", None, 6, (failed,)))
    index = html.write_pages(Report(7, "jail", tuple(results)), tmp_path / "pages")
    names = sorted(path.name for path in index.parent.iterdir())
    assert [names[0], *names[2:]] == ["0001-ada.html", "0003-carl.html", "index.html"]
    assert re.fullmatch(r"0002-[\w-]+\.html", names[1])
    text = index.read_text(encoding="utf-8")
    assert ">not graded</td>" in text
    assert text.count("<script>") == 1  # its own, see tests/report/test_class_summary.py
    assert "? of 6" in text
    assert "seed 7" in text
    page = (index.parent / "0001-ada.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert 'href="#attention"' in page
    assert "style=" not in page  # its stylesheet knows light, dark and paper
    assert page.count(MASK.headline) == 1
    assert "■" in page.partition("All of it together")[2]
    for wanted in ("prefers-color-scheme: dark", "@media print", "&lt;script&gt;"):
        assert wanted in page


@pytest.mark.full(seconds=3)
def test_a_page_is_no_wider_than_a_phone(tmp_path: Path) -> None:
    """Also with the widest grid there is."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    numbers = tuple(tuple(-1.23456e-7 * column for column in range(4)) for _ in range(5))
    marks = ((True,) * 4,) * 5
    names = [tuple(f"{axis} {100 + i}" for i in range(n)) for axis, n in (("d", 5), ("key", 4))]
    wide = Finding("All is wrong.", Grid(numbers, numbers[::-1], marks, names[0], names[1]))
    check = CheckResult("two", "Is right.", Status.FAILED, 0, 3, wide)
    result = ExerciseResult("attention", Status.FAILED, 0, 3, None, (check,))
    report = Report(7, "jail", (SubmissionResult("ada", 0, 3, (result,)),))
    write = html.write_pages(report, tmp_path)
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 400, "height": 800})
        for path in (write, tmp_path / "0001-ada.html"):
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 400
        browser.close()


def test_two_spaces_are_seen_as_two() -> None:
    """A message about `'two  spaces'` is of no use where a browser makes one of them."""
    result = finding(Finding("tokenize('two  spaces') is wrong.", None, "Is  it?"))
    assert "two  spaces" in result
    assert result.count("white-space:pre-wrap") == 2
