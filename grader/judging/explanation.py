"""What went wrong, in a student's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from grader.curriculum.rules import rule
from grader.feedback.hints import hint_for
from grader.remote.session import StudentError, Use

_BY_NAME = (
    "The exercise gives the names and shapes of all parameters; weights are put in by name. Is it "
    "an nn.Parameter, or inside a module, that `self` holds under this name?"
)


_AT_IMPORT = (
    "This happened while the file was imported. If the line only compares your answer with "
    'torch\'s, put it under `if __name__ == "__main__":` or in a test: there it costs nothing.'
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
    return said + _place(error.file, error.line, sources)


def explain_use(
    uses: Sequence[Use], exercise: str, sources: Mapping[str, str], imported: bool
) -> str:
    """The message for calls that the exercise rules out, noticed in a call or at its import."""
    said = rule(exercise).message([use.name for use in uses])
    places = dict.fromkeys(_place(use.file, use.line, sources) for use in uses)
    return "".join([said, *places, f"\n{_AT_IMPORT}" if imported else ""])


def _place(file: str | None, number: int | None, sources: Mapping[str, str]) -> str:
    """A line of the student's, after a line break; nothing if it is not known."""
    if file is None or number is None:
        return ""
    name = PurePosixPath(file).stem
    lines = sources.get(name, "").splitlines()
    own = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return f"\n  {name}.py, line {number}: {own}" if own else ""
