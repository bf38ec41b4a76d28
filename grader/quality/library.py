"""Maintenance of the library of known mistakes: checking entries, starting new ones."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence

from grader.curriculum import CurriculumError, mistakes, stubs
from grader.curriculum.mistakes import variants
from grader.grading.diagnosis import fingerprints
from grader.quality import entry
from grader.remote.session import clean
from grader.sandbox import jail

MEGABYTES, SECONDS = 8000, 1200.0


def check(exercise: str, names: Sequence[str] = ()) -> tuple[list[str], dict[str, list[str]]]:
    """Return what is wrong with these mistakes of an exercise, or with all of them.

    First the sentences on entries that do not fit the answer which they edit; if there are none,
    by name what is amiss with each: an edit that no check catches, others that look the same.

    Raises CurriculumError for a name that no mistake has.
    """
    known = [mistake.name for mistake in mistakes.load(exercise)]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise CurriculumError(f"{exercise} has no mistake {unknown[0]!r}.")
    misfits = variants.misfits(exercise)
    if misfits:
        return misfits, {}
    prints = fingerprints.load(exercise)
    return [], {name: prints.faults(name) for name in names or known}


def check_in_jail(
    exercise: str, names: Sequence[str] = ()
) -> tuple[list[str], dict[str, list[str]]]:
    """`check`, with the statements of the entries run in a jail: students wrote some of them.

    It can be forged, too, so it is checked, and cleaned of control characters.
    Raises `CurriculumError`, also where there is no jail or it does not end well.
    """
    problem = jail.why_unavailable()
    if problem:
        raise CurriculumError(problem)
    program = f"from grader.quality import library; library.main({exercise!r}, {list(names)!r})"
    try:
        process = subprocess.run(
            jail.enclosed(program, MEGABYTES),
            capture_output=True,
            env=jail.environment(),
            timeout=SECONDS,
            check=False,
        )
        answer = json.loads(process.stdout)
        refused, misfits = answer["refused"], [str(misfit) for misfit in answer["misfits"]]
        problems = {
            clean(str(name), 80): [clean(str(fault)) for fault in faults]
            for name, faults in answer["problems"].items()
        }
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CurriculumError(f"The check did not end: {clean(str(error))}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        end = clean(process.stderr.decode("utf-8", "replace")[-400:].strip())
        raise CurriculumError(f"The check ended before it was done. {end}") from None
    if refused:
        raise CurriculumError(clean(str(refused)))
    return [clean(misfit) for misfit in misfits], problems


def main(exercise: str, names: Sequence[str]) -> None:
    """Check and print what was found as JSON, for `check_in_jail`."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    refused, misfits, problems = "", list[str](), dict[str, list[str]]()
    try:
        misfits, problems = check(exercise, names)
    except CurriculumError as error:
        refused = str(error)
    json.dump({"refused": refused, "misfits": misfits, "problems": problems}, out)
    out.flush()


def begin(exercise: str, student_answer: str) -> tuple[str, list[str]]:
    """Return the beginning of an entry that makes the mistake of the answer `student_answer`.

    And the helpers that their file defines, which the entry's edit leaves out.
    """
    answer = stubs.solution(exercise)
    return entry.begin(exercise, answer, student_answer), entry.helpers(answer, student_answer)
