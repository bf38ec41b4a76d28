"""Points by hand: they count wherever grades are read, and stay when a class is graded again."""

from __future__ import annotations

import csv
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import cli, curriculum
from grader.cli.app import UsageError
from grader.cli.grade import _complete
from grader.cli.kept import kept_report, with_overrides
from grader.cli.override import override as override_command
from grader.feedback.finding import Status
from grader.feedback.results import Report, SubmissionResult
from grader.report import overrides
from grader.report.data import write_json
from grader.report.overrides import Given
from grader.report.tables import as_csv, as_gradescope, cell
from grader.report.terminal import Terminal
from grader.submission import Submission
from tests.report.test_store import RESULT

BOB = replace(RESULT, submission="bob")
REPORT = Report(7, "jail", (RESULT, BOB))
GIVEN = Given("ada", "attention", "agrees", 2.5, "A slip of the grader's.")
Ran = Callable[..., tuple[int, str]]


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    file = tmp_path / "grades.json"
    write_json(REPORT, file)
    return file


@pytest.fixture
def ran(grades: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    """Runs a command of the grader's; gives its exit status and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(grades.parent)
        monkeypatch.setattr(sys, "argv", ["grader", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out + output.err

    return run


def override(ran: Ran, *more: str, check: str = "the output") -> tuple[int, str]:
    return ran("override", "grades.json", "ada", "attention", check, *more)


def points(grades: Path) -> dict[str, float | None]:
    return {item.submission: item.points for item in kept_report(grades).submissions}


def test_a_check_gets_the_points_that_are_given_with_the_note(grades: Path, ran: Ran) -> None:
    status, output = override(ran, "2.5", "--note", GIVEN.note)
    assert status == 0
    assert "Points by hand: 2.5 of 3, not 0. A slip of the grader's." in output
    assert "ada has 5.5 of 15 points" in output
    assert points(grades) == {"ada": 5.5, "bob": 3.0}
    assert overrides.read(overrides.path_of(grades)) == (GIVEN,)


def test_it_is_shown_in_table_pages_csv_and_json(grades: Path, ran: Ran) -> None:
    override(ran, "2.5", "--note", "=A slip <b>of</b> ours")
    status, output = ran("report", "grades.json", "--html", "pages", "--csv", "grades.csv")
    assert status == 0
    assert "5.5*" in output
    assert "* ada, attention, The output … Points by hand: 2.5 of 3, not 0." in output
    index = (grades.parent / "pages" / "index.html").read_text()
    page = (grades.parent / "pages" / "0001-ada.html").read_text()
    for shown in (index, page):
        assert "Points by hand: 2.5 of 3, not 0. =A slip &lt;b&gt;of" in shown
    assert "by hand" not in (grades.parent / "pages" / "0002-bob.html").read_text()
    ada, bob = csv.DictReader((grades.parent / "grades.csv").open(encoding="utf-8"))
    assert (ada["points"], ada["attention"], ada["attention.agrees"]) == ("5.5", "5.5", "2.5")
    assert ada["notes"].startswith("attention.agrees: Points by hand: 2.5 of 3")
    assert (bob["points"], bob["notes"]) == ("3.0", "")
    check = json.loads(grades.read_text())["submissions"][0]["exercises"][0]["checks"][1]
    assert check["override"] == {"graded": 0.0, "note": "=A slip <b>of</b> ours"}
    gradescope = as_gradescope(kept_report(grades).submissions[0])
    assert "Points by hand: 2.5 of 3" in gradescope


@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_no_exercise_hides_another_column_of_the_csv(grades: Path, ran: Ran, exercise: str) -> None:
    grades.write_text(grades.read_text("utf-8").replace('"attention"', f'"{exercise}"'), "utf-8")
    given = ran("override", "grades.json", "ada", exercise, "the output", "2.5", "--note", "n")
    assert given[0] == 0
    headings, ada, _ = csv.reader(as_csv(kept_report(grades)).splitlines())
    assert len(set(headings)) == len(headings)
    row = dict(zip(headings, ada, strict=True))
    assert (row["submission"], row["points"], row[exercise]) == ("ada", "5.5", "5.5")
    assert row["notes"] == f"{exercise}.agrees: Points by hand: 2.5 of 3, not 0. n"


@pytest.mark.parametrize("name", ["=1+1", " =1+1", "＋1", "ada;=1+1", "ada; @SUM(1)"])
def test_no_name_is_a_formula_whatever_separates_the_cells(name: str) -> None:
    assert not any(part.lstrip().startswith(("=", "＋", "@")) for part in cell(name).split(";"))
    assert cell("van der Berg-Li; ada") == "van der Berg-Li; ada"


def test_no_heading_of_kept_grades_is_a_formula(grades: Path) -> None:
    whole = json.loads(grades.read_text(encoding="utf-8"))
    whole["submissions"][0]["exercises"][0]["exercise"] = "=1+1"
    grades.write_text(json.dumps(whole), encoding="utf-8")
    headings, *rows = csv.reader(as_csv(kept_report(grades)).splitlines())
    assert "'=1+1" in headings
    assert not any(one.startswith("=") for one in headings)
    assert {len(row) for row in rows} == {len(headings)}


def test_a_second_one_replaces_the_first_and_it_can_be_taken_back(grades: Path, ran: Ran) -> None:
    before = grades.read_bytes()
    for given in ("1", "3", "2"):
        assert override(ran, given, "--note", "why")[0] == 0
    assert "2 of 3, not 0" in ran("report", "grades.json")[1]
    assert points(grades)["ada"] == 5.0
    assert override(ran, "--remove")[0] == 0
    assert grades.read_bytes() == before
    assert override(ran, "--remove") == (2, "The output … has no points by hand.\n")


def test_of_several_at_the_same_time_none_is_lost(
    grades: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"student {number}" for number in range(4)]
    write = overrides.write

    def write_late(file: Path, given: Iterable[Given]) -> None:
        time.sleep(0.2)
        write(file, given)

    monkeypatch.setattr(overrides, "write", write_late)
    write_json(Report(7, "jail", tuple(replace(RESULT, submission=name) for name in names)), grades)
    context = multiprocessing.get_context("fork")
    givers = [context.Process(target=give, args=(grades, name)) for name in names]
    for giver in givers:
        giver.start()
    for giver in givers:
        giver.join()
    assert {given.submission for given in overrides.read(overrides.path_of(grades))} == set(names)
    assert set(points(grades).values()) == {5.5}
    assert len(list(grades.parent.iterdir())) == 2, "the lock is left"


def give(grades: Path, name: str) -> None:
    override_command(grades, name, "attention", "agrees", 2.5, "why")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("Ada", "attention", "output"), "There is no submission 'Ada'. Near it: ada."),
        (("zoe", "attention", "output"), "There is no submission 'zoe'. There are: ada, bob."),
        (("ada", "atention", "output"), "Near it: attention."),
        (("ada", "attention", "the"), "'the' fits several checks of attention. There are:\n"),
        (("ada", "attention", "agres"), "  agrees: The output … (0 of 3)\n"),
        (("ada", "attention", ""), "'' fits no check of attention"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_the_near_ones(
    ran: Ran, grades: Path, names: tuple[str, ...], says: str
) -> None:
    before = grades.read_bytes()
    status, output = ran("override", "grades.json", *names, "1", "--note", "why")
    assert status == 2
    assert says in output
    assert grades.read_bytes() == before
    assert not overrides.path_of(grades).exists()


@pytest.mark.parametrize(
    "more",
    [
        ("3.5", "--note", "why"),
        ("nan", "--note", "why"),
        ("inf", "--note", "why"),
        ("2",),
        ("2", "--note", "  "),
        ("2", "--note", "n" * 501),
        ("2", "--note", "why", "--remove"),
        (),
    ],
)
def test_points_that_a_check_cannot_have_and_no_reason_are_refused(
    ran: Ran, grades: Path, more: tuple[str, ...]
) -> None:
    assert override(ran, *more)[0] == 2
    assert points(grades)["ada"] == 3.0


def test_the_name_is_looked_at_before_a_note_is_asked_for(ran: Ran) -> None:
    status, output = ran("override", "grades.json", "adda", "attention", "the output", "1")
    assert (status, "Near it: ada" in output) == (2, True)


def regraded(grades: Path, *results: SubmissionResult) -> Report:
    """What is reported when the class is graded again beside the same overrides."""
    return with_overrides(replace(REPORT, submissions=results), grades, Terminal())


def test_it_stays_when_the_class_is_graded_again(
    grades: Path, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    override(ran, "2.5", "--note", "why")
    once = regraded(grades, RESULT, BOB)
    assert [result.points for result in once.submissions] == [5.5, 3.0]
    assert regraded(grades, *once.submissions) == once, "again is not twice"
    assert ",2.5," in as_csv(once)
    capsys.readouterr()
    (alone,) = regraded(grades, BOB).submissions
    assert alone == BOB
    output = capsys.readouterr().err
    assert output == (
        "Points by hand that fit nothing here: ada, attention, agrees, 2.5 points (why)\n"
    )


def test_what_could_not_be_graded_has_none(grades: Path, ran: Ran) -> None:
    override(ran, "2.5", "--note", "why")
    (exercise,) = RESULT.exercises
    lost = replace(exercise, status=Status.GRADER_ERROR, points=None, checks=())
    failed = replace(RESULT, points=None, exercises=(lost,))
    assert regraded(grades, failed).submissions == (failed,)
    write_json(Report(7, "jail", (failed,)), grades)
    assert "Grade it again first" in override(ran, "2", "--note", "why")[1]


DAMAGES: dict[str, Any] = {
    "no JSON": "{",
    "a list": "[]",
    "other fields": '{"overrides": [{"who": "ada"}]}',
    "no number": '{"overrides": [NaN]}',
    "endless points": json.dumps({"overrides": [vars(GIVEN) | {"points": 10**300}]}),
    "a text for points": json.dumps({"overrides": [vars(GIVEN) | {"points": "3"}]}),
}


@pytest.mark.parametrize("text", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_told_before_anything_is_written(
    grades: Path, ran: Ran, text: str
) -> None:
    file = overrides.path_of(grades)
    file.write_text(text)
    for command in (
        ("report", "grades.json"),
        ("override", "grades.json", "ada", "attention", "the output", "1", "--note", "why"),
    ):
        status, output = ran(*command)
        assert status == 2
        assert output.startswith(f"{file.name} cannot be read")
    assert file.read_text() == text


def test_of_a_complete_run_nobody_is_left_out(grades: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no grades of zoe\. Run the same command without"):
        _complete(grades, [Submission("ada"), Submission("zoe")])
    assert _complete(grades, [Submission("ada"), Submission("bob")]) == REPORT
