"""Names the mistake in code that runs in this process, from data: no answers, no hidden checks.

The data of an exercise is one file, `NAME.hints`. `grader.judging.hints.write_hints` makes it for
the student's edition, in the folder `SHIPPED`. In the full kit the command `grader hints` makes it
at the first need, which takes seconds, and keeps it in the user's cache.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.board.time_limit import TookTooLong, time_limit
from grader.curriculum import kept
from grader.feedback.evidence import alike, explain
from grader.feedback.likeness import Words, unpacked
from grader.feedback.prints import Fingerprints, Prints, Probe

SHIPPED = Path(__file__).parent / "known"
MAX_ALIKE = 2


class NoHintsError(Exception):
    """The data of an exercise is not there. The message says what to do."""


@dataclass(frozen=True)
class Known:
    """The known mistakes of an exercise: what they are known by, and what is said of each.

    `words` holds `tells`, `asks`, `read` and `nearly` by name, `lines` what the lines are made of
    in which each is made; `read` is where to read on about the exercise as a whole.
    """

    prints: Fingerprints
    words: Mapping[str, Mapping[str, str]]
    lines: Mapping[str, Sequence[Words]]
    read: str


def load(exercise: str) -> Known:
    """What is known of an exercise's mistakes. Raises `NoHintsError`."""
    from grader.remote import wire

    file = SHIPPED / f"{exercise}.hints"
    if not file.is_file():
        try:
            file = kept.file(exercise, "hints")
        except OSError:  # an edition without the files that it would be made of
            raise NoHintsError(f"There are no known mistakes of {exercise} here.") from None
    if not file.is_file():
        _make(exercise)
    try:
        data = wire.decode_trusted(lzma.decompress(file.read_bytes())[4:])
        probes = [Probe(**one) for one in data["probes"]]
        lines = {name: unpacked(some) for name, some in data["lines"].items()}
        prints = Fingerprints.from_data(probes, data)
        return Known(prints, data["words"], lines, data["read"])
    except (OSError, lzma.LZMAError, wire.WireError, KeyError) as error:
        raise NoHintsError(
            f"{file} cannot be read ({type(error).__name__}). Delete it, then run: "
            f"grader hints {exercise}"
        ) from None


def _make(exercise: str) -> None:
    command = [sys.executable, "-m", "grader", "hints", exercise]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or ["it ended without a word"]
        raise NoHintsError(
            f"The known mistakes of {exercise} could not be made ready: {said[0]}\n"
            f"To see more, run: grader hints {exercise}"
        )


def diagnose(known: Known, module: Any) -> list[tuple[str, ...]]:
    """The mistakes that explain what the module answers, the one that explains most first.

    Each is one name, or two that look the same from here. `module` has the names that the exercise
    asks for. It is run under the same limit of time as a public test.
    """
    theirs = Prints.join([_asked(probe, module) for probe in known.prints.probes])
    found: list[tuple[str, ...]] = []
    for explanation in explain(known.prints, theirs):
        for name in explanation.mistakes:
            names = tuple(alike(known.prints, name, theirs))
            if len(names) <= MAX_ALIKE and not any(set(names) & set(one) for one in found):
                found.append(names)
    return found


def _asked(probe: Probe, module: Any) -> Prints:
    from grader.remote.session import answers

    try:
        with time_limit():
            return probe.read(answers(module, probe.requests))
    except TookTooLong:
        return Prints.blank(len(probe.keys))
