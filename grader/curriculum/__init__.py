"""What is taught, as data: exercises, stubs, the reference, the rules and the known mistakes."""

from grader.curriculum.exercises import (
    EXERCISES,
    NAMES,
    CurriculumError,
    Exercise,
    closure,
    find,
    unknown,
)

__all__ = ["EXERCISES", "NAMES", "CurriculumError", "Exercise", "closure", "find", "unknown"]
