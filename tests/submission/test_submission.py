"""Whatever a folder holds, reading it gives submissions or a sentence that says why not."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import pytest

from grader import submission

RIGHT = "def attention(): ...\n"


def write(path: Path, data: bytes | str = RIGHT) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def test_a_folder_of_exercises_is_one_submission(tmp_path: Path) -> None:
    write(tmp_path / "ada" / "attention.py")
    write(tmp_path / "ada" / "notes.py")
    (work,) = submission.find(tmp_path / "ada")
    assert work.name == "ada"
    assert work.sources == {"attention": RIGHT}


@pytest.mark.parametrize("inside", ["", "exercises", "my solution"])
def test_a_folder_of_folders_is_a_class(tmp_path: Path, inside: str) -> None:
    for name in ("bob", "ada"):
        write(tmp_path / name / inside / "attention.py")
    (tmp_path / "empty").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "grades.csv").write_text("")
    students = submission.find(tmp_path)
    assert [student.name for student in students] == ["ada", "bob", "empty"]
    assert [list(student.sources) for student in students] == [["attention"], ["attention"], []]


NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "metadata": {}, "source": "def attention(): ..."}],'
    ' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)


@pytest.mark.parametrize("notebooks", [["carl"], ["carl", "dora"]])
def test_notebooks_and_folders_side_by_side_are_all_of_the_class(
    tmp_path: Path, notebooks: list[str]
) -> None:
    write(tmp_path / "ada" / "attention.py")
    write(tmp_path / "bob" / "transformer.ipynb", NOTEBOOK)
    for name in notebooks:
        write(tmp_path / f"{name}.ipynb", NOTEBOOK)
    students = submission.find(tmp_path)
    assert [student.name for student in students] == ["ada", "bob", *notebooks]
    assert all("attention" in student.sources for student in students)


def test_a_class_is_in_the_order_of_names(tmp_path: Path) -> None:
    """Whether somebody submitted a folder, a notebook or an archive."""
    write(tmp_path / "carl" / "attention.py")
    write(tmp_path / "bob.ipynb", NOTEBOOK)
    with zipfile.ZipFile(tmp_path / "ada.zip", "w") as packed:
        packed.writestr("attention.py", RIGHT)
    students = submission.find(tmp_path)
    assert [student.name for student in students] == ["ada", "bob", "carl"]


def test_a_notebook_with_a_folder_of_pictures_is_one_submission(tmp_path: Path) -> None:
    write(tmp_path / "ada" / "work.ipynb", NOTEBOOK)
    write(tmp_path / "ada" / "pictures" / "heads.png", b"")
    (work,) = submission.find(tmp_path / "ada")
    assert list(work.sources) == ["attention"]
    assert work.passed_over == ()


def test_what_is_not_graded_beside_other_files_is_known(tmp_path: Path) -> None:
    write(tmp_path / "ada" / "attention.py")
    write(tmp_path / "ada" / "draft.ipynb", NOTEBOOK)
    write(tmp_path / "bob" / "work.ipynb", NOTEBOOK)
    write(tmp_path / "bob" / "old" / "work.ipynb", NOTEBOOK)
    ada, bob = submission.find(tmp_path)
    assert ada.sources == {"attention": RIGHT}
    assert [(entry.path, entry.work) for entry in ada.passed_over] == [("draft.ipynb", True)]
    assert list(bob.sources) == ["attention"]
    assert [(passed.path, passed.work) for passed in bob.passed_over] == [("old/work.ipynb", True)]


def test_of_two_notebooks_the_student_is_asked_for_one(tmp_path: Path) -> None:
    for name in ("draft", "final"):
        write(tmp_path / "ada" / f"{name}.ipynb", NOTEBOOK)
    write(tmp_path / "bob" / "attention.py")
    ada, _ = submission.find(tmp_path)
    assert ada.problems["attention"] == (
        "There are 2 notebooks, draft.ipynb and final.ipynb: submit one."
    )


def test_a_single_file_is_a_submission(tmp_path: Path) -> None:
    write(tmp_path / "attention.py")
    (work,) = submission.find(tmp_path / "attention.py")
    assert list(work.sources) == ["attention"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"x = '\xff\xfe'", "not UTF-8"),
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (b"#" * (1 << 20) + b"#", "larger than 1 MB"),
        (b"# -*- coding: klingon -*-\nx = 1", "not UTF-8 but klingon"),
        (b"#!/usr/bin/python\n# coding: rot13\nqrs = 1", "not UTF-8 but rot13"),
        (b"# coding: hex\n6465", "not UTF-8 but hex"),
        (b"\xef\xbb\xbf# coding=punycode\n" + b"a" * 900_000, "not UTF-8 but punycode"),
        ("# coding: latin-1\nx = 'é'\n".encode("latin-1"), "not UTF-8"),
        ("x = 'é'\n".encode("utf-16"), "not UTF-8"),
    ],
)
def test_an_unreadable_file_is_that_exercises_problem(
    tmp_path: Path, data: bytes, says: str
) -> None:
    write(tmp_path / "attention.py", data)
    write(tmp_path / "masks.py")
    (work,) = submission.find(tmp_path)
    assert says in work.problems["attention"]
    assert list(work.sources) == ["masks"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    "message", ["", "# -*- coding: utf-8 -*-\n", "# vim: set fileencoding=UTF8 :\n"]
)
def test_utf_8_is_read_with_a_mark_or_without(tmp_path: Path, mark: str, message: str) -> None:
    text = f"{message}x = 'é'\n"
    write(tmp_path / "attention.py", mark + text)
    (work,) = submission.find(tmp_path)
    assert work.sources["attention"] == text


def test_an_encoding_is_declared_at_the_top_or_not_at_all(tmp_path: Path) -> None:
    text = "# coding: latin-1\nx = 1\ny = 2  # coding: rot13\n"
    write(tmp_path / "attention.py", text)
    (work,) = submission.find(tmp_path)
    assert work.sources["attention"] == text


def test_a_link_to_somebody_elses_answer_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "solutions" / "attention.py")
    (tmp_path / "class" / "eve").mkdir(parents=True)
    (tmp_path / "class" / "eve" / "attention.py").symlink_to(
        tmp_path / "solutions" / "attention.py"
    )
    (tmp_path / "class" / "mal").symlink_to(tmp_path / "solutions")
    eve, mal = submission.find(tmp_path / "class")
    assert (eve.name, mal.name) == ("eve", "mal")
    assert not eve.sources
    assert not mal.sources
    assert "link" in eve.problems["attention"]
    assert "folder is a link" in mal.problems["attention"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "attention.py")
    (work,) = submission.find(tmp_path)
    assert "not a plain file" in work.problems["attention"]


def test_where_there_is_nothing_to_grade_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(submission.SubmissionError, match="no such file"):
        submission.find(tmp_path / "nowhere")
    with pytest.raises(submission.SubmissionError, match="no submission here"):
        submission.find(tmp_path)
    write(tmp_path / "other.py")
    with pytest.raises(submission.SubmissionError, match="the file of an exercise"):
        submission.find(tmp_path / "other.py")


def test_a_link_in_place_of_the_folder_of_exercises_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "solutions" / "attention.py")
    write(tmp_path / "class" / "ada" / "exercises" / "attention.py")
    (tmp_path / "class" / "eve").mkdir(parents=True)
    (tmp_path / "class" / "eve" / "exercises").symlink_to(tmp_path / "solutions")
    ada, eve = submission.find(tmp_path / "class")
    assert list(ada.sources) == ["attention"]
    assert not eve.sources
    assert "link" in eve.problems["attention"]
    (alone,) = submission.find(tmp_path / "class" / "eve")
    assert not alone.sources


def test_submissions_are_the_same_only_if_every_file_is() -> None:
    victim = submission.Submission("ada", {"attention": "a = 1\n", "masks": "m = 1\n"})
    twin = submission.Submission("bob", dict(reversed(victim.sources.items())))
    assert twin.digest == victim.digest
    joined = {"attention": "a = 1\n\0masks\0m = 1\n"}
    assert submission.Submission("eve", joined).digest != victim.digest
    problem = submission.Submission("mal", {"attention": "a = 1\n"}, {"masks": "m = 1\n"})
    assert problem.digest != victim.digest


@pytest.mark.skipif(os.name != "posix", reason="such names are POSIX")
def test_a_name_is_printable_and_nobody_elses(tmp_path: Path) -> None:
    names = [
        b"ada",
        b"\xff\xfe",
        b"\\udcff\\udcfe",
        b"red\x1b[31m",
        rb"red\x1b[31m",
        "Zoë".encode(),
    ]
    for name in names:
        write(tmp_path / os.fsdecode(name) / "attention.py")
    work = [result.name for result in submission.find(tmp_path)]
    assert len(set(work)) == len(names)
    assert all(name.isprintable() for name in work)
    assert {"ada", "Zoë"} <= set(work)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="Windows locks no folder by its mode")
@pytest.mark.parametrize("inside", ["", "exercises"])
def test_a_folder_that_may_not_be_opened_is_that_students_problem(inside: str) -> None:
    """An archive may bring folders that nobody may open; the others are graded all the same."""
    me = os.geteuid()
    # pytest's own folders are root's alone, and root may open everything.
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        folder.chmod(0o755)
        write(folder / "ada" / "attention.py")
        write(folder / "bob" / inside / "attention.py")
        locked = folder / "bob" / inside
        locked.chmod(0)
        try:
            if me == 0:
                os.seteuid(65534)
            ada, bob = submission.find(folder)
        finally:
            os.seteuid(me)
            locked.chmod(0o755)
    assert list(ada.sources) == ["attention"]
    (message,) = set(bob.problems.values())
    assert message.startswith(
        "The folder could not be read: Permission denied. Let it be read (chmod"
    )
