"""What nbgrader's autograder calls for each notebook: the judge's points, and comments."""

from __future__ import annotations

from html import escape
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from traitlets import Unicode

from grader.course import building, own_tests
from grader.course import points as points_of_course
from grader.course.building import KEY
from grader.feedback.finding import Status
from grader.feedback.results import ExerciseResult, exercise_fields, points, weighed
from grader.feedback.text import WORDS
from grader.report import html
from grader.submission.cells import POINTS

MIME = "application/vnd.transformer-by-hand.exercise+json"


class SayPoints(NbGraderPreprocessor):
    """Lets the texts of a release say what the instructor made the exercises worth."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Put the points into the texts."""
        if KEY in nb.metadata:
            points_of_course.say(nb, resources["nbgrader"]["assignment"])
        return nb, resources


class LimitHints(NbGraderPreprocessor):
    """Write into the first code cell of a release how far hints go, as configured."""

    hints = Unicode("", help="The last step of hints that is given.").tag(config=True)
    until = Unicode("", help="When that limit ends; empty: never.").tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Write the magic `%hints` below `%load_ext grader`."""
        for cell in nb.cells:
            if self.hints and cell.metadata.get(KEY, {}).get("part") == "setup":
                line = f"%hints {self.hints} {self.until}".rstrip()
                cell.source = f"{building.SETUP}\n{line}"
        return nb, resources


class JudgeExercises(Execute):
    """In the place of nbgrader's `Execute`: the judge grades, and no kernel is started.

    Graded tests of the instructor's own run in the jail, too. A kernel, in which the student's code
    has the instructor's rights, runs where the configuration asks for it with `own_tests="kernel"`,
    and for notebooks without exercises of the kit.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any], **options: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Write the points and the student's feedback into each grade cell.

        Raises `GraderFailureError` when the judge fails; nbgrader then has no grade for this
        notebook, and goes on with the next.
        """
        exercises = self.parent.exercises(resources)
        if not exercises:
            self.parent.tell_of_kernel(resources, "It holds no exercise of the kit")
            return super().preprocess(nb, resources, **options)
        result = self.parent.result(resources)
        worth = {
            _name(cell): cell.metadata.nbgrader["points"] for cell in nb.cells if _is_test(cell)
        }
        results = [
            weighed(exercise, worth.get(exercise.exercise + POINTS, exercise.max_points))
            for exercise in result.exercises
        ]
        by_cell = {result.exercise + POINTS: result for result in results}
        own = [_name(cell) for cell in nb.cells if _is_test(cell) and _name(cell) not in by_cell]
        if own and self.parent.own_tests == "kernel":
            self.parent.tell_of_kernel(resources, 'own_tests="kernel" is configured')
            nb, resources = self._run_in_kernel(nb, resources, by_cell)
        else:
            _clear(nb.cells)
            if own:
                self._run_own_tests(nb, resources, own)
        for cell in nb.cells:
            if _is_test(cell) and _name(cell) in by_cell:
                cell.outputs = [_output(by_cell[_name(cell)])]
                cell.execution_count = None
        resources["nbgrader"]["results"] = results
        nb.metadata.pop(KEY, None)
        return nb, resources

    def _run_own_tests(self, nb: NotebookNode, resources: dict[str, Any], names: list[str]) -> None:
        """Run them in the jail, and put below each what it came to."""
        outcomes = self.parent.outcomes_of_own_tests(nb, resources, names)
        for cell in nb.cells:
            if not (_is_test(cell) and _name(cell) in outcomes):
                continue
            outcome = outcomes[_name(cell)]
            cell.outputs = [own_tests.output(outcome)]
            if outcome["replaced"]:
                self.log.warning(
                    "%s: the notebook replaced %s. The test %s ran with the originals.",
                    resources["nbgrader"]["student"],
                    ", ".join(outcome["replaced"]),
                    _name(cell),
                )

    def _run_in_kernel(
        self, nb: NotebookNode, resources: dict[str, Any], results: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        sources = {id(cell): cell.source for cell in nb.cells}
        tests = [cell for cell in nb.cells if _is_test(cell)]
        for cell in tests:
            if _name(cell) in results:
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
        """Store the comments in the gradebook."""
        about = resources["nbgrader"]
        results = {result.exercise: result for result in about.get("results", ())}
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
        """Put `ungraded` into nbgrader's metadata of such cells."""
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
    """Return one result: the number that nbgrader takes as points, and the student's page."""
    assert result.points is not None
    points = round(min(max(result.points, 0.0), result.max_points), 4)
    data = {
        "text/plain": repr(float(points)),
        "text/html": html.exercise(result),
        MIME: exercise_fields(result),
    }
    return new_output("execute_result", data, execution_count=None)


def _comment(result: ExerciseResult) -> str:
    sentences = [f"{points(result)} points: {WORDS[result.status]}."]
    failed = [
        check for check in result.checks if check.max_points and check.status is not Status.PASSED
    ]
    if failed and result.status is not Status.TODO:
        counted = [check for check in result.checks if check.max_points]
        sentences.append(
            f"{len(failed)} of {len(counted)} checks failed, the first: {failed[0].title}"
        )
    sentences += [" ".join(diagnosis.in_full.split()) for diagnosis in result.diagnoses]
    sentences += [" ".join(line.message.split()) for line in result.lines]
    sentences.append(f"More below, in the cell {result.exercise}{POINTS}.")
    return "\n\n".join(escape(sentence, quote=False) for sentence in sentences)


def _is_test(cell: NotebookNode) -> bool:
    graded = utils.is_grade(cell) and not utils.is_solution(cell)
    return bool(cell.cell_type == "code" and graded)


def _is_written(cell: NotebookNode) -> bool:
    """Return whether it is an answer that is graded by hand."""
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
