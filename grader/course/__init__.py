"""The exercises as an nbgrader course: making it, grading it, exporting what was found.

`nbgrader_config.py` calls `configure`, and nbgrader's own commands then grade with the judge.
"""

from __future__ import annotations

from typing import Any

CONFIG = "nbgrader_config.py"
_HERE = "grader.course"
_NBGRADER = "nbgrader.preprocessors"
# nbgrader's own, after its header: https://nbgrader.readthedocs.io/en/stable/configuration
_RELEASE = (
    "InstantiateTests", "LockCells", "ClearSolutions", "ClearOutput", "CheckCellMetadata",
    "ComputeChecksums", "SaveCells", "ClearHiddenTests", "ClearMarkScheme", "ComputeChecksums",
    "CheckCellMetadata",
)  # fmt: skip


def configure(c: Any, isolation: str = "jail", search: bool = True) -> None:
    """Makes nbgrader grade the exercises with the judge; `c` is the object of `get_config()`.

    All other notebooks of the course are graded as nbgrader does. `isolation` says how far apart a
    student's code runs: "jail", or "process" where there is no bubblewrap. With `search` the wrong
    line is looked for where no known mistake fits, which takes up to two seconds an exercise.
    """
    c.GenerateAssignment.preprocessors = [
        f"{_NBGRADER}.IncludeHeaderFooter",
        f"{_HERE}.preprocessors.SayPoints",
        *(f"{_NBGRADER}.{name}" for name in _RELEASE),
    ]
    c.Autograde.exporter_class = f"{_HERE}.handed_in.HandedIn"
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
    c.HandedIn.isolation = isolation
    c.HandedIn.search = search
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
