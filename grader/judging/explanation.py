"""What went wrong, in a student's words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from grader.feedback.hints import hint_for
from grader.remote.session import StudentError

_BY_NAME = (
    "The exercise gives the names and shapes of all parameters; weights are put in by name. Is it "
    "an nn.Parameter, or inside a module, that `self` holds under this name?"
)


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
    if "MissingParameterError" in error.kinds:
        return f"Your module has no parameter called `{error.text}`. {_BY_NAME}"
    if "ParameterShapeError" in error.kinds:
        return f"The parameter {error.text}. {_BY_NAME}"
    meaning = hint_for(str(error))
    said = f"{meaning}\nYour code raised {error}" if meaning else f"Your code raised {error}"
    if error.file is None or error.line is None:
        return said
    name = PurePosixPath(error.file).stem
    lines = sources.get(name, "").splitlines()
    own = lines[error.line - 1].strip() if 0 < error.line <= len(lines) else ""
    return f"{said}\n  {name}.py, line {error.line}: {own}" if own else said
