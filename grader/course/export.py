"""An exporter for nbgrader: a row a student, exercise and check."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from grader import curriculum
from grader.course.gradebook import found_in
from grader.feedback.results import ExerciseResult
from grader.report import tables
from grader.report.data import write
from grader.submission.cells import POINTS

_COLUMNS = (
    "assignment", "notebook", "student_id", "exercise", "status", "score", "max_score",
    "check", "title", "check_status", "check_points", "check_max_points", "mistakes",
)  # fmt: skip


@contextmanager
def whole_file(exporter: ExportPlugin, path: Path) -> Iterator[StringIO]:
    """Put what the block writes into the file in one step.

    The exporter ends with a sentence where that fails, and the file is as it was.
    """
    file = StringIO()
    yield file
    try:
        write(path, file.getvalue())
    except OSError as error:
        exporter.log.error("%s cannot be written: %s. It is unchanged.", path, error.strerror)
        raise SystemExit(1) from None


class Checks(ExportPlugin):
    """`nbgrader export --exporter=grader.course.export.Checks --to=checks.csv`.

    `score` is the gradebook's, which an instructor may have changed. An exercise that is not
    graded has one row without a check.
    """

    def export(self, gradebook: Gradebook) -> None:
        """Write the CSV file."""
        path = Path(self.to or "checks.csv")
        self.log.info("Exporting checks to %s", path)
        with whole_file(self, path) as file:
            writer = csv.DictWriter(file, _COLUMNS)
            writer.writeheader()
            for assignment in gradebook.assignments:
                if self.assignment and assignment.name not in self.assignment:
                    continue
                for student in gradebook.students:
                    if not self.student or student.id in map(str, self.student):
                        writer.writerows(self._rows(gradebook, assignment, student.id))

    def _rows(
        self, gradebook: Gradebook, assignment: Any, student: str
    ) -> Iterator[dict[str, Any]]:
        for notebook in assignment.notebooks:
            graded = {cell.name: cell.max_score for cell in notebook.grade_cells}
            coursedir = self.parent.coursedir
            folder = coursedir.format_path(coursedir.autograded_directory, student, assignment.name)
            results = found_in(Path(folder) / f"{notebook.name}.ipynb")
            for name in curriculum.NAMES:
                if name + POINTS not in graded:
                    continue
                row = {
                    "assignment": tables.cell(assignment.name),
                    "notebook": tables.cell(notebook.name),
                    "student_id": tables.cell(student),
                    "exercise": name,
                    "max_score": graded[name + POINTS],
                }
                try:
                    grade = gradebook.find_grade(
                        name + POINTS, notebook.name, assignment.name, student
                    )
                    row["score"] = grade.score
                except MissingEntry:
                    row["score"] = ""
                yield from _check_rows(row, results.get(name))


def _check_rows(row: dict[str, Any], result: ExerciseResult | None) -> Iterator[dict[str, Any]]:
    if result is None:
        yield {**row, "status": "not graded"}
        return
    mistakes = " ".join(name for diagnosis in result.diagnoses for name in diagnosis.mistakes)
    row |= {"status": result.status, "mistakes": mistakes}
    if not result.checks:
        yield row
    for check in result.checks:
        yield {
            **row,
            "check": check.check,
            "title": check.title,
            "check_status": check.status,
            "check_points": check.points,
            "check_max_points": check.max_points,
        }
