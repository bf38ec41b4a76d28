"""Names the mistake in code that runs in this process, from data: no answers, no hidden checks.

The data of an exercise is one file, `NAME.hints`. `write_hints` in `grader.grading.diagnosis`
makes it for the student's edition, in the folder `SHIPPED`. In the full kit the command
`grader hints` makes it at the first need, which takes seconds, and keeps it in the user's cache.
"""

from __future__ import annotations

import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.board.time_limit import TookTooLong, time_limit
from grader.recognition import cache, packing, redrawing
from grader.recognition.evidence import alike, explain
from grader.recognition.features import Fingerprints, Prints, Probe
from grader.recognition.likeness import Words, unpacked
from grader.recognition.thresholds import MAX_ALIKE
from grader.remote import wire
from grader.remote.nested import sendable
from grader.remote.session import answers
from grader.sandbox import program

SHIPPED = Path(__file__).parent / "known"
_DAMAGE = (lzma.LZMAError, ValueError, KeyError, IndexError, TypeError, RuntimeError)
_OTHER_TORCH = (
    "{} was made with another version of torch, which draws other random numbers. "
    "Install the versions in constraints.txt."
)


class NoHintsError(Exception):
    """The data of an exercise is not there. The message says what to do."""


@dataclass(frozen=True)
class Known:
    """The known mistakes of an exercise: how each is recognised, and its texts.

    `words` holds `tells`, `asks`, `read` and `nearly` by name, `lines` what the lines are made of
    in which each is made; `read` is where to read on about the exercise as a whole.
    """

    prints: Fingerprints
    words: Mapping[str, Mapping[str, str]]
    lines: Mapping[str, Sequence[Words]]
    read: str


def load(exercise: str) -> Known:
    """Return what is known of an exercise's mistakes. Raises `NoHintsError`."""
    return decoded(exercise, read(exercise))


def read(exercise: str) -> bytes:
    """The file of an exercise's mistakes, made if it is not there yet. Raises `NoHintsError`."""
    file = _file(exercise)
    if not file.is_file():
        _make(exercise)
    try:
        return file.read_bytes()
    except OSError as error:
        raise _unreadable(exercise, error) from None


def is_at_hand(exercise: str) -> bool:
    """Return whether `load` has nothing to make first."""
    try:
        return _file(exercise).is_file()
    except NoHintsError:
        return False


def decoded(exercise: str, content: bytes) -> Known:
    """Return what the content of such a file says. Raises `NoHintsError`."""
    try:
        data = wire.decode_trusted(wire.body(lzma.decompress(content)))
        requests = sendable(wire.decode_trusted(redrawing.restored(data["requests"])))
        parts = zip(requests, data["right"], data["settings"], strict=True)
        probes = [Probe(str(number), *part) for number, part in enumerate(parts)]
        lines = {name: unpacked(words) for name, words in data["lines"].items()}
        prints = Fingerprints(
            probes, data["names"], packing.unpacked(data["marks"]), data["failed"]
        )
        return Known(prints, data["words"], lines, data["read"])
    except redrawing.OtherNumbersError:
        raise NoHintsError(_OTHER_TORCH.format(_file(exercise))) from None
    except (wire.WireError, *_DAMAGE) as error:
        raise _unreadable(exercise, error) from None


def _file(exercise: str) -> Path:
    shipped = SHIPPED / f"{exercise}.hints"
    if shipped.is_file():
        return shipped
    try:
        return cache.file(exercise, "hints")
    except OSError:  # an edition without the files that it would be made of
        raise NoHintsError(f"There are no known mistakes of {exercise} here.") from None


def _unreadable(exercise: str, error: Exception) -> NoHintsError:
    return NoHintsError(
        f"{_file(exercise)} cannot be read ({type(error).__name__}). Delete it, then run: "
        f"grader hints {exercise}"
    )


def _make(exercise: str) -> None:
    done = program.run("grader.grading.diagnosis.hint_data", exercise)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or ["it ended without a word"]
        raise NoHintsError(
            f"The known mistakes of {exercise} could not be made ready: {said[0]}\n"
            f"To see more, run: grader hints {exercise}"
        )


def diagnose(known: Known, module: Any, patient: bool = True) -> list[tuple[str, ...]]:
    """Return the mistakes that explain what the module answers, the one that explains most first.

    Each is one name, or two that look the same from here. `module` has the names that the exercise
    asks for. It is run under the same limit of time as a public test. If it once takes too long,
    only a `patient` caller wants to know what the other calls return.
    """
    prints: list[Prints] = []
    is_given_up = False
    for probe in known.prints.probes:
        answer = None if is_given_up else _asked(probe, module)
        is_given_up = answer is None and not patient
        prints.append(Prints.blank(len(probe.keys)) if answer is None else answer)
    return explained(known, Prints.join(prints))


def explained(known: Known, theirs: Prints) -> list[tuple[str, ...]]:
    """Return the mistakes that explain these marks; see `diagnose`."""
    mistakes: list[tuple[str, ...]] = []
    for explanation in explain(known.prints, theirs):
        for name in explanation.mistakes:
            names = tuple(alike(known.prints, name, theirs))
            if len(names) <= MAX_ALIKE and not any(
                set(names) & set(mistake) for mistake in mistakes
            ):
                mistakes.append(names)
    return mistakes


def _asked(probe: Probe, module: Any) -> Prints | None:
    """What the module answers; None if it takes too long."""
    try:
        with time_limit():
            return probe.read(answers(module, probe.requests))
    except TookTooLong:
        return None
