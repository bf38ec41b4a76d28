"""What an nbgrader course knows of a graded assignment, as the kit's own results."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader

from grader import curriculum
from grader.course import CONFIG
from grader.course.making import CourseError
from grader.course.preprocessors import MIME
from grader.course.submitted import contents_of
from grader.feedback.results import (
    ExerciseResult,
    PassedOver,
    Report,
    SubmissionResult,
    exercise_result,
)
from grader.submission.cells import POINTS


def found_in(path: Path) -> dict[str, ExerciseResult]:
    """Return what the judge wrote into an autograded notebook, by exercise; {} if there is none."""
    if not path.exists():
        return {}
    results = [
        exercise_result(output.data[MIME])
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", ())
        if MIME in output.get("data", {})
    ]
    return {result.exercise: result for result in results}


def class_report(folder: Path, assignment: str | None) -> Report:
    """Return the results of all students whose work on the assignment has been graded.

    Points are the gradebook's, which an instructor may have changed. How each was graded is in its
    notebook, so the report tells no seed. Raises `CourseError`.
    """
    if not (folder / CONFIG).is_file():
        raise CourseError(
            f"{folder} is not an nbgrader course: it contains no {CONFIG}. If it holds "
            f"submissions: grader grade {folder} --json grades.json --html DIR"
        )
    course = _course(folder)
    with Gradebook(course.db_url, course.course_id) as gradebook:
        name = _assignment(gradebook, assignment, folder)
        results = tuple(_submissions(gradebook, course, name))
    graded = {result.submission for result in results}
    passed_over = tuple(_ungraded(course, name, graded))
    if not results:
        raise CourseError(
            f"Nothing of {name} has been graded. In {folder}: nbgrader autograde {name}"
        )
    return Report(seed=0, isolation="", submissions=results, passed_over=passed_over)


def _ungraded(course: CourseDirectory, assignment: str, graded: set[str]) -> Iterator[PassedOver]:
    """Return the students who submitted something that was not graded, with the reason."""
    pattern = course.format_path(course.submitted_directory, "*", assignment)
    depth = Path(pattern).parts.index("*")
    for path in sorted(glob.glob(pattern)):
        folder = Path(path)
        student = folder.parts[depth]
        if student in graded or not folder.is_dir():
            continue
        notebook = any(folder.glob("*.ipynb"))
        reason = (
            f"not graded yet: nbgrader autograde {assignment}"
            if notebook
            else f"there is no notebook: {contents_of(folder)}"
        )
        yield PassedOver(f"{student}/{assignment}", reason, True, student)


def _course(folder: Path) -> CourseDirectory:
    """Return the course's folders and database, as its own configuration has them."""
    config = PyFileConfigLoader(CONFIG, path=str(folder.resolve())).load_config()
    config.CourseDirectory.setdefault("root", str(folder.resolve()))
    return CourseDirectory(config=config)


def _assignment(gradebook: Gradebook, wanted: str | None, folder: Path) -> str:
    names = [assignment.name for assignment in gradebook.assignments]
    if wanted in names or (wanted is None and len(names) == 1):
        return str(wanted or names[0])
    there_are = ", ".join(names) or "none"
    question = f"There is no assignment {wanted!r} in" if wanted else "Which assignment of"
    raise CourseError(f"{question} {folder}? Give --assignment NAME; graded are: {there_are}.")


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
    for student in sorted(student.id for student in gradebook.students):
        folder = Path(course.format_path(course.autograded_directory, student, assignment))
        results = {
            name: result
            for notebook in notebooks
            for name, result in found_in(folder / f"{notebook.name}.ipynb").items()
        }
        if not results:
            continue
        exercises = tuple(
            _with_grade(gradebook, results[name], assignment, student, *worth[name])
            for name in curriculum.NAMES
            if name in results and name in worth
        )
        yield SubmissionResult(
            student,
            sum(exercise.points or 0.0 for exercise in exercises),
            sum(exercise.max_points for exercise in exercises),
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
