"""The exercises as an nbgrader course: making it, grading it, exporting what was found.

`nbgrader_config.py` calls `configure`, and nbgrader's own commands then grade with the judge.
"""

from __future__ import annotations

from typing import Any

from grader.curriculum.hint_limit import hint_limit

CONFIG = "nbgrader_config.py"
_HERE = "grader.course"
_NBGRADER = "nbgrader.preprocessors"
# nbgrader's own, after its header: https://nbgrader.readthedocs.io/en/stable/configuration
_RELEASE = (
    "InstantiateTests", "LockCells", "ClearSolutions", "ClearOutput", "CheckCellMetadata",
    "ComputeChecksums", "SaveCells", "ClearHiddenTests", "ClearMarkScheme", "ComputeChecksums",
    "CheckCellMetadata",
)  # fmt: skip


def configure(
    c: Any,
    isolation: str = "jail",
    search: bool = True,
    own_tests: str = "jail",
    hints: str | None = None,
    hints_until: str | None = None,
) -> None:
    """Make nbgrader grade the exercises with the judge; `c` is the object of `get_config()`.

    All other notebooks of the course are graded as nbgrader does.

    Args:
        c: nbgrader's configuration.
        isolation: Where a student's code runs: "jail", or "process" where there is no bubblewrap.
        search: Whether to look for the wrong line where no known mistake fits, which takes up to
            two seconds per exercise.
        own_tests: Where graded tests of your own in a notebook of the kit's run: "jail", or
            "kernel" for nbgrader's own kernel, in which every student's code has your rights.
        hints: The last step of hints that a released notebook gives, one of
            `curriculum.hint_limit.STEPS` or "none"; None gives all.
        hints_until: When that limit ends, such as "2026-12-01" or "2026-12-01T18:00"; None: never.

    Raises:
        CurriculumError: `hints` is not a step, or `hints_until` is not a date.
        ValueError: `own_tests` is anything else.
    """
    if own_tests not in ("jail", "kernel"):
        raise ValueError(f'own_tests is "jail" or "kernel", not {own_tests!r}')
    hint_limit(hints, hints_until)
    c.GenerateAssignment.preprocessors = [
        f"{_NBGRADER}.IncludeHeaderFooter",
        f"{_HERE}.preprocessors.SayPoints",
        f"{_HERE}.preprocessors.LimitHints",
        *(f"{_NBGRADER}.{name}" for name in _RELEASE),
    ]
    c.Autograde.exporter_class = f"{_HERE}.submitted.Submitted"
    c.Autograde.sanitize_preprocessors = [
        f"{_NBGRADER}.ClearOutput",
        f"{_HERE}.repair.RepairCells",
    ]
    c.Autograde.autograde_preprocessors = [
        f"{_HERE}.preprocessors.JudgeExercises",
        f"{_NBGRADER}.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        f"{_NBGRADER}.LimitOutput",
        f"{_NBGRADER}.SaveAutoGrades",
        f"{_HERE}.preprocessors.WriteComments",
        f"{_NBGRADER}.AssignLatePenalties",
    ]
    c.LimitHints.hints = hints or ""
    c.LimitHints.until = hints_until or ""
    c.Submitted.isolation = isolation
    c.Submitted.search = search
    c.Submitted.own_tests = own_tests
    c.GenerateFeedback.exporter_class = f"{_HERE}.feedback.Feedback"
    c.GenerateFeedback.preprocessors = [
        f"{_NBGRADER}.GetGrades",
        f"{_HERE}.preprocessors.NoteUngraded",
    ]
    # In formgrader, nbgrader shows a student's Markdown and outputs as they are, scripts and all,
    # however long that takes.
    c.HTMLExporter.preprocessors = [f"{_HERE}.cleaning.SafeOutputs"]
    c.HTMLExporter.filters = {
        name: f"{_HERE}.cleaning.{name}"
        for name in ("markdown2html", "highlight_code", "ansi2html")
    }
