"""Making a course, and bringing one up to date without touching what is the instructor's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="nbgrader is not installed")

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from grader import curriculum
from grader.course import CONFIG, building, configure, making
from grader.course.example_class import grade_id
from grader.course.preprocessors import LimitHints
from grader.course.submitted import _is_due, files_to_refuse


def read(course: Path, assignment: str = "ps1") -> NotebookNode:
    return nbformat.read(building.source_path(course, assignment), as_version=4)


def save(course: Path, notebook: NotebookNode) -> None:
    nbformat.write(notebook, building.source_path(course, "ps1"))


def ids(notebook: NotebookNode) -> list[str]:
    return [grade_id(cell) for cell in notebook.cells if grade_id(cell)]


def test_every_exercise_has_a_solution_and_a_grade_cell(tmp_path: Path) -> None:
    making.make(tmp_path, "ps1", curriculum.NAMES)
    notebook = read(tmp_path)
    nbformat.validate(notebook)
    for exercise in curriculum.EXERCISES:
        tags = {
            grade_id(cell): cell.metadata["nbgrader"] for cell in notebook.cells if grade_id(cell)
        }
        assert tags[exercise.name]["solution"]
        assert tags[f"{exercise.name}-points"]["points"] == exercise.points


def test_no_hidden_check_is_in_the_notebook(tmp_path: Path) -> None:
    making.make(tmp_path, "ps1", curriculum.NAMES)
    text = building.source_path(tmp_path, "ps1").read_text(encoding="utf-8")
    assert "grader.checks" not in text
    assert "@check(points" not in text


def test_what_is_needed_and_not_chosen_is_handed_out_solved(tmp_path: Path) -> None:
    making.make(tmp_path, "ps1", ["multi_head"])
    result = ids(read(tmp_path))
    assert result == ["setup", "attention-given", "multi_head", "multi_head-points"]
    given = next(cell for cell in read(tmp_path).cells if grade_id(cell) == "attention-given")
    assert given.metadata["nbgrader"]["locked"]
    assert "NotImplementedError" not in given.source
    assert "SOLUTION" not in given.source


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    making.make(tmp_path, "ps1", ["masks"])
    before = building.source_path(tmp_path, "ps1").read_bytes()
    sentences = making.make(tmp_path, "ps1")
    assert building.source_path(tmp_path, "ps1").read_bytes() == before
    assert "up to date" in sentences[-1]


def test_what_the_instructor_changed_stays(tmp_path: Path) -> None:
    making.make(tmp_path, "ps1", ["masks", "attention"])
    notebook = read(tmp_path)
    own_cell = nbformat.v4.new_markdown_cell("Hand in by Friday.")
    notebook.cells.insert(1, own_cell)
    for cell in notebook.cells:
        if grade_id(cell) == "masks-points":
            cell.metadata["nbgrader"]["points"] = 42
        if grade_id(cell) == "attention":
            cell.source = "# a cell of my own\n" + cell.source
    notebook.cells = [cell for cell in notebook.cells if "introduction" not in str(cell.metadata)]
    old = next(cell for cell in notebook.cells if grade_id(cell) == "masks")
    old.source = "# an older release"
    old.metadata["grader"]["made"] = building.fingerprint(old.source)
    save(tmp_path, notebook)
    config = tmp_path / CONFIG
    config.write_text(config.read_text() + "c.CourseDirectory.course_id = 'mine'\n")
    sentences = "\n".join(making.make(tmp_path, "ps1"))
    now = read(tmp_path)
    assert now.cells[0].source == "Hand in by Friday."
    cells = {grade_id(cell): cell for cell in now.cells}
    assert cells["masks-points"].metadata["nbgrader"]["points"] == 42
    assert cells["attention"].source.startswith("# a cell of my own")
    assert "attention was edited" in sentences
    assert "def padding_mask" in cells["masks"].source
    assert "masks is brought up to date" in sentences
    assert not any("introduction" in str(cell.metadata) for cell in now.cells)
    assert "'mine'" in config.read_text()


def test_an_exercise_can_be_added_later(tmp_path: Path) -> None:
    making.make(tmp_path, "ps1", ["multi_head"])
    making.make(tmp_path, "ps1", ["attention"])
    result = ids(read(tmp_path))
    assert result == ["setup", "attention", "attention-points", "multi_head", "multi_head-points"]


def test_a_foreign_config_is_not_touched(tmp_path: Path) -> None:
    config = tmp_path / CONFIG
    config.write_text("c = get_config()\n")
    sentences = making.make(tmp_path, "ps1", ["masks"])
    assert config.read_text() == "c = get_config()\n"
    assert "from grader.course import configure" in sentences[0]


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a+b", "-x"])
def test_a_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(making.CourseError, match="name of an assignment"):
        making.make(tmp_path, name)


def test_an_unknown_exercise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(making.CourseError, match="no exercise 'nonsense'"):
        making.make(tmp_path, "ps1", ["nonsense"])


def test_a_damaged_notebook_is_refused_and_kept(tmp_path: Path) -> None:
    path = building.source_path(tmp_path, "ps1")
    path.parent.mkdir(parents=True)
    path.write_text("{")
    with pytest.raises(making.CourseError, match="Fix or move it"):
        making.make(tmp_path, "ps1")
    assert path.read_text() == "{"


def test_the_configuration_can_be_shown_as_formgrader_does() -> None:
    config = Config()
    configure(config, "process")
    assert config.Submitted.isolation == "process"
    json.dumps(config)


def test_a_release_says_how_far_hints_go(tmp_path: Path) -> None:
    config = Config()
    configure(config, "process", hints="question", hints_until="2026-12-01")
    making.make(tmp_path, "ps1", ["masks"])
    notebook, _ = LimitHints(config=config).preprocess(read(tmp_path), {})
    (cell,) = (cell for cell in notebook.cells if grade_id(cell) == "setup")
    assert cell.source == f"{building.SETUP}\n%hints question 2026-12-01"
    with pytest.raises(curriculum.CurriculumError, match="choose one of"):
        configure(config, hints="everything")


def test_a_release_without_a_limit_is_as_before(tmp_path: Path) -> None:
    config = Config()
    configure(config, "process")
    making.make(tmp_path, "ps1", ["masks"])
    notebook, _ = LimitHints(config=config).preprocess(read(tmp_path), {})
    assert notebook == read(tmp_path)


def test_links_and_pipes_are_refused_and_plain_files_are_not(tmp_path: Path) -> None:
    """nbgrader would copy what a link leads to into what students get back."""
    handed_in = tmp_path / "submitted" / "eve" / "ps1"
    (handed_in / "data").mkdir(parents=True)
    (handed_in / "data" / "own.txt").write_text("mine")
    (handed_in / "ps1.ipynb").write_text("{}")
    secret = tmp_path / "solutions"
    secret.mkdir()
    (secret / "attention.py").write_text("the answer")
    (handed_in / "a.txt").symlink_to(secret / "attention.py")
    (handed_in / "data" / "all").symlink_to(secret)
    (handed_in / "nowhere").symlink_to(tmp_path / "nowhere")
    os.mkfifo(handed_in / "pipe")
    refused = {path.relative_to(handed_in).as_posix() for path in files_to_refuse(handed_in)}
    assert refused == {"a.txt", "data/all", "nowhere", "pipe"}


def test_a_time_that_cannot_be_read_is_its_owners_problem(tmp_path: Path) -> None:
    """nbgrader says so when it comes to that folder. Those before it are graded."""
    submitted = tmp_path / "submitted" / "eve" / "ps1"
    for folder in (submitted, tmp_path / "autograded" / "eve" / "ps1"):
        folder.mkdir(parents=True)
        (folder / "timestamp.txt").write_text("yesterday")
    converter = Autograde(coursedir=CourseDirectory(root=str(tmp_path)))
    assert not _is_due(converter, str(submitted))
    (submitted / "timestamp.txt").write_text("2026-11-27 10:00:00 UTC")
    graded = tmp_path / "autograded" / "eve" / "ps1" / "timestamp.txt"
    graded.write_text("2026-11-26 10:00:00 UTC")
    assert _is_due(converter, str(submitted))
