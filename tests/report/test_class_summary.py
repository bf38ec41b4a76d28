"""What the page of a class says: who made which mistake, who is stuck, who wrote alike."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.curriculum import stubs
from grader.feedback.finding import Finding, Place, Status
from grader.feedback.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Report,
    SubmissionResult,
    report_from,
)
from grader.report import html
from grader.report.class_summary import summarise
from grader.report.data import write_json
from grader.submission.structure import structure
from tests import DATA

ANSWER = stubs.solution("multi_head")


def a_result(name: str, *exercises: ExerciseResult) -> SubmissionResult:
    total = sum(exercise.points or 0.0 for exercise in exercises)
    return SubmissionResult(name, total, sum(graded.max_points for graded in exercises), exercises)


def failed(says: str, line: int = 1, mistake: str = "") -> ExerciseResult:
    finding = Finding(says, places=(Place("masks.py", line, "return x"),))
    check = CheckResult("hides", "Padding is hidden.", Status.FAILED, 0.0, 6.0, finding)
    named = (Diagnosis((mistake,), f"You did {mistake}.\nWhy?"),) if mistake else ()
    return ExerciseResult("masks", Status.FAILED, 4.0, 10.0, None, (check,), named)


RIGHT = ExerciseResult("masks", Status.PASSED, 10.0, 10.0)
TODO = ExerciseResult("masks", Status.TODO, 0.0, 10.0)
DEAD = ExerciseResult("masks", Status.DIED, 0.0, 10.0, Finding("It ended."))
CLASS = (
    a_result("ada", RIGHT),
    a_result("bo", failed("All shifted.", mistake="shifted")),
    a_result("cy", failed("All shifted.", mistake="shifted")),
    a_result("dee", failed("Two are wrong.", line=3)),
    a_result("eve", failed("Two are wrong.", line=9)),
    a_result("fay", failed("Three are wrong.")),
    a_result("gil", TODO),
    a_result("hal", DEAD),
)


def test_points_mistakes_and_who_is_stuck_are_counted() -> None:
    result = summarise(CLASS)
    assert [item.count for item in result.bins] == [2, 0, 0, 0, 5, 0, 0, 0, 0, 1]
    (shifted,) = result.misconceptions
    assert (shifted.mistakes, shifted.tells, shifted.students) == (
        ("shifted",),
        "You did shifted.",
        (1, 2),
    )
    (masks,) = result.stuck
    assert (masks.right, masks.partly, masks.wrong, masks.not_begun, masks.students) == (
        1,
        5,
        1,
        1,
        (7,),
    )


def test_failures_without_a_name_are_together_if_they_fail_alike_wherever_the_line_is() -> None:
    groups = {item.students: item.finding for item in summarise(CLASS).unnamed}
    assert set(groups) == {(3, 4), (5,), (7,)}
    assert groups[3, 4] is not None
    assert groups[3, 4].headline == "Two are wrong."


def renamed(source: str) -> str:
    for name in ("batch", "length", "d_model", "heads", "query", "weights"):
        source = re.sub(rf"\b{name}\b", f"{name}_of_mine", source)
    return re.sub(r"\n\n+", "\n    # a remark\n", source)


def test_structure_stays_when_names_comments_and_layout_change() -> None:
    own = structure("multi_head", ANSWER)
    assert own
    shared = set(own) & set(structure("multi_head", renamed(ANSWER)))
    assert len(shared) > 0.8 * len(own)


def test_what_was_handed_out_is_no_structure_of_anybody() -> None:
    assert structure("multi_head", stubs.stub(ANSWER, "multi_head")) == ()


@pytest.mark.full
@pytest.mark.parametrize("text", ['"""' * 300_000, "'" * 900_000, "a." * 450_000, "\\" * 900_000])
def test_a_hostile_text_takes_no_more_time_than_another(text: str) -> None:
    assert len(structure("masks", text)) <= 400


