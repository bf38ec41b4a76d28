"""Names the mistake in code that runs in this process, from data: no answers, no hidden checks.

The data of an exercise is one file, `NAME.hints`, which comes with the kit and with a student's
edition (`grader.recognition.prepared`). Where that no longer fits the kit's answers, checks and
mistakes, `grader.grading.diagnosis.hint_data` makes it anew at the first need, which takes seconds,
and it is kept in the user's cache.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch

from grader.board.time_limit import TookTooLong, time_limit
from grader.recognition import cache, packing, prepared, redrawing
from grader.recognition.evidence import alike, explain
from grader.recognition.features import Fingerprints, Prints, Probe
from grader.recognition.likeness import Words, ruled_out, unpacked
from grader.recognition.thresholds import ALMOST_ALL, CLEAN, MAX_ALIKE
from grader.remote import wire
from grader.remote.nested import sendable
from grader.remote.session import answers
from grader.sandbox import program

_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, struct.error)
_OTHER_TORCH = (
    "The known mistakes of {} were made with another version of torch, which draws other "
    "random numbers. Install the versions in constraints.txt."
)


class NoHintsError(Exception):
    """The data of an exercise is not there. The message says what to do."""


@dataclass(frozen=True)
class Said:
    """What is said of a known mistake, and of which code: see `grader.curriculum.mistakes`."""

    tells: str
    asks: str
    read: str
    nearly: str
    where: str
    unless: str


@dataclass(frozen=True)
class Known:
    """The known mistakes of an exercise: how each is recognised, and its texts.

    `lines` is what the lines are made of in which each is made; `read` is where to read on about
    the exercise.
    """

    prints: Fingerprints
    words: Mapping[str, Said]
    lines: Mapping[str, Sequence[Words]]
    read: str


def load(exercise: str) -> Known:
    """Return what is known of an exercise's mistakes. Raises `NoHintsError`."""
    return decoded(exercise, read(exercise))


def read(exercise: str) -> bytes:
    """Return the file of an exercise's mistakes, made if need be. Raises `NoHintsError`."""
    if not is_at_hand(exercise):
        _make(exercise)
    content = _at_hand(exercise)
    if content is None:
        raise NoHintsError(f"The known mistakes of {exercise} cannot be read.")
    return content


def is_at_hand(exercise: str) -> bool:
    """Return whether `load` has nothing to make first."""
    return _at_hand(exercise) is not None


def decoded(exercise: str, content: bytes) -> Known:
    """Return what the content of such a file says. Raises `NoHintsError`."""
    try:
        data = prepared.unpacked(content)
        requests = sendable(wire.decode_trusted(redrawing.restored(data["requests"])))
        parts = zip(requests, data["right"], data["settings"], strict=True)
        probes = [Probe(str(number), *part) for number, part in enumerate(parts)]
        names = data["names"]
        # All that is ever asked for is read here: what another version wrote may lack some of it.
        words = {name: Said(**data["words"][name]) for name in names}
        lines = {name: unpacked(data["lines"][name]) for name in names}
        # Public tests do not say which hidden checks this code passes: each difference counts.
        every_check = torch.ones_like(data["failed"])
        marks = packing.unpacked(data["marks"])
        if len(marks.codes) != len(names) + 1:
            raise ValueError("not one row of marks for each mistake and the right answer")
        return Known(Fingerprints(probes, names, marks, every_check), words, lines, data["read"])
    except redrawing.OtherNumbersError:
        raise NoHintsError(_OTHER_TORCH.format(exercise)) from None
    except (wire.WireError, *_DAMAGE) as error:
        raise NoHintsError(
            f"The known mistakes of {exercise} cannot be read ({type(error).__name__})."
        ) from None


def _at_hand(exercise: str) -> bytes | None:
    content = prepared.content(exercise)
    if content is None:
        with contextlib.suppress(OSError):  # an edition has nothing that it would be made of
            content = prepared.sound(cache.file(exercise, "hints"))
    return content


