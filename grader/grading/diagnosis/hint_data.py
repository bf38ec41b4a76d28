"""Hint data: one file per exercise, by which mistakes are named without running them.

`grader hints` writes it into the folder of `grader.recognition.prepared`, which is part of the kit
and of the student's edition. If its sources have changed since, `keep` makes it anew in the user's
cache.

A file holds the requests that reveal most (seeds in place of random numbers), the marks that every
known mistake leaves in the replies (from which no reply can be reconstructed), short hashes of the
words on the line where it is made, and its texts. It contains no answers, right or wrong, and no
hidden checks. `grader.board.known` reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grader.curriculum import mistakes, stubs
from grader.grading.diagnosis import fingerprints
from grader.grading.diagnosis.drawn_numbers import condense
from grader.grading.diagnosis.own_words import wrong_lines
from grader.recognition import cache, prepared
from grader.recognition.likeness import packed
from grader.remote import wire
from grader.remote.nested import rebuilt


def write(exercise: str) -> Path:
    """Write the file of an exercise that comes with the kit. Takes seconds."""
    file = prepared.file(exercise)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(made(exercise))
    return file


def keep(exercise: str) -> None:
    """Make the file of an exercise in the user's cache, if it is not there. Raises `OSError`."""
    file = cache.file(exercise, "hints")
    if prepared.sound(file) is None:
        with cache.made_once(file):
            if prepared.sound(file) is None:
                cache.write(file, made(exercise))


def content(exercise: str) -> bytes:
    """Return the content of the file: what comes with the kit, or else made now."""
    return prepared.content(exercise) or made(exercise)


def made(exercise: str) -> bytes:
    """Return the content of the file, made now."""
    library = fingerprints.load(exercise)
    requests = wire.encode([list(probe.requests) for probe in library.probes])
    data = {
        "names": list(library.names),
        "failed": library.failed,
        "marks": library.marks,
        "requests": condense(requests, library.draws),
        "right": [rebuilt(list(probe.right), _emptied) for probe in library.probes],
        "settings": [list(probe.settings) for probe in library.probes],
        "words": words(exercise),
        "lines": {name: packed(wrong_lines(exercise, name)) for name in library.mistakes},
        "read": stubs.further_reading(exercise),
    }
    return prepared.packed(exercise, data)


def words(exercise: str) -> dict[str, dict[str, str]]:
    """Return what is said of each known mistake of an exercise, and of which code, by its name."""
    keys = ("tells", "asks", "read", "nearly", "where", "unless")
    return {
        mistake.name: {key: getattr(mistake, key) for key in keys}
        for mistake in mistakes.load(exercise)
    }


def _emptied(leaf: Any) -> Any:
    """Return a tensor of the reference without its numbers, which the marks stand for."""
    return torch.empty(0, dtype=leaf.dtype) if isinstance(leaf, Tensor) else leaf


def main(exercise: str) -> None:
    """Keep the data of an exercise: the board calls it, which may be where there is no grader."""
    keep(exercise)
