"""What went wrong, as a finding in terms of the student's code."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from grader.curriculum.rules import AT_IMPORT, rule
from grader.feedback.exceptions import hint_for
from grader.feedback.finding import Finding, Place
from grader.feedback.mismatch import Mismatch
from grader.grading.cpu_limit import TooSlow, cpu_limit
from grader.grading.own_line import made_at, place_of, quoted
from grader.grading.raised import ASKS_SHAPE, fact_of, proven_by
from grader.recognition.spelling import suggestion
from grader.remote.session import StudentError, Use, clean

SECONDS = 1.0  # to read in a source what an error means; it takes milliseconds

_BY_NAME = (
    "The exercise gives the names and shapes of all parameters; weights are put in by name. Is it "
    "an nn.Parameter, or inside a module, that `self` holds under this name?"
)


def explain(error: Exception, sources: Mapping[str, str], exercise: str = "") -> Finding:
    """Return the finding of a failed check of an exercise.

    `sources` are the student's files, by exercise. Where one cannot be read, or not in time, the
    finding is only that the code raised.
    """
    if isinstance(error, StudentError):
        finding = Finding(f"Your code raised {error}", places=_places(error, sources))
        with contextlib.suppress(Exception, TooSlow), cpu_limit(SECONDS):
            finding = _raised(error, sources, exercise)
        return finding
    if isinstance(error, Mismatch):
        return _placed(error, sources.get(exercise, ""), exercise)
    if isinstance(error, AssertionError):
        return Finding(str(error))
    return Finding(
        "What your code returned does not have the form that the exercise describes, "
        f"so it could not be checked ({type(error).__name__}: {clean(str(error))})."
    )


def _raised(error: StudentError, sources: Mapping[str, str], exercise: str) -> Finding:
    if "ParameterShapeError" in error.kinds:
        made = made_at(error.text.partition(" ")[0], exercise, sources.get(exercise, ""))
        return Finding(f"The parameter {error.text}.", None, ASKS_SHAPE, made)
    if "MissingParameterError" in error.kinds:
        return Finding(f"Your module has no parameter called `{error.text}`. {_BY_NAME}")
    raised = f"Your code raised {error}"
    places = _places(error, sources)
    source = sources.get(exercise, "")
    fact = fact_of(error, source, exercise) if source else None
    places = places or ((place_of(exercise, fact.line, source),) if fact else ())
    meaning = clean(fact.tells) if fact else _meaning(str(error), places, sources)
    if meaning:
        return Finding(meaning, help=raised, places=places)
    return Finding(raised, places=places)


def _placed(error: Mismatch, source: str, exercise: str) -> Finding:
    """Return the finding of a check with the only line that can be the cause, if there is one.

    That is where a gradient is cut off, or a parameter made that has the wrong shape.
    """
    finding = error.finding
    with contextlib.suppress(Exception, TooSlow), cpu_limit(SECONDS):
        fact = None if finding.places else proven_by(error, source, exercise)
        if fact is not None:
            told = "" if fact.tells == finding.headline else fact.tells
            help = " ".join(filter(None, (told, finding.help)))
            return replace(finding, help=help, places=(place_of(exercise, fact.line, source),))
    return finding


def _meaning(error: str, places: Sequence[Place], sources: Mapping[str, str]) -> str:
    if not places:
        return hint_for(error)
    place = places[0]
    source = sources.get(place.file.removesuffix(".py"), "")
    return hint_for(error, place.source, suggestion(error, source, place.line))


def explain_use(
    uses: Sequence[Use], exercise: str, sources: Mapping[str, str], imported: bool
) -> Finding:
    """Return the finding for forbidden calls, noticed in a call or during the import."""
    headline = rule(exercise).message([use.name for use in uses])
    places = (place for use in uses for place in _places(use, sources))
    return Finding(headline, None, AT_IMPORT if imported else "", tuple(dict.fromkeys(places)))


def _places(noticed: StudentError | Use, sources: Mapping[str, str]) -> tuple[Place, ...]:
    if noticed.file is None or noticed.line is None:
        return ()
    name = PurePosixPath(noticed.file).stem
    own = quoted(sources.get(name, ""), noticed.line)
    return (Place(f"{name}.py", noticed.line, own),) if own else ()
