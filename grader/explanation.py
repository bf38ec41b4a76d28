"""What went wrong, in a student's words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from grader.board.hints import hint_for
from grader.sandbox.session import StudentError


def explain(error: Exception, sources: Mapping[str, str]) -> str:
    """The message for a failed check. `sources` are the student's files, by exercise."""
    if isinstance(error, StudentError):
        return _raised(error, sources)
    if isinstance(error, AssertionError):
        return str(error)
    return (
        "What your code returned is not of the form that the exercise describes, "
        f"so that it could not be checked ({type(error).__name__}: {error})."
    )


def _raised(error: StudentError, sources: Mapping[str, str]) -> str:
    meaning = hint_for(str(error))
    said = f"{meaning}\nYour code raised {error}" if meaning else f"Your code raised {error}"
    if error.file is None or error.line is None:
        return said
    name = PurePosixPath(error.file).stem
    lines = sources.get(name, "").splitlines()
    own = lines[error.line - 1].strip() if 0 < error.line <= len(lines) else ""
    return f"{said}\n  {name}.py, line {error.line}: {own}" if own else said
