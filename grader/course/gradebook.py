"""What an nbgrader course knows of a graded assignment, as the kit's own results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader

from grader import curriculum
from grader.course import CONFIG
from grader.course.making import CourseError
from grader.course.preprocessors import MIME
from grader.report.results import ExerciseResult, Report, SubmissionResult, exercise_result
from grader.submission.cells import POINTS


def found_in(path: Path) -> dict[str, dict[str, Any]]:
    """What the judge wrote into an autograded notebook, by exercise; {} if there is none."""
    if not path.exists():
        return {}
    outputs = [
        output
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", ())
    ]
    results = [one.data[MIME] for one in outputs if MIME in one.get("data", {})]
    return {one["exercise"]: one for one in results}


def class_report(folder: Path, assignment: str | None) -> Report:
    """The results of everybody whose work on the assignment has been graded.

    Points are the gradebook's, which an instructor may have changed. How each was graded is in its
    notebook, so the report tells no seed. Raises `CourseError`.
    """
    if not (folder / CONFIG).is_file():
        raise CourseError(f"{folder} is no nbgrader course: there is no {CONFIG} in it.")
    course = _course(folder)
    with Gradebook(course.db_url, course.course_id) as gradebook:
        name = _assignment(gradebook, assignment, folder)
        results = tuple(_submissions(gradebook, course, name))
    if not results:
        raise CourseError(
            f"Nothing of {name} has been graded. In {folder}: nbgrader autograde {name}"
        )
    return Report(seed=0, isolation="", submissions=results)


def _course(folder: Path) -> CourseDirectory:
    """The course's folders and database, as its own configuration has them."""
    config = PyFileConfigLoader(CONFIG, path=str(folder.resolve())).load_config()
    config.CourseDirectory.setdefault("root", str(folder.resolve()))
    return CourseDirectory(config=config)


def _assignment(gradebook: Gradebook, wanted: str | None, folder: Path) -> str:
    names = [one.name for one in gradebook.assignments]
    if wanted in names or (wanted is None and len(names) == 1):
        return str(wanted or names[0])
    there_are = ", ".join(names) or "none"
    asked = f"There is no assignment {wanted!r} in" if wanted else "Which assignment of"
    raise CourseError(f"{asked} {folder}? Give --assignment NAME; graded are: {there_are}.")


def _submissions(
    gradebook: Gradebook, course: CourseDirectory, assignment: str
) -> Iterator[SubmissionResult]:
    notebooks = list(gradebook.find_assignment(assignment).notebooks)
    worth = {
        cell.name.removesuffix(POINTS): (notebook.name, cell.max_score)
        for notebook in notebooks
        for cell in notebook.grade_cells
        if cell.name.endswith(POINTS) and cell.name.removesuffix(POINTS) in curriculum.NAMES
    }
    for student in sorted(one.id for one in gradebook.students):
        folder = Path(course.format_path(course.autograded_directory, student, assignment))
        found = {
            name: result
            for notebook in notebooks
            for name, result in found_in(folder / f"{notebook.name}.ipynb").items()
        }
        if not found:
            continue
        exercises = tuple(
            _with_grade(gradebook, exercise_result(found[name]), assignment, student, *worth[name])
            for name in curriculum.NAMES
            if name in found and name in worth
        )
        yield SubmissionResult(
            student,
            sum(one.points or 0.0 for one in exercises),
            sum(one.max_points for one in exercises),
            exercises,
        )


def _with_grade(
    gradebook: Gradebook,
    result: ExerciseResult,
    assignment: str,
    student: str,
    notebook: str,
    worth: float,
) -> ExerciseResult:
    try:
        grade = gradebook.find_grade(result.exercise + POINTS, notebook, assignment, student)
    except MissingEntry:
        return replace(result, max_points=worth)
    return replace(result, points=grade.score, max_points=worth)
