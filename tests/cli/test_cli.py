"""`grader` as an instructor types it. One class is graded by a new interpreter."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.cli.kept import kept_report
from grader.curriculum import mistakes, stubs
from grader.curriculum.mistakes import variants
from grader.curriculum.project import SOLUTIONS
from grader.grading import run, workers
from grader.sandbox import jail
from grader.submission import left_out
from tests.tools import warm
from tests.tools.command import Grader
from tests.tools.jailed import PROBLEMS

CHEAP = ("masks", "attention")
Graded = tuple[subprocess.CompletedProcess[str], dict[str, Any], list[dict[str, str]]]


def hand_in(folder: Path, name: str, **sources: str) -> None:
    (folder / name).mkdir(parents=True)
    for exercise, source in sources.items():
        (folder / name / f"{exercise}.py").write_text(source, encoding="utf-8")


def right(exercise: str) -> str:
    return stubs.reference_source(exercise)


def wrong(exercise: str) -> str:
    return mistakes.load(exercise)[0].apply(right(exercise))


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class that does everything but hand in a right answer to everything."""
    folder = tmp_path_factory.mktemp("class")
    hand_in(folder, "ada", masks=right("masks"), attention=right("attention"))
    (folder / "ada" / "draft.ipynb").write_text("{}")
    hand_in(folder, "bela", masks=right("masks"), attention=wrong("attention"))
    stub = stubs.stub(stubs.solution("attention"), "attention")
    hand_in(folder, "carl", attention=stub)
    sleeps, ends = "import time\ntime.sleep(900)", "import os\nos._exit(0)"
    hand_in(folder, "dora", masks=sleeps, attention=ends)
    hand_in(folder, "emil", masks="def padding_mask(:", attention="import sys\nsys.exit()")
    hand_in(folder, "=1+1", attention='def attention(*a):\n    raise ValueError("[red]\\x1b[31m")')
    (folder / "fred").mkdir()
    (folder / "fred" / "masks.py").write_bytes(b"\xff\xfe\x00")
    (folder / "gina").mkdir()
    (folder / ("h" * 200)).mkdir()
    return folder


