"""Exporters for nbgrader: grades as the table that a university's system imports.

A name or an id that a spreadsheet would take for a formula is written as text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from grader.course.export import whole_file
from grader.report import tables


class _Table(ExportPlugin):
    """A row a student, a column an assignment.

    Points are the gradebook's, less late penalties; a student who submitted nothing has zero, as in
    nbgrader's own table.
    """

    file = "grades.csv"
    columns: tuple[str, ...] = ()

    def export(self, gradebook: Gradebook) -> None:
        """Write the CSV file, to `--to`."""
        path = Path(self.to or self.file)
        self.log.info("Exporting grades to %s", path)
        chosen = [
            assignment
            for assignment in gradebook.assignments
            if _is_one(assignment.name, self.assignment)
        ]
        for assignment in chosen:
            self._warn_of_ungraded(gradebook, assignment.name)
        with whole_file(self, path) as file:
            writer = csv.writer(file)
            writer.writerow(
                [*self.columns, *(tables.cell(assignment.name) for assignment in chosen)]
            )
            writer.writerows(self.head(chosen))
            for student in gradebook.students:
                if _is_one(student.id, self.student):
                    grades = (
                        _grade(gradebook, assignment.name, student.id) for assignment in chosen
                    )
                    writer.writerow([*map(tables.cell, self.about(student)), *grades])

    def about(self, student: Any) -> tuple[str, ...]:
        """Return the columns that identify the student in this table."""
        raise NotImplementedError

    def head(self, assignments: list[Any]) -> Iterator[list[str]]:  # noqa: ARG002 - for others
        """Yield rows before the first student's."""
        yield from ()

    def _warn_of_ungraded(self, gradebook: Gradebook, assignment: str) -> None:
        waiting = [
            submission.student.id
            for submission in gradebook.assignment_submissions(assignment)
            if submission.needs_manual_grade
        ]
        if waiting:
            self.log.warning(
                "%s: still to be graded by hand, in formgrader: %s", assignment, ", ".join(waiting)
            )


class Canvas(_Table):
    """`nbgrader export --exporter=grader.course.platforms.Canvas --to=canvas.csv`.

    https://community.canvaslms.com/docs/DOC-10712: students are found by `ID` where the gradebook
    has one (`lms_user_id`), else by their login, which is nbgrader's id of them.
    """

    file = "canvas.csv"
    columns = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")

    def about(self, student: Any) -> tuple[str, ...]:
        """Return the student's name, and the ids that Canvas may know."""
        name = ", ".join(filter(None, (student.last_name, student.first_name)))
        return name or student.id, student.lms_user_id or "", "", student.id, ""

    def head(self, assignments: list[Any]) -> Iterator[list[str]]:
        """Yield the row with what each assignment is worth."""
        worth = [format(assignment.max_score, "g") for assignment in assignments]
        yield ["    Points Possible", "", "", "", "", *worth]


class Moodle(_Table):
    """`nbgrader export --exporter=grader.course.platforms.Moodle --to=moodle.csv`.

    https://docs.moodle.org/en/Grade_import: students are found by `Username`, nbgrader's id of
    them, or by `Email address`.
    """

    file = "moodle.csv"
    columns = ("Username", "First name", "Last name", "Email address")

    def about(self, student: Any) -> tuple[str, ...]:
        """Return the student's id, names and address."""
        return student.id, student.first_name or "", student.last_name or "", student.email or ""


def _is_one(name: str, chosen: list[str]) -> bool:
    """Return whether it was selected; no selection means all."""
    return not chosen or name in map(str, chosen)


def _grade(gradebook: Gradebook, assignment: str, student: str) -> str:
    try:
        graded = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return "0"
    return format(round(max(graded.score - graded.late_submission_penalty, 0.0), 4), "g")
