"""A class of twenty-two through nbgrader as released: everybody gets the grade of their own code.

A third of the class is hostile or damaged. All goes through nbgrader's commands; the judge is the
one of `grader grade`, and the points are the same.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="nbgrader is not installed")

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from grader import submission
from grader.course import CONFIG, building, making
from grader.course.example_class import MEMBERS, Cells, Member, find, grade_id, hand_in
from grader.grading import workers
from grader.submission.cells import POINTS
from tests import ROOT
from tests.tools import warm

EXERCISES = ("masks", "attention", "positional", "layer_norm", "feed_forward")
FULL = 55.0


def _of_older_release(cells: Cells) -> Cells:
    kept = [cell for cell in cells if not grade_id(cell).endswith("-points")]
    for cell in kept:
        cell.metadata["nbgrader"] = {
            "grade_id": grade_id(cell),
            "schema_version": 1,
            "solution": True,
        }
    return kept


def _all_markdown(cells: Cells) -> Cells:
    return [new_markdown_cell(cell.source) for cell in cells]


def _copied_twice(cells: Cells) -> Cells:
    return [*cells, *(new_code_cell(c.source, metadata=c.metadata) for c in cells if grade_id(c))]


def _untagged(cells: Cells) -> Cells:
    return [new_code_cell(cell.source) for cell in cells if cell.cell_type == "code"]


def _full_memory(cells: Cells) -> Cells:
    cell = find(cells, "masks")
    cell.source = cell.source.replace("    return", "    x = [0] * 10**10\n    return", 1)
    return cells


def _waiting(cells: Cells) -> Cells:
    """As dora's loop that never ends, which `grader demo` grades; this takes no CPU time."""
    cell = find(cells, "attention")
    cell.source = (
        "import time\n\ndef attention(query, key, value, mask=None, dropout=None):\n"
        "    time.sleep(900)"
    )
    return cells


def _reading_the_judge(cells: Cells) -> Cells:
    find(cells, "attention").source = (
        "import gc, sys\n\ndef attention(query, key, value, mask=None, dropout=None):\n"
        "    import grader.checks.attention\n"
        "    return grader.checks.attention.expected(query, key, value)\n"
    )
    return cells


MORE = (
    Member("older", "an older release", _of_older_release),
    Member("markdown", "all cells turned into text", _all_markdown),
    Member("copied", "every cell twice", _copied_twice),
    Member("untagged", "code without any metadata", _untagged),
    Member("memory", "takes all memory", _full_memory),
    Member("peeking", "imports the checks", _reading_the_judge),
    Member("empty", "nothing at all", lambda _: []),
    Member("zero", "an empty file", lambda _: ""),
    Member("list", "JSON that is no notebook", lambda _: "[1, 2]"),
    Member("renamed", "right, in a file with another name", lambda cells: cells),
)
TWELVE = (
    replace(member, change=_waiting) if member.name == "dora" else member for member in MEMBERS
)
CLASS = (*TWELVE, *MORE)
RIGHT = ("ada", "lea", "fay", "hana", "ivo", "older", "copied", "untagged", "renamed")
SCORES = {
    **dict.fromkeys(RIGHT, FULL),
    **dict.fromkeys(("gus", "kurt", "markdown", "empty", "zero", "list"), 0.0),
    "dora": FULL - 15,
    "emil": FULL - 10,
    "carl": FULL - 10,
    "peeking": FULL - 15,
}


def isolation() -> str:
    return "jail" if shutil.which("bwrap") and sys.platform == "linux" else "process"


def nbgrader(course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run("-m", "nbgrader", *arguments, cwd=course, env=environment())


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "nbgrader", *arguments]