def with_code(name: str, code: str) -> SubmissionResult:
    return a_result(
        name, replace(RIGHT, exercise="multi_head", structure=structure("multi_head", code))
    )


def test_a_copy_under_other_names_is_found_and_honest_answers_are_not() -> None:
    folder = DATA / "variants" / "multi_head"
    honest = [with_code(file.stem, file.read_text("utf-8")) for file in sorted(folder.glob("*.py"))]
    assert len(honest) > 5
    assert not summarise(honest).alike
    copied = honest[2].submission
    code = (folder / f"{copied}.py").read_text("utf-8")
    pairs = summarise([*honest, with_code("copy", renamed(code))]).alike
    assert [(item.left, item.right) for item in pairs] == [(2, len(honest))]


def test_the_page_is_made_of_a_kept_report(tmp_path: Path) -> None:
    write_json(Report(7, "jail", CLASS), tmp_path / "grades.json")
    kept = report_from(json.loads((tmp_path / "grades.json").read_text("utf-8")))
    page = html.write_pages(kept, tmp_path / "pages").read_text("utf-8")
    for text in ("You did shifted.", "Who is stuck where", "Two are wrong.", "0002-bo.html#masks"):
        assert text in page
    with pytest.raises(ValueError, match="a report"):
        report_from({"something": "else"})


def test_what_is_said_of_a_whole_notebook_is_in_one_box() -> None:
    damaged = Finding("The notebook could not be read.")
    names = ("masks", "attention", "layer_norm")
    results = (ExerciseResult(name, Status.ERROR, 0.0, 10.0, damaged) for name in names)
    (only,) = summarise([a_result("ada", RIGHT), a_result("bo", *results)]).unnamed
    assert (only.exercises, only.students) == (names, (1,))


def test_wrong_answers_that_differ_in_names_only_are_together() -> None:
    wrong = ANSWER.replace("transpose(1, 2)", "transpose(1, 3)", 1)
    renamed = re.sub(r"\bmodel\b", "value", re.sub(r"\bheads\b", "parts", wrong))
    other = "class MultiHeadAttention:\n    def forward(self, q, k, v):\n        return q + k @ v\n"
    sources = (wrong, renamed, other)
    made = [
        a_result(
            name,
            replace(failed("All of it is wrong."), structure=structure("multi_head", source)),
        )
        for name, source in zip(("ada", "bo", "cy"), sources, strict=True)
    ]
    (twins,) = summarise(made).twins
    assert (twins.students, twins.says) == ((0, 1), "All of it is wrong.")


def test_remarks_are_listed_with_whom_they_concern() -> None:
    odd = replace(RIGHT, remarks=("masks.py, line 3: calls aten::fft_fft",))
    (first,) = summarise(
        [a_result("ada", odd), a_result("bo", RIGHT), a_result("cy", odd)]
    ).remarked
    assert first.students == (0, 2)


def test_the_only_script_of_the_page_is_its_own(tmp_path: Path) -> None:
    hostile = a_result("</script><script>alert(1)</script>", RIGHT)
    page = html.write_pages(Report(1, "jail", (hostile, *CLASS)), tmp_path).read_text("utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'\"" in page
    assert "script" not in (tmp_path / "0002-ada.html").read_text("utf-8")


def test_a_page_says_first_what_to_fix_first(tmp_path: Path) -> None:
    html.write_pages(Report(1, "jail", CLASS), tmp_path)
    pages = {page.stem[5:]: page.read_text("utf-8") for page in tmp_path.glob("0*.html")}
    start, _, rest = pages["bo"].partition('Fix first: <a href="#masks">masks</a>')
    assert "All shifted." not in start
    assert rest.index("You did shifted.") < rest.index("All shifted.")
    assert "Two are wrong." in pages["dee"].partition("Fix first")[2]
    assert all("Fix first" not in pages[name] for name in ("ada", "gil"))
