"""Nothing that somebody submitted is left out in silence: it is graded, or listed with a reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader import submission
from grader.cli.reset import reset
from grader.curriculum import stubs
from grader.submission import Reading

RIGHT = "def attention(): ...\n"
MASKS = "def padding_mask(): ...\ndef causal_mask(): ...\ndef target_mask(): ...\n"
NOTEBOOK = '{"cells": [{"cell_type": "code", "metadata": {}, "source": "def attention(): ..."}]}'


def write(path: Path, text: str = RIGHT) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def graded(contents: submission.Contents) -> dict[str, list[str]]:
    return {result.name: sorted(result.sources) for result in contents.submissions}


@pytest.mark.parametrize("odd", ["exercises/attention.py", "masks.py"])
@pytest.mark.parametrize("student", ["ada/attention.py", "ada/Attention.py", "ada.zip"])
def test_what_may_be_a_class_or_one_submission_is_asked(
    tmp_path: Path, odd: str, student: str
) -> None:
    write(tmp_path / odd)
    write(tmp_path / student)
    with pytest.raises(submission.AmbiguousError) as refusal:
        submission.contents(tmp_path)
    assert f"one student's submission ({odd})" in str(refusal.value)
    assert f"a class ({student.partition('/')[0]})" in str(refusal.value)


def test_a_stray_file_beside_notebooks_is_asked_about(tmp_path: Path) -> None:
    write(tmp_path / "masks.py")
    for name in ("ada", "bob"):
        write(tmp_path / f"{name}.ipynb", NOTEBOOK)
    with pytest.raises(submission.AmbiguousError, match=r"class \(ada.ipynb, bob.ipynb\)"):
        submission.contents(tmp_path)


def test_either_reading_can_be_chosen(tmp_path: Path) -> None:
    write(tmp_path / "exercises" / "attention.py")
    write(tmp_path / "ada" / "attention.py")
    write(tmp_path / "masks.py", MASKS)
    as_class = submission.contents(tmp_path, Reading.CLASS)
    assert graded(as_class) == {"ada": ["attention"], "exercises": ["attention"]}
    assert [(entry.path, entry.work) for entry in as_class.passed_over] == [("masks.py", True)]
    as_one = submission.contents(tmp_path, Reading.ONE)
    assert graded(as_one) == {tmp_path.name: ["masks"]}
    passed = {item.path: item.work for item in as_one.submissions[0].passed_over}
    assert passed == {"ada": True, "exercises/attention.py": True}


def test_a_students_folder_with_exercises_and_pictures_is_one_submission(tmp_path: Path) -> None:
    write(tmp_path / "exercises" / "attention.py")
    write(tmp_path / "exercises" / "tests" / "test_attention.py", "import pytest\n")
    write(tmp_path / "pictures" / "notes.txt", "")
    contents = submission.contents(tmp_path)
    assert graded(contents) == {tmp_path.name: ["attention"]}
    assert contents.submissions[0].passed_over == ()


@pytest.mark.parametrize("around", ["my-transformer/exercises", "x/y", "a/b/c/d/exercises"])
@pytest.mark.parametrize("kept", ["folder", "zip", "zip in Moodle's folder"])
def test_work_is_found_in_a_chain_of_folders(tmp_path: Path, around: str, kept: str) -> None:
    write(tmp_path / "ada" / around / "attention.py")
    write(tmp_path / "ada" / around.split("/")[0] / "README.md")
    write(tmp_path / "ada" / around / "pictures" / "masks.svg")
    students = tmp_path / "class"
    moodle = students / "Ada_12_assignsubmission_file_"
    moodle.mkdir(parents=True)
    if kept == "folder":
        (tmp_path / "ada").rename(students / "ada")
    else:
        target = students / "ada" if kept == "zip" else moodle / "work"
        shutil.make_archive(str(target), "zip", tmp_path / "ada")
    works = {work.name: work for work in submission.contents(students, Reading.CLASS).submissions}
    ada = works["Ada_12" if "Moodle" in kept else "ada"]
    assert ada.sources == {"attention": RIGHT}
    assert ada.passed_over == ()


def test_of_several_folders_within_one_none_is_chosen(tmp_path: Path) -> None:
    for name in ("draft", "final"):
        write(tmp_path / "ada" / "homework" / name / "attention.py")
    (ada,) = submission.contents(tmp_path).submissions
    assert not ada.sources
    assert {entry.path: entry.reason for entry in ada.passed_over if entry.work} == {
        "homework/draft": "there are several folders; submit one",
        "homework/final": "there are several folders; submit one",
    }


def test_a_folder_too_deep_to_be_read_is_listed(tmp_path: Path) -> None:
    write(tmp_path.joinpath("ada", *"abcdefghijklmno") / "attention.py")
    (ada,) = submission.contents(tmp_path).submissions
    assert not ada.sources
    (passed,) = ada.passed_over
    assert (passed.path, passed.work) == ("a/b/c/d/e/f/g/h/i/j/k/l/m", True)
    assert "12 deep" in passed.reason


def test_work_counts_before_what_lies_deeper(tmp_path: Path) -> None:
    write(tmp_path / "ada" / "work.ipynb", NOTEBOOK)
    write(tmp_path / "ada" / "my-transformer" / "exercises" / "masks.py", MASKS)
    (ada,) = submission.contents(tmp_path).submissions
    assert sorted(ada.sources) == ["attention"]
    assert [(entry.path, entry.work) for entry in ada.passed_over] == [
        ("my-transformer/exercises", True)
    ]


def test_folders_that_are_not_taken_for_students_are_listed(tmp_path: Path) -> None:
    write(tmp_path / "ada" / "attention.py")
    write(tmp_path / ".bob" / "attention.py")
    write(tmp_path / "__carl" / "attention.py")
    write(tmp_path / "__pycache__" / "attention.py")
    write(tmp_path / "dora.pdf")
    write(tmp_path / "emil.rar")
    write(tmp_path / "grades.csv")
    contents = submission.contents(tmp_path)
    assert graded(contents) == {"ada": ["attention"]}
    assert {entry.path: entry.work for entry in contents.passed_over} == {
        ".bob/": True,
        "__carl/": True,
        "__pycache__/": False,
        "dora.pdf": True,
        "emil.rar": True,
        "grades.csv": False,
    }
    assert all(passed.reason for passed in contents.passed_over)


def test_hidden_files_of_a_student_and_those_saved_as_text_are_listed(tmp_path: Path) -> None:
    for name in (".attention.py", "._attention.py", ".ada.ipynb", "masks.py.txt", ".notes"):
        write(tmp_path / "ada" / name)
    (tmp_path / "ada" / ".#masks.py").symlink_to("ada@host.123")  # as Emacs locks a file
    (ada,) = submission.contents(tmp_path, submission.Reading.CLASS).submissions
    assert {entry.path: entry.work for entry in ada.passed_over} == {
        ".ada.ipynb": True,
        ".attention.py": True,
        "masks.py.txt": True,
    }


@pytest.mark.parametrize("target", ["nowhere", "bob", "ada"])
def test_a_student_whose_folder_is_a_link_has_a_row(tmp_path: Path, target: str) -> None:
    write(tmp_path / "ada" / "attention.py")
    (tmp_path / "bob").symlink_to(target)
    contents = submission.contents(tmp_path, submission.Reading.CLASS)
    assert [work.name for work in contents.submissions] == ["ada", "bob"]
    assert [(entry.path, entry.work) for entry in contents.passed_over] == [("bob", True)]


def test_of_a_student_with_a_pdf_alone_it_is_said(tmp_path: Path) -> None:
    write(tmp_path / "ada" / "ps1" / "report.pdf")
    (ada,) = submission.contents(tmp_path).submissions
    assert ada.absent["masks"] == "There is no file masks.py. What was submitted: ps1, report.pdf."
    assert [(entry.path, entry.work) for entry in ada.passed_over] == [("ps1/report.pdf", True)]


COPIES = ["masks.py.1", "masks.py.bak", "masks.py~", "masks.txt", "masks", "masks_old.orig"]


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("archived", [False, True])
def test_a_copy_of_an_exercises_file_is_listed(tmp_path: Path, name: str, archived: bool) -> None:
    stub = stubs.as_handed_out("masks")
    for student, masks in {"has": MASKS, "lacks": None, "reset": stub}.items():
        write(tmp_path / student / "attention.py")
        write(tmp_path / student / name, MASKS)
        if masks is not None:
            write(tmp_path / student / "masks.py", masks)
        if archived:
            shutil.make_archive(str(tmp_path / student), "zip", tmp_path / student)
            shutil.rmtree(tmp_path / student)
    passed = {
        work.name: [(entry.path, entry.reason, entry.work) for entry in work.passed_over]
        for work in submission.contents(tmp_path, Reading.CLASS).submissions
    }
    assert passed == {
        "has": [(name, "masks.py is graded", False)],
        "lacks": [(name, "it may be masks.py; rename it if it is", True)],
        "reset": [(name, "masks.py is the original file; rename this one if it is the work", True)],
    }


def test_what_grader_reset_keeps_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "ada" / "exercises" / "masks.py", MASKS)
    monkeypatch.chdir(tmp_path / "ada")
    reset(["masks"])
    (ada,) = submission.contents(tmp_path).submissions
    assert [(entry.path, entry.work) for entry in ada.passed_over] == [
        ("exercises/masks.py.1", True)
    ]


def test_what_is_only_named_like_an_exercise_is_not_listed(tmp_path: Path) -> None:
    for name in (
        "masks.svg",
        "masks.md",
        "transformer.pt",
        "tokens.json",
        "test_masks.py.bak",
        "notes.txt",
    ):
        write(tmp_path / "ada" / name)
    write(tmp_path / "ada" / "attention.py")
    (ada,) = submission.contents(tmp_path).submissions
    assert ada.passed_over == ()


@pytest.mark.parametrize("name", ["Masks.py", "masks (1).py", "masks_final_v2.py", "homework.py"])
def test_a_file_under_another_name_is_told_or_taken(tmp_path: Path, name: str) -> None:
    write(tmp_path / "ada" / "attention.py")
    write(tmp_path / "ada" / name, MASKS)
    (ada,) = submission.contents(tmp_path).submissions
    assert sorted(ada.sources) == ["attention"]
    assert f"{name} seems to be it, but the name must be masks.py." in ada.absent["masks"]
    (passed,) = ada.passed_over
    assert (passed.path, passed.work) == (name, True)
    assert "--guess-names" in passed.reason
    (taken,) = submission.contents(tmp_path, guess_names=True).submissions
    assert taken.sources["masks"] == MASKS
    assert taken.guessed == {"masks": name}
    assert taken.passed_over == ()
    assert taken.digest != ada.digest


def test_a_single_submission_of_misnamed_files_is_one(tmp_path: Path) -> None:
    write(tmp_path / "Attention.py")
    (ada,) = submission.contents(tmp_path, guess_names=True).submissions
    assert ada.sources == {"attention": RIGHT}


def test_of_two_candidates_none_is_guessed(tmp_path: Path) -> None:
    for name in ("masks (1).py", "masks (2).py"):
        write(tmp_path / "ada" / name, MASKS)
    (ada,) = submission.contents(tmp_path, guess_names=True).submissions
    assert not ada.sources
    assert [entry.path for entry in ada.passed_over if entry.work] == [
        "masks (1).py",
        "masks (2).py",
    ]
    assert "several files define the names of masks.py" in ada.passed_over[0].reason


def test_a_name_alone_is_not_enough_to_be_taken(tmp_path: Path) -> None:
    write(tmp_path / "ada" / "Masks.py", "def padding_mask(): ...\n")
    (ada,) = submission.contents(tmp_path, guess_names=True).submissions
    assert not ada.sources
    assert "Masks.py has a similar name, but does not define all of" in ada.absent["masks"]


@pytest.mark.parametrize("guess", [False, True])
def test_a_notebook_counts_before_a_file_under_another_name(tmp_path: Path, guess: bool) -> None:
    write(tmp_path / "ada" / "work.ipynb", NOTEBOOK)
    write(tmp_path / "ada" / "Masks.py", MASKS)
    (ada,) = submission.contents(tmp_path, guess_names=guess).submissions
    assert sorted(ada.sources) == ["attention"]
    assert [(entry.path, entry.reason, entry.work) for entry in ada.passed_over] == [
        ("Masks.py", "other files there are graded", True)
    ]


def test_moodles_download_is_read_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "Ada Lovelace_12345_assignsubmission_file_" / "attention.py")
    write(tmp_path / "Ada Lovelace_12345_assignsubmission_onlinetext_" / "onlinetext.html")
    write(tmp_path / "Bob Ross_777_assignsubmission_file" / "work.ipynb", NOTEBOOK)
    write(tmp_path / "Eve_8_assignsubmission_file_attention.py")
    contents = submission.contents(tmp_path)
    assert graded(contents) == {
        "Ada Lovelace_12345": ["attention"],
        "Bob Ross_777": ["attention"],
        "Eve_8": ["attention"],
    }
    ada = contents.submissions[0]
    assert [entry.work for entry in ada.passed_over] == [False]


def test_canvas_download_is_read_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "lovelaceada_12345_67890_attention.py")
    write(tmp_path / "lovelaceada_12345_67891_masks-1.py", MASKS)
    write(tmp_path / "rossbob_LATE_777_67892_work.ipynb", NOTEBOOK)
    write(tmp_path / "eve_88_67893_report.pdf")
    contents = submission.contents(tmp_path)
    assert graded(contents) == {
        "eve_88": [],
        "lovelaceada_12345": ["attention", "masks"],
        "rossbob_777": ["attention"],
    }
    eve = contents.submissions[0]
    assert "report.pdf" in eve.absent["masks"]
    assert [entry.work for entry in eve.passed_over] == [True]


def test_names_that_only_look_like_canvas_are_students(tmp_path: Path) -> None:
    for name in ("hw_2026_11_ada", "hw_2026_11_bob"):
        write(tmp_path / f"{name}.ipynb", NOTEBOOK)
    write(tmp_path / "team_12_34_alpha" / "attention.py")
    assert graded(submission.contents(tmp_path)) == {
        "hw_2026_11_ada": ["attention"],
        "hw_2026_11_bob": ["attention"],
        "team_12_34_alpha": ["attention"],
    }


def test_a_link_in_a_download_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "solution.txt")
    write(tmp_path / "class" / "ada_11_22_attention.py")
    (tmp_path / "class" / "eve_33_44_attention.py").symlink_to(tmp_path / "solution.txt")
    ada, eve = submission.contents(tmp_path / "class").submissions
    assert sorted(ada.sources) == ["attention"]
    assert not eve.sources
    assert "link" in eve.passed_over[0].reason