def _make(exercise: str) -> None:
    if find_spec("grader.grading") is None:
        raise NoHintsError(f"There are no known mistakes of {exercise} here.")
    done = program.run("grader.grading.diagnosis.hint_data", exercise)
    if done.returncode:
        lines = done.stderr.strip().splitlines()[-1:] or ["it ended without any output"]
        raise NoHintsError(f"The known mistakes of {exercise} could not be made ready: {lines[0]}")


def diagnose(known: Known, module: Any, source: str = "") -> list[tuple[str, ...]]:
    """Return the mistakes that explain what the module answers, the one that explains most first.

    Each is one name, or two that look the same from here. A mistake whose text speaks of something
    that the module's `source` does not have is left out.
    """
    return explained(known, marks(known, module), source)


def marks(known: Known, module: Any, patient: bool = True) -> Prints:
    """Return the marks of what the module answers.

    `module` has the names that the exercise asks for. It is run under the same limit of time as a
    public test. If it once takes too long, only a `patient` caller wants to know what the other
    calls return.
    """
    prints: list[Prints] = []
    is_given_up = False
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as where the marks were made, which hold this setting
    try:
        for probe in known.prints.probes:
            answer = None if is_given_up else _asked(probe, module)
            is_given_up = answer is None and not patient
            prints.append(Prints.blank(len(probe.keys)) if answer is None else answer)
    finally:
        torch.set_num_threads(threads)
    return Prints.join(prints)


def explained(known: Known, prints: Prints, source: str = "") -> list[tuple[str, ...]]:
    """Return the mistakes that explain these marks; see `diagnose`."""
    needs, denials = (
        {name: text for name, words in known.words.items() if (text := getattr(words, key))}
        for key in ("where", "unless")
    )
    refused = ruled_out(source, needs, denials)
    mistakes: list[tuple[str, ...]] = []
    for explanation in explain(known.prints, prints, refused=refused):
        for name in explanation.mistakes:
            same = [one for one in alike(known.prints, name, prints) if one not in refused]
            # Of those that look the same, the one that needs what the source has fits best.
            names = tuple(one for one in same if source and one in needs) or tuple(same)
            if len(names) <= MAX_ALIKE and not any(
                set(names) & set(mistake) for mistake in mistakes
            ):
                mistakes.append(names)
    return mistakes


def explain_all(known: Known, prints: Prints) -> frozenset[str]:
    """Return the mistakes of which one alone explains nearly all that is wrong in these marks."""
    return frozenset(
        explanation.mistakes[0]
        for explanation in explain(known.prints, prints)[:1]
        if len(explanation.mistakes) == 1 and explanation.recall >= CLEAN <= explanation.precision
    )


def repairs(known: Known, before: Prints, after: Prints, whole: bool) -> bool:
    """Return whether code whose marks were `before` is better with those of `after`.

    Nothing that was right may be wrong then. If it is to be a `whole` repair, the functions whose
    answers it changes have to answer as right code does, but for a few differences, as checks allow
    some.
    """
    right = known.prints.right
    is_wrong = after.differs(right)
    was_wrong = before.differs(right) | (right.said & ~before.said)
    is_changed = ~before.equal(after)
    is_worse = (is_wrong & before.same(right)) | (before.said & ~after.said)
    if bool(is_worse.any()):
        return False
    if not whole:
        return bool((is_changed & after.same(right)).any()) or not bool(is_changed.any())
    entries = [entry for probe in known.prints.probes for entry in probe.entries]
    changed = {entry for entry, there in zip(entries, is_changed.tolist(), strict=True) if there}
    concerned = torch.tensor([entry in changed for entry in entries])
    left, wrong = int((is_wrong & concerned).sum()), int((was_wrong & concerned).sum())
    return left <= (1 - ALMOST_ALL) * wrong


def _asked(probe: Probe, module: Any) -> Prints | None:
    """Return what the module answers; None if it takes too long or cannot be read.

    An object may raise whatever is asked of it, even what it is.
    """
    try:
        with time_limit():
            return probe.read(answers(module, probe.requests))
    except (Exception, TookTooLong):
        return None