@pytest.fixture(scope="module")
def graded(classroom: Path, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    out = tmp_path_factory.mktemp("out")
    options = ["--seed", "7", "--isolation", "process", "--jobs", "2"]
    options += [word for name in CHEAP for word in ("--exercise", name)]
    files = ["--json", str(out / "grades.json"), "--csv", str(out / "grades.csv")]
    command = [sys.executable, "-m", "grader", "grade", str(classroom), *options, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads((out / "grades.json").read_text(encoding="utf-8"))
    with (out / "grades.csv").open(newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert (
        list(out.iterdir()) == [out / "grades.csv", out / "grades.json"]
        or len(list(out.iterdir())) == 2
    ), "nothing is left beside the reports"
    return done, report, rows


def statuses(report: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {
        result["submission"]: tuple(exercise["status"] for exercise in result["exercises"])
        for result in report["submissions"]
    }


def test_no_command_waits_for_what_it_may_not_use() -> None:
    """Every command starts by importing all of them, and what draws, reads or runs waits."""
    slow = {"hypothesis", "jinja2", "matplotlib", "nbformat", "nbgrader", "numpy", "torch"}
    code = f"import sys, grader.cli; print({slow} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n", done.stderr


def test_everything_that_people_hand_in_gets_a_verdict(
    graded: Graded,
) -> None:
    _, report, _ = graded
    assert statuses(report) == {
        "=1+1": ("missing", "error"),
        "ada": ("passed", "passed"),
        "bela": ("passed", "failed"),
        "carl": ("missing", "todo"),
        "dora": ("timeout", "died"),
        "emil": ("error", "error"),
        "fred": ("error", "missing"),
        "gina": ("missing", "missing"),
        "h" * 200: ("missing", "missing"),
    }


def test_work_that_is_passed_over_is_in_the_output_the_report_and_the_exit_status(
    graded: Graded,
) -> None:
    done, report, _ = graded
    assert done.returncode == 3
    error_lines = [line for line in done.stderr.splitlines() if not line.startswith("graded ")]
    assert error_lines == ["Something that looks like work was not graded; see above."]
    assert "ada: draft.ipynb: other files there are graded" in done.stdout
    assert report["passed_over"] == [
        {"submission": "", "path": "gina", "reason": "the submission is empty", "work": False},
        {"submission": "", "path": "h" * 200, "reason": "the submission is empty", "work": False},
        {
            "submission": "ada",
            "path": "draft.ipynb",
            "reason": "other files there are graded",
            "work": True,
        },
    ]
    assert f"  gina, {'h' * 200}: the submission is empty" in done.stdout
    assert "fred, masks: masks.py could not be read: it is not UTF-8 text." in done.stdout
    assert "emil, masks: " in done.stdout


def test_the_kits_own_solutions_are_a_submission(grader: Grader) -> None:
    options = ("--exercise", "multi_head", "--isolation", "process", "--seed", "7")
    done = grader("grade", str(SOLUTIONS), *options)
    assert "15 of 15 points" in done.stdout, done.stdout


@pytest.mark.full(seconds=3)
def test_work_on_exercises_that_are_not_graded_is_told_with_the_command(
    grader: Grader, tmp_path: Path
) -> None:
    hand_in(tmp_path, "bob", masks=right("masks"), sampling=right("sampling"))
    (tmp_path / "bob" / "linear.py").write_text(stubs.as_handed_out("linear"), encoding="utf-8")
    solved = f"{left_out.PROVIDED}\n{right('tokens')}"
    (tmp_path / "bob" / "tokens.py").write_text(solved, encoding="utf-8")
    options = ("--isolation", "process", "--json", "bob.json", "--html", "pages")
    done = grader("grade", "bob", "--one", "--exercise", "masks", *options, cwd=tmp_path)
    assert done.returncode == 0, "the exercises were chosen"
    assert "bob: sampling.py: this run does not grade that exercise" in done.stdout
    assert "\n  grader grade bob --exercise sampling --one --isolation process\n" in done.stdout
    (passed,) = json.loads((tmp_path / "bob.json").read_text(encoding="utf-8"))["passed_over"]
    assert (passed["submission"], passed["path"], passed["work"]) == ("bob", "sampling.py", False)
    (page,) = (tmp_path / "pages").glob("0001-*.html")
    assert "sampling.py: this run does not grade that exercise" in page.read_text(encoding="utf-8")


def test_what_cannot_be_read_is_told_below_the_table(grader: Grader, tmp_path: Path) -> None:
    hand_in(tmp_path, "ada")
    (tmp_path / "ada" / "notes.txt").write_text("?")
    hand_in(tmp_path, "nia")
    for name in ("a.zip", "b.zip"):
        (tmp_path / "nia" / name).write_bytes(b"")
    (tmp_path / "eve.zip").write_text("no archive")
    options = ("--exercise", "masks", "--isolation", "process", "--json", "g.json", "--class")
    done = grader("grade", ".", *options, cwd=tmp_path)
    assert done.returncode == 3
    expected = [
        "  nia: There are 2 archives, a.zip and b.zip: submit one.",
        "  ada: no file of an exercise; what was submitted: notes.txt",
    ]
    for out in (done.stdout, grader("report", "g.json", cwd=tmp_path).stdout):
        assert [line for line in expected if line not in out.splitlines()] == []
        assert "  eve: eve.zip could not be read: it is" in out
        assert "Could not be read or run" not in out, "each reason appears once"


def test_a_few_archives_read_as_a_class_are_told_with_the_other_command(
    grader: Grader, tmp_path: Path
) -> None:
    hand_in(tmp_path, "nia")
    for name in ("a.zip", "b.zip"):
        (tmp_path / "nia" / name).write_bytes(b"")
    done = grader("grade", "nia", "--exercise", "masks", "--isolation", "process", cwd=tmp_path)
    assert "nia is read as a class of 2: a, b." in done.stderr
    assert "grader grade nia --one" in done.stderr


def test_other_commands_say_what_to_do_next(grader: Grader, tmp_path: Path) -> None:
    pytest.importorskip("nbgrader")
    hand_in(tmp_path, "class")
    course = grader("course", "my-course", "--exercise", "atention", cwd=tmp_path)
    assert (course.returncode, "Did you mean attention?" in course.stderr) == (2, True)
    report = grader("report", "class", cwd=tmp_path)
    assert (report.returncode, "grader grade class --json" in report.stderr) == (2, True)


def test_grades_that_a_run_would_lose_are_kept(grader: Grader, tmp_path: Path) -> None:
    for name in ("ada", "bob"):
        hand_in(tmp_path / "class", name, masks=right("masks"))
    options = ("--exercise", "masks", "--isolation", "process", "--json", "g.json")
    assert grader("grade", "class", *options, cwd=tmp_path).returncode == 0
    before = (tmp_path / "g.json").read_bytes()
    one = grader("grade", "class/bob", *options, cwd=tmp_path)
    assert one.returncode == 0
    assert "g.json held the grades of ada, whom this run does not grade" in one.stderr
    assert "It is kept as g-1.json." in one.stderr
    assert (tmp_path / "g-1.json").read_bytes() == before
    other = grader("grade", "class/bob", "--exercise", "attention", *options[2:], cwd=tmp_path)
    assert "g.json held grades in masks, which this run does not grade" in other.stderr
    assert (tmp_path / "g-2.json").is_file()
    (tmp_path / "g.json").write_text("points: 7")
    assert "g-3.json" in grader("grade", "class", *options, cwd=tmp_path).stderr
    assert (tmp_path / "g-3.json").read_text() == "points: 7"
    again = grader("grade", "class", *options, cwd=tmp_path)
    assert (again.returncode, "is kept as" in again.stderr) == (0, False), "the same anew"


def test_grades_of_students_who_are_gone_when_a_run_is_resumed_are_kept(
    grader: Grader, tmp_path: Path
) -> None:
    for name in ("ada", "bob"):
        hand_in(tmp_path / "class", name, masks=right("masks"))
    options = ("--exercise", "masks", "--isolation", "process", "--json", "g.json")
    assert grader("grade", "class/ada", *options, cwd=tmp_path).returncode == 0
    (ada,) = kept_report(tmp_path / "g.json").submissions
    (tmp_path / "g.json").unlink()
    plan = workers.Plan(("masks",), seed=7, isolation="process", jobs=1, search=True)
    store, _ = run.open_store(tmp_path / "g.json", plan, resume=False)
    with store:
        store.add("the digest of ada's files", ada)
    shutil.rmtree(tmp_path / "class" / "ada")

    done = grader("grade", "class", *options, "--resume", cwd=tmp_path)
    assert done.returncode == 0
    assert "not among the submissions now: ada" in done.stderr
    assert "kept in g-1.json" in done.stderr
    assert kept_report(tmp_path / "g-1.json").submissions == (ada,)
    assert [one.submission for one in kept_report(tmp_path / "g.json").submissions] == ["bob"]


def test_points_by_hand_that_a_student_hands_in_do_not_count(
    grader: Grader, tmp_path: Path
) -> None:
    hand_in(tmp_path / "class", "ada", masks=wrong("masks"))
    planted = tmp_path / "class" / "ada" / "g.json.overrides"
    planted.write_text('{"overrides": []}')
    options = ("--exercise", "masks", "--isolation", "process", "--json", "class/ada/g.json")
    done = grader("grade", "class/ada", *options, cwd=tmp_path)
    assert (done.returncode, "may be the student's" in done.stderr) == (2, True)
    planted.rename(tmp_path / "class" / "g.json.overrides")
    beside = grader("grade", "class", *options[:-1], "class/g.json", cwd=tmp_path)
    assert beside.returncode == 0, beside.stderr


def test_a_class_or_one_submission_is_asked_with_both_commands(
    grader: Grader, tmp_path: Path
) -> None:
    hand_in(tmp_path, "ada", attention=right("attention"))
    hand_in(tmp_path, "exercises", attention=right("attention"))
    done = grader("grade", ".", "--isolation", "process", cwd=tmp_path)
    assert done.returncode == 2
    assert "one student's submission (exercises/attention.py)" in done.stderr
    assert "as a class (ada)" in done.stderr
    assert "grader grade . --class, or grader grade . --one" in done.stderr
    both = grader("grade", ".", "--class", "--one", cwd=tmp_path)
    assert both.returncode == 2


def test_a_file_under_another_name_is_graded_if_that_is_asked_for(
    grader: Grader, tmp_path: Path
) -> None:
    hand_in(tmp_path, "ada")
    (tmp_path / "ada" / "Attention.py").write_text(right("attention"), encoding="utf-8")
    (tmp_path / "grades.csv").write_text("")
    command = ["grade", ".", "--exercise", "attention", "--isolation", "process", "--class"]
    done = grader(*command, cwd=tmp_path)
    assert done.returncode == 3
    assert "There is no file attention.py. Attention.py seems to be it" in done.stdout
    assert "ada: Attention.py: it seems to be attention.py; rename it" in done.stdout
    guessed = grader(*command, "--guess-names", "--json", "a.json", "--html", "html", cwd=tmp_path)
    assert guessed.returncode == 0, guessed.stderr
    assert "Attention.py was graded as attention.py (--guess-names)." in guessed.stdout
    report = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    (exercise,) = report["submissions"][0]["exercises"]
    assert (exercise["status"], exercise["points"]) == ("passed", 15)
    assert exercise["remarks"][0].startswith("Attention.py was graded as attention.py")
    assert [entry["path"] for entry in report["passed_over"]] == ["grades.csv"]
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert "grades.csv" in page
    again = grader("report", "a.json", "--html", "again", cwd=tmp_path)
    assert "grades.csv: not a folder, a notebook or an archive" in again.stdout


def test_the_json_is_schema_1(
    graded: Graded,
) -> None:
    _, report, _ = graded
    assert {name: report[name] for name in ("schema", "seed", "isolation")} == {
        "schema": 1,
        "seed": 7,
        "isolation": "process",
    }
    bela = next(result for result in report["submissions"] if result["submission"] == "bela")
    assert bela["max_points"] == 25
    assert 10 <= bela["points"] < 25
    attention = bela["exercises"][1]
    assert attention["exercise"] == "attention"
    assert attention["points"] == sum(check["points"] for check in attention["checks"])
    for check in attention["checks"]:
        assert {*check} == {
            *("check", "title", "status", "points", "max_points", "message", "finding", "override")
        }
        assert (check["status"] == "passed") == (check["message"] == "")
        assert (check["status"] == "passed") == (check["finding"] is None)
        if check["finding"]:
            assert check["message"].startswith(check["finding"]["headline"])


def test_a_known_mistake_is_named(
    graded: Graded,
) -> None:
    _, report, _ = graded
    bela = next(result for result in report["submissions"] if result["submission"] == "bela")
    made = mistakes.load("attention")[0]
    (diagnosis,) = bela["exercises"][1]["diagnoses"]
    assert made.name in diagnosis["mistakes"]
    assert made.tells in diagnosis["message"]
    assert made.asks in diagnosis["message"]


def test_the_table_has_a_row_a_student_and_a_column_a_check(
    graded: Graded,
) -> None:
    _, report, rows = graded
    assert [row["submission"] for row in rows][:2] == ["'=1+1", "ada"]
    assert rows[1]["points"] == "25"
    assert rows[1]["attention.agrees_with_torch"] == "3"
    assert len(rows) == len(report["submissions"])


def test_the_terminal_shows_students_words_as_they_are_and_no_colour_in_a_pipe(
    grader: Grader,
    graded: Graded,
    classroom: Path,
) -> None:
    done, _, _ = graded
    assert "\x1b" not in done.stdout
    table, _, _ = done.stdout.partition("\n1 of ")  # below it come the commonest mistakes
    assert max(map(len, table.splitlines())) < 120  # however long a student's name
    options = ("--exercise", "attention", "--isolation", "process", "--seed", "1")
    only = grader("grade", classroom / "=1+1", *options)
    assert "[red]" in only.stdout
    assert "\x1b" not in only.stdout
    assert "attention.py, line 2" in only.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "no such file or folder"),
        (["."], "no submission here"),
        ([".", "--exercise", "atention"], "no submission here"),
        (["ada", "--exercise", "atention"], "There are: tokens, linear, softmax"),
        (["ada", "ada"], "Two submissions are called 'ada'"),
        (["ada", "--resume"], "--resume needs the --json FILE"),
        (["ada", "--json", "no/where.json"], "no folder"),
        (["ada", "--json", "ada"], "ada is a folder. Name a file, such as ada/grades.json."),
        (["ada", "--csv", "ada"], "ada is a folder. Name a file, such as ada/grades.csv."),
        (["ada", "--csv", "g", "--json", "g"], "g is named twice"),
        (["ada", "--html", "ada/attention.py"], "ada/attention.py is a file. Name a folder"),
        (
            ["ada", "--exercise", "attention,masks"],
            "One exercise for each option: --exercise attention --exercise masks",
        ),
        (["ada", "--seed", "-1"], "seed"),
    ],
)
def test_a_wrong_command_says_what_to_do(
    grader: Grader, tmp_path: Path, arguments: list[str], says: str
) -> None:
    if "ada" in arguments:
        hand_in(tmp_path, "ada", attention=right("attention"))
    done = grader("grade", *arguments, "--isolation", "process", cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_finished_run_is_not_graded_again(grader: Grader, tmp_path: Path) -> None:
    hand_in(tmp_path, "ada", attention=right("attention"))
    command = ["ada", "--exercise", "attention", "--isolation", "process", "--json", "ada.json"]
    assert grader("grade", *command, cwd=tmp_path).returncode == 0
    before = (tmp_path / "ada.json").read_bytes()
    done = grader("grade", *command, "--resume", cwd=tmp_path)
    assert done.returncode == 0
    assert "nothing is left to grade" in done.stderr
    assert (tmp_path / "ada.json").read_bytes() == before


def test_gradescope_gets_its_results(grader: Grader, classroom: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    done = grader(
        "grade", classroom / "bela", "--exercise", "attention", "--isolation", "process",
        "--gradescope", results,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(results.read_text(encoding="utf-8"))
    assert result["score"] == sum(test["score"] for test in result["tests"]) < 15
    assert sum(test["max_score"] for test in result["tests"]) == 15
    assert {test["status"] for test in result["tests"]} == {"passed", "failed"}


def test_on_gradescope_the_student_reads_what_is_not_graded(grader: Grader, tmp_path: Path) -> None:
    hand_in(tmp_path, "ada", attention=right("attention"))
    (tmp_path / "ada" / "work.zip").write_bytes(b"")
    done = grader(
        "grade", "ada", "--one", "--exercise", "attention", "--isolation", "process",
        "--gradescope", "results.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, "with another status Gradescope would have no grade"
    result = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert result["output"] == "Not graded: work.zip: other files there are graded"


@pytest.mark.full(seconds=5)
def test_the_same_seed_gives_the_same_report(classroom: Path, tmp_path: Path) -> None:
    reports = []
    for name in ("first.json", "second.json"):
        warm.run(
            "-m", "grader", "grade", classroom / "bela", "--exercise", "attention",
            "--isolation", "process", "--seed", "11", "--json", tmp_path / name,
        )  # fmt: skip
        reports.append((tmp_path / name).read_text(encoding="utf-8"))
    assert reports[0] == reports[1]


def test_the_demo_says_that_it_runs_without_a_jail_and_how_to_have_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nbgrader")
    problem = jail.Problem("bubblewrap is not installed.", "sudo apt install bubblewrap")
    monkeypatch.setattr(jail, "missing", lambda: [problem])
    monkeypatch.setattr("grader.course.demo.run", lambda *_: iter(["The demo."]))
    monkeypatch.setattr("sys.argv", ["grader", "demo"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().out.splitlines() == [
        "Students' code runs without a jail here. bubblewrap is not installed. "
        "sudo apt install bubblewrap",
        "The demo.",
    ]


@pytest.mark.full(seconds=15)
def test_the_demo_grades_a_class_through_nbgrader(tmp_path: Path) -> None:
    course = tmp_path / "course"
    done = warm.run("-m", "grader", "demo", course, "--students", "3")
    assert done.returncode == 0, done.stderr
    points = dict(re.findall(r"^  (\w+) +([\d.]+) of 100 ", done.stdout, re.MULTILINE))
    assert points["ada"] == "100"
    assert all(0 < float(points[name]) < 100 for name in ("bela", "carl"))
    assert "divided by d_k, not by its square root" in done.stdout
    pages = list(course.glob("feedback/*/transformer/transformer.html"))
    assert len(pages) == 3
    for page in pages:
        text = page.read_text()
        shown = text.count('src="data:image/svg+xml;base64,')
        assert shown == 8, "those of seven texts, and the architecture"
        assert text.count("The architecture of a Transformer. Done: masks,") == 1
    again = warm.run("-m", "grader", "demo", course)
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_doctor_tells_what_the_machine_can_do(grader: Grader) -> None:
    done = grader("doctor")
    assert done.returncode == 0
    assert "torch" in done.stdout
    assert "bubblewrap" in done.stdout


@pytest.mark.full(seconds=3)
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux tells what may be used")
def test_a_run_takes_no_more_workers_than_processors_it_may_use() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
        "from grader.grading.workers import processors; print(processors())"
    )
    assert warm.run("-c", code).stdout == "1\n"


@pytest.mark.full(seconds=6)
def test_mistakes_check_says_whether_an_entry_is_of_use(grader: Grader) -> None:
    done = grader("mistakes", "check", "masks", "all-turned-round")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "all-turned-round: applies, is caught, and is distinguished\n"
    refused = grader("mistakes", "check", "masks", "no-such-mistake")
    assert refused.returncode == 2
    assert "masks has no mistake 'no-such-mistake'." in refused.stderr


def test_a_students_statement_runs_in_the_jail_when_it_is_checked(tmp_path: Path) -> None:
    """It cannot write where the instructor can, and what it prints has no control codes."""
    mark = tmp_path / "written"
    program = (
        "import os, json\n"
        f"try: open({str(mark)!r}, 'w')\n"
        "except OSError as error: refused = 'not written'\n"
        "else: refused = 'written'\n"
        f"home = os.path.exists({str(tmp_path)!r})\n"
        "print(json.dumps([refused, home, os.listdir(os.environ['HOME'])]))"
    )
    if PROBLEMS:
        pytest.skip("there is no jail here")
    line = jail.enclosed(f"exec({program!r})", 2000)
    done = subprocess.run(line, capture_output=True, text=True, env=jail.environment(), check=True)
    assert json.loads(done.stdout) == ["not written", False, []]


def test_an_edit_that_does_not_fit_is_told_with_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    known = mistakes.load("masks")[0]
    edit = mistakes.Edit("", (("no such line", ""),))
    monkeypatch.setattr(variants, "load", lambda _: [known, replace(known, edits=(edit,))])
    (misfit,) = variants.misfits("masks")
    assert "'no such line' occurs 0 times" in misfit
    assert "grader/curriculum/mistakes/masks.toml" in misfit
