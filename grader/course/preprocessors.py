"""What nbgrader's autograder calls for each notebook: the judge's points, and comments."""

from __future__ import annotations

from html import escape
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor

from grader.course import points as points_of_course
from grader.course.building import KEY
from grader.feedback.finding import Status
from grader.feedback.text import WORDS
from grader.report import html
from grader.report.results import ExerciseResult, exercise_fields, points, weighed
from grader.submission.cells import POINTS

MIME = "application/vnd.transformer-by-hand.exercise+json"


class SayPoints(NbGraderPreprocessor):
    """Lets the texts of a release say what the instructor made the exercises worth."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Puts the points into the texts."""
        if KEY in nb.metadata:
            points_of_course.say(nb, resources["nbgrader"]["assignment"])
        return nb, resources


class JudgeExercises(Execute):
    """In the place of nbgrader's `Execute`: the judge grades, and no kernel is started.

    A kernel runs only where a notebook has graded tests that are not the kit's, and for notebooks
    without exercises of the kit.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any], **options: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Writes into each grade cell the points and what the student is to read.

        Raises `GraderFailureError` when the judge fails; nbgrader then has no grade for this
        notebook, and goes on with the next.
        """
        exercises = self.parent.exercises(resources)
        if not exercises:
            return super().preprocess(nb, resources, **options)
        result = self.parent.result(resources)
        worth = {
            _name(cell): cell.metadata.nbgrader["points"] for cell in nb.cells if _is_test(cell)
        }
        results = [
            weighed(one, worth.get(one.exercise + POINTS, one.max_points))
            for one in result.exercises
        ]
        found = {one.exercise + POINTS: one for one in results}
        if any(_is_test(cell) and _name(cell) not in found for cell in nb.cells):
            nb, resources = self._run_other_tests(nb, resources, found)
        else:
            _clear(nb.cells)
        for cell in nb.cells:
            if _is_test(cell) and _name(cell) in found:
                cell.outputs = [_output(found[_name(cell)])]
                cell.execution_count = None
        resources["nbgrader"]["results"] = results
        nb.metadata.pop(KEY, None)
        return nb, resources

    def _run_other_tests(
        self, nb: NotebookNode, resources: dict[str, Any], ours: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        sources = {id(cell): cell.source for cell in nb.cells}
        tests = [cell for cell in nb.cells if _is_test(cell)]
        for cell in tests:
            if _name(cell) in ours:
                cell.source = ""
        try:
            return super().preprocess(nb, resources)
        except Exception as error:  # the student's code ended the kernel
            self.log.warning("The tests that are not the kit's ended with %s", error)
            _clear(nb.cells)
            for cell in tests:
                cell.outputs = [_ended(error)]
            return nb, resources
        finally:
            for cell in nb.cells:
                cell.source = sources.get(id(cell), cell.source)


class WriteComments(NbGraderPreprocessor):
    """Writes a comment for each solution cell. It comes after `SaveAutoGrades`, which resets them.

    A comment holds no word of the student's: nbgrader shows it as HTML.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Stores the comments in the gradebook."""
        about = resources["nbgrader"]
        results = {one.exercise: one for one in about.get("results", ())}
        with Gradebook(about["db_url"]) as gradebook:
            for cell in nb.cells:
                if utils.is_solution(cell) and _name(cell) in results:
                    comment = gradebook.find_comment(
                        _name(cell), about["notebook"], about["assignment"], about["student"]
                    )
                    comment.auto_comment = _comment(results[_name(cell)])
            gradebook.db.commit()
        return nb, resources


class NoteUngraded(NbGraderPreprocessor):
    """Notes of what the instructor still has to grade by hand that its zero points are none.

    It comes after `GetGrades`, which writes the points into the notebook.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Puts `ungraded` into nbgrader's metadata of such cells."""
        about = resources["nbgrader"]
        by_hand = [cell for cell in nb.cells if utils.is_task(cell) or _is_written(cell)]
        if by_hand:
            with Gradebook(about["db_url"]) as gradebook:
                for cell in by_hand:
                    grade = gradebook.find_grade(
                        _name(cell), about["notebook"], about["assignment"], about["student"]
                    )
                    waits = grade.needs_manual_grade and grade.manual_score is None
                    cell.metadata.nbgrader["ungraded"] = waits
        return nb, resources


def _output(result: ExerciseResult) -> NotebookNode:
    """One result: the number that nbgrader takes as the points, and the page for the student."""
    assert result.points is not None
    points = round(min(max(result.points, 0.0), result.max_points), 4)
    data = {
        "text/plain": repr(float(points)),
        "text/html": html.exercise(result),
        MIME: exercise_fields(result),
    }
    return new_output("execute_result", data, execution_count=None)


def _comment(result: ExerciseResult) -> str:
    said = [f"{points(result)} points: {WORDS[result.status]}."]
    failed = [one for one in result.checks if one.max_points and one.status is not Status.PASSED]
    if failed and result.status is not Status.TODO:
        counted = [one for one in result.checks if one.max_points]
        said.append(f"{len(failed)} of {len(counted)} checks failed, the first: {failed[0].title}")
    said += [" ".join(one.in_full.split()) for one in result.diagnoses]
    said += [" ".join(one.message.split()) for one in result.lines]
    said.append(f"More below, in the cell {result.exercise}{POINTS}.")
    return "\n\n".join(escape(one, quote=False) for one in said)


def _is_test(cell: NotebookNode) -> bool:
    graded = utils.is_grade(cell) and not utils.is_solution(cell)
    return bool(cell.cell_type == "code" and graded)


def _is_written(cell: NotebookNode) -> bool:
    """Whether it is an answer that is graded by hand."""
    return bool(utils.is_grade(cell) and utils.is_solution(cell))


def _name(cell: NotebookNode) -> str:
    return str(cell.metadata.nbgrader["grade_id"])


def _clear(cells: list[NotebookNode]) -> None:
    for cell in cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None


def _ended(error: Exception) -> NotebookNode:
    return new_output(
        "error", ename=type(error).__name__, evalue="", traceback=["The code ended the kernel."]
    )