def environment() -> dict[str, str]:
    paths = [sysconfig.get_path("scripts"), os.environ["PATH"]]
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": os.pathsep.join(paths)}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course whose assignment is handed out, and nothing handed in."""
    folder = tmp_path_factory.mktemp("released") / "course"
    making.make(folder, "ps1", EXERCISES)
    with (folder / CONFIG).open("a") as file:
        file.write(f"c.Submitted.isolation = {isolation()!r}\nc.Submitted.seed = 7\n")
        file.write("c.Submitted.search = False\n")
    done = nbgrader(folder, "generate_assignment", "ps1")
    assert done.returncode == 0, done.stderr
    return folder


def copy_of(released: Path, folder: Path, members: tuple[Member, ...]) -> Path:
    """The course once more, with what these have handed in."""
    shutil.copytree(released, folder)
    hand_in(folder, "ps1", members)
    return folder


@pytest.fixture(scope="module")
def course(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole way through nbgrader's commands, each of which must succeed."""
    folder = copy_of(released, tmp_path_factory.mktemp("class") / "course", CLASS)
    downloaded = folder / "submitted" / "renamed" / "ps1" / "ps1.ipynb"
    downloaded.rename(downloaded.with_name("ps1 (1).ipynb"))
    for arguments in (
        ("autograde", "ps1"),
        ("generate_feedback", "ps1"),
        ("export", "--to=grades.csv"),
        ("export", "--exporter=grader.course.export.Checks", "--to=checks.csv"),
        ("export", "--exporter=grader.course.platforms.Canvas", "--to=canvas.csv"),
        ("export", "--exporter=grader.course.platforms.Moodle", "--to=moodle.csv"),
    ):
        done = nbgrader(folder, *arguments)
        assert done.returncode == 0, done.stderr[-4000:]
    return folder


def scores(course: Path, file: str = "grades.csv") -> dict[str, float]:
    with (course / file).open(newline="") as rows:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(rows)}


def test_everybody_has_the_grade_of_their_own_code(course: Path) -> None:
    result = scores(course)
    assert result.keys() == {member.name for member in CLASS}
    assert {name: result[name] for name in SCORES} == SCORES
    for partly in ("bela", "jana", "memory"):
        assert 0 < result[partly] < FULL


@pytest.mark.full(seconds=8)
def test_the_points_are_those_of_grader_grade(course: Path) -> None:
    names = ("bela", "copied", "gus", "kurt", "memory", "older", "peeking", "untagged")
    submitted = [work for work in submission.find(course / "submitted") if work.name in names]
    assert len(submitted) == len(names)
    plan = workers.Plan(EXERCISES, 7, isolation(), 2, search=False)
    direct = {result.submission: result.points for result in workers.grade(submitted, plan)}
    assert direct == {name: points for name, points in scores(course).items() if name in names}


def test_the_page_of_the_class_has_everybody_with_the_gradebooks_points(
    course: Path, tmp_path: Path
) -> None:
    done = warm.run("-m", "grader", "report", course, "--html", tmp_path, env=environment())
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Which mistakes were made" in page
    for name, points in SCORES.items():
        assert re.search(rf">{name}</a></th>.*?<strong>{points:g} of {FULL:g}</strong>", page, re.S)


