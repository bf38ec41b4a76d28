"""A disk that is full: a sentence and status 2, nothing half made, and what was there stays."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("resource")

import resource  # by which a disk is full here

from grader import cli
from grader.feedback.results import Report
from grader.report import overrides
from grader.report.data import write_json
from grader.watch.times import Times
from tests.report.test_store import RESULT

Ran = Callable[..., tuple[int, str]]


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file may become larger than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    """Runs a command of the grader's with so much room; gives its status and what it printed."""

    def run(size: int, *arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["grader", *arguments])
        with room(size), pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    return run


@pytest.mark.parametrize(
    ("command", "made"),
    [
        (["start", "work"], "work"),
        (["release", "edition"], "edition"),
        (["release", "edition", "--zip"], "edition.zip"),
        (["gradescope", "--zip", "a.zip"], "a.zip"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_nothing_half_made_is_left_of_what_is_given_to_others(
    command: list[str], made: str, tmp_path: Path, ran: Ran
) -> None:
    largest = 700_000 if made.endswith(".zip") else 5_000
    status, said = ran(largest, *command)
    assert status == 2
    assert "cannot be written: File too large" in " ".join(said.split())
    assert not [path for path in tmp_path.iterdir() if path.name != "edition"]
    assert (tmp_path / "edition").exists() == (made == "edition.zip")


def test_an_empty_folder_stays_an_empty_folder(tmp_path: Path, ran: Ran) -> None:
    (tmp_path / "work").mkdir()
    assert ran(5_000, "start", "work")[0] == 2
    assert list((tmp_path / "work").iterdir()) == []
    assert ran(1 << 30, "start", "work")[0] == 0


def test_an_autograder_that_is_there_stays(tmp_path: Path, ran: Ran) -> None:
    assert ran(1 << 30, "gradescope", "--zip", "a.zip")[0] == 0
    assert ran(500_000, "gradescope", "--zip", "a.zip", "--exercise", "masks")[0] == 2
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert "--exercise attention" in archive.read("run_autograder").decode()


def test_what_a_student_wrote_stays_where_it_was(tmp_path: Path, ran: Ran) -> None:
    (tmp_path / "exercises").mkdir()
    file = tmp_path / "exercises" / "masks.py"
    file.write_text("mine = 1\n", encoding="utf-8")
    status, said = ran(500, "reset", "masks")
    assert status == 2
    assert "It is unchanged." in " ".join(said.split())
    assert file.read_text(encoding="utf-8") == "mine = 1\n"
    assert list(file.parent.iterdir()) == [file]


def test_measured_times_are_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "times.json"
    Times(file, 0.0).work("masks", 60.0)
    with room(4):
        Times(file, 60.0).work("masks", 90.0)
    assert Times(file, 90.0).seconds == {"masks": 60.0}


def test_points_by_hand_count_where_only_they_could_be_written(tmp_path: Path, ran: Ran) -> None:
    grades = tmp_path / "grades.json"
    write_json(
        Report(7, "jail", tuple(replace(RESULT, submission=f"s{n}") for n in range(9))), grades
    )
    before = grades.read_bytes()
    words = ["grades.json", "s1", "attention", "the output", "2", "--note", "A slip."]
    status, said = ran(1_000, "override", *words)
    assert status == 2
    assert "The points are kept in grades.json.overrides" in " ".join(said.split())
    assert grades.read_bytes() == before
    assert overrides.read(overrides.path_of(grades))[0].points == 2
    assert ran(1 << 30, "override", *words)[0] == 0
    assert json.loads(grades.read_bytes()) != json.loads(before)


def test_an_exported_table_stays_as_it_was(tmp_path: Path) -> None:
    from grader.course.export import Checks, whole_file

    file = tmp_path / "checks.csv"
    file.write_text("old", encoding="utf-8")
    with room(4), pytest.raises(SystemExit), whole_file(Checks(), file) as table:
        table.write("new " * 9)
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("broken", "says", "status"),
    [
        ("grader.grading.run.run", "Grading stopped: [Errno 24] Too many open files", 3),
        ("grader.report.data.write", "The report could not be written: [Errno 24]", 2),
    ],
)
def test_grade_says_whether_the_run_or_the_report_went_wrong(
    tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch, broken: str, says: str, status: int
) -> None:
    def run(*_: object) -> Report:
        return Report(1, "process", (RESULT,))

    def fail(*_: object) -> Report:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("grader.grading.run.run", run)
    monkeypatch.setattr(broken, fail)
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "masks.py").write_text("")
    command = ("grade", "ada", "--isolation", "process", "--csv", "grades.csv")
    ended, printed = ran(1 << 30, *command)
    assert (ended, says in printed) == (status, True)