def test_every_check_has_a_row(course: Path) -> None:
    with (course / "checks.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["student_id"] for row in rows} == {member.name for member in CLASS}
    assert {row["exercise"] for row in rows} == set(EXERCISES)
    result = scores(course)
    for name in ("ada", "bela", "dora", "gus"):
        own_rows = [
            row for row in rows if row["student_id"] == name and row["exercise"] == "attention"
        ]
        earned = sum(float(row["check_points"] or 0) for row in own_rows)
        assert earned == pytest.approx(float(own_rows[0]["score"]))
        assert result[name] >= earned
    assert any(row["mistakes"] == "scaled-by-d-k" for row in rows if row["student_id"] == "bela")


def test_canvas_and_moodle_get_the_same_points(course: Path) -> None:
    for file, column, first in (("canvas.csv", "SIS Login ID", 1), ("moodle.csv", "Username", 0)):
        with (course / file).open(newline="", encoding="utf-8") as opened:
            rows = list(csv.DictReader(opened))
        results = {row[column]: float(row["ps1"]) for row in rows[first:]}
        assert results == pytest.approx(scores(course), abs=1e-3)
    with (course / "canvas.csv").open(encoding="utf-8") as opened:
        assert opened.readlines()[1].startswith(f"    Points Possible,,,,,{FULL:g}")


class Tags(HTMLParser):
    """Gathers the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags_of(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(page)
    return parser.found


def test_no_script_of_a_student_is_in_the_feedback(course: Path) -> None:
    page = (course / "feedback" / "jana" / "ps1" / "ps1.html").read_text(encoding="utf-8")
    for tag, attributes in tags_of(page):
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        assert "javascript:" not in (attributes.get("href") or "")
        assert attributes.get("src") != "x"
        assert attributes.get("style") in (None, "max-width: 100%"), (tag, attributes)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_feedback_tells_why_and_never_how_it_was_found(course: Path) -> None:
    page = (course / "feedback" / "bela" / "ps1" / "ps1.html").read_text(encoding="utf-8")
    assert "divided by d_k, not by its square root" in page
    assert "yours</caption>" in page
    assert "Test cell" not in page
    for folder in ("feedback", "autograded"):
        for path in (course / folder).rglob("ps1.*"):
            text = path.read_text(encoding="utf-8")
            assert "grader.checks.cases" not in text
            assert "@check(points" not in text


def test_a_damaged_file_gets_a_verdict(course: Path) -> None:
    page = (course / "feedback" / "kurt" / "ps1" / "ps1.html").read_text(encoding="utf-8")
    assert "could not be read" in page


@pytest.mark.full(seconds=10)
def test_a_notebook_of_ones_own_is_graded_as_nbgrader_does(released: Path, tmp_path: Path) -> None:
    """An assignment that is not the kit's, and a test of the instructor's in the kit's."""
    course = copy_of(released, tmp_path / "course", ())
    path = building.source_path(course, "ps1")
    notebook = nbformat.read(path, as_version=4)
    tag = {"grade": True, "solution": False, "locked": True, "task": False, "schema_version": 3}
    jailed = f"import os\nassert os.path.exists({str(course)!r}) == {isolation() == 'process'}\n"
    own_test = new_code_cell(jailed + "assert padding_mask is not None")
    own_test.metadata["nbgrader"] = {**tag, "grade_id": "mine", "points": 3}
    notebook.cells.append(own_test)
    for cell in notebook.cells:
        if grade_id(cell) == "masks" + POINTS:
            cell.metadata["nbgrader"]["points"] = 20
    nbformat.write(notebook, path)
    other = course / "source" / "ps2" / "other.ipynb"
    other.parent.mkdir()
    test = new_code_cell("assert 1 + 1 == 2")
    test.metadata["nbgrader"] = {**tag, "grade_id": "sum", "points": 2}
    nbformat.write(nbformat.v4.new_notebook(cells=[test], metadata=notebook.metadata), other)
    for assignment in ("ps1", "ps2"):
        assert nbgrader(course, "generate_assignment", assignment, "--force").returncode == 0
    handed_out = (course / "release" / "ps1" / "ps1.ipynb").read_text(encoding="utf-8")
    for text in ("| masks | 20 |", "Exercise `masks`, 20 points", "| other questions | 3 |"):
        assert text in handed_out
    assert f"**{FULL + 13:g}**" in handed_out
    hand_in(course, "ps1", MEMBERS[:1])
    handed_in = course / "submitted" / "ada" / "ps2"
    handed_in.mkdir()
    shutil.copy(course / "release" / "ps2" / "other.ipynb", handed_in)
    paper = course / "submitted" / "pia" / "ps1" / "answer.pdf"
    paper.parent.mkdir(parents=True)
    paper.write_bytes(b"%PDF")
    errors_by_assignment = {}
    for assignment in ("ps1", "ps2"):
        done = nbgrader(course, "autograde", assignment)
        assert done.returncode == 0, done.stderr[-3000:]
        errors_by_assignment[assignment] = done.stderr
    assert "outside the jail" not in errors_by_assignment["ps1"]
    assert "holds no notebook (answer.pdf)" in errors_by_assignment["ps1"]
    assert (
        "other.ipynb runs in nbgrader's own kernel, outside the jail" in errors_by_assignment["ps2"]
    )
    reported = warm.run(
        "-m", "grader", "report", ".", "--assignment", "ps1", "--html", "class", cwd=course
    )
    assert "pia/ps1: there is no notebook: answer.pdf" in " ".join(reported.stdout.split())
    assert nbgrader(course, "export", "--assignment=['ps1']", "--to=1.csv").returncode == 0
    assert nbgrader(course, "export", "--assignment=['ps2']", "--to=2.csv").returncode == 0
    assert scores(course, "1.csv") == {"ada": FULL + 13, "pia": 0}
    assert scores(course, "2.csv") == {"ada": 2, "pia": 0}
    for assignment, name, says in (("ps1", "ps1", "Test: mine"), ("ps2", "other", "Test: sum")):
        assert nbgrader(course, "generate_feedback", assignment).returncode == 0
        page = course / "feedback" / "ada" / assignment / f"{name}.html"
        assert says in page.read_text(encoding="utf-8")
    page = course / "feedback" / "ada" / "ps1" / "ps1.html"
    assert "masks: 20 of 20 points" in page.read_text(encoding="utf-8")
    shutil.rmtree(paper.parents[1])
    grade = ["grade", str(course / "submitted"), "--isolation", isolation(), "--csv", "g.csv"]
    shutil.rmtree(course / "submitted" / "ada" / "ps2")
    done = warm.run("-m", "grader", *grade, cwd=course, env=environment())
    assert done.returncode == 0, done.stderr
    assert f"{FULL + 10:g} of {FULL + 10:g}" in done.stdout


def test_a_failure_of_the_grader_is_no_zero(released: Path, tmp_path: Path) -> None:
    course = copy_of(released, tmp_path / "course", MEMBERS[:1])
    with (course / CONFIG).open("a") as file:
        file.write("c.Submitted.isolation = 'nonsense'\n")
    done = nbgrader(course, "autograde", "ps1")
    assert done.returncode != 0
    assert "GraderFailureError" in done.stderr
    assert not (course / "autograded" / "ada").exists() or not any(
        (course / "autograded" / "ada").rglob("*.ipynb")
    )
    assert _rows(course, "select count(*) from grade where auto_score is not null") == [(0,)]


@pytest.mark.full(seconds=30)
@pytest.mark.parametrize("when", ["sanitized", "three, one of them half written"])
def test_a_run_that_was_killed_is_finished_by_the_next(
    released: Path, tmp_path: Path, when: str
) -> None:
    members = tuple(Member(f"s{i}", "right", lambda cells: cells) for i in range(4))
    course = copy_of(released, tmp_path / "course", members)
    with subprocess.Popen(
        command("autograde", "ps1"), cwd=course, env=environment(), stderr=subprocess.DEVNULL
    ) as process:
        wanted = 1 if when == "sanitized" else 3
        deadline = time.monotonic() + 900
        while len(list((course / "autograded").glob("*/ps1/ps1.ipynb"))) < wanted:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    if when != "sanitized":
        path = next((course / "autograded").glob("*/ps1/ps1.ipynb"))
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:100])
    done = nbgrader(course, "autograde", "ps1")
    assert done.returncode == 0, done.stderr[-3000:]
    assert nbgrader(course, "export", "--to=grades.csv").returncode == 0
    assert scores(course) == {member.name: FULL for member in members}
    assert _rows(course, "pragma integrity_check") == [("ok",)]
    assert _rows(course, "select count(*) from submitted_assignment") == [(4,)]
    assert _rows(course, "select count(*) from grade") == [(4 * len(EXERCISES),)]


def _rows(course: Path, query: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect(course / "gradebook.db")
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()
