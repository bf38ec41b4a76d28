"""Makes the data by which a student's own machine names a mistake: one file an exercise.

    write_hints(Path("edition/grader/board/known"), ("masks", "attention"))

is what makes the student's edition; the board looks into that folder first. In the full kit it runs
`grader hints NAME`, which keeps the file in the user's cache.

A file holds the requests that reveal most (of random numbers the seeds), what every known mistake
leaves in the replies (as numbers that no reply can be made of), short hashes of the words on the
line where it is made, and what is said of it. There is no answer in it, none with a mistake in it
either, and no hidden check. `grader.board.known` reads it.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grader.curriculum import NAMES, stubs
from grader.grading.diagnosis import fingerprints
from grader.grading.diagnosis.drawn_numbers import condense
from grader.grading.diagnosis.own_words import wrong_lines
from grader.recognition import cache
from grader.recognition.likeness import packed
from grader.recognition.packing import packed as packed_marks
from grader.remote import wire
from grader.remote.nested import rebuilt

# Of each mark; see `grader.recognition.packing`.
PROJECTIONS = 1


def write_hints(folder: Path, exercises: Sequence[str] = NAMES) -> list[Path]:
    """Writes `NAME.hints` for every exercise into the folder, and returns the files.

    Takes seconds for each exercise whose fingerprints have not been made for this version yet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for exercise in exercises:
        file = folder / f"{exercise}.hints"
        file.write_bytes(encoded(exercise))
        files.append(file)
    return files


def keep(exercise: str) -> Path:
    """The file of an exercise in the user's cache, made if it is not there. Raises `OSError`."""
    file = cache.file(exercise, "hints")
    if not file.is_file():
        with cache.made_once(file):
            if not file.is_file():
                cache.write(file, encoded(exercise))
    return file


def encoded(exercise: str) -> bytes:
    """The content of the file."""
    library = fingerprints.load(exercise)
    requests = wire.encode([list(probe.requests) for probe in library.probes])
    data = {
        "names": list(library.names),
        "failed": library.failed,
        "marks": packed_marks(library.rows, PROJECTIONS),
        "requests": condense(requests, library.draws),
        "right": [rebuilt(list(probe.right), _emptied) for probe in library.probes],
        "settings": [list(probe.settings) for probe in library.probes],
        "words": {
            mistake.name: {
                "tells": mistake.tells,
                "asks": mistake.asks,
                "read": mistake.read,
                "nearly": mistake.nearly,
            }
            for mistake in library.mistakes.values()
        },
        "lines": {name: packed(wrong_lines(exercise, name)) for name in library.mistakes},
        "read": stubs.further_reading(exercise),
    }
    return lzma.compress(wire.encode(data), preset=9 | lzma.PRESET_EXTREME)


def _emptied(leaf: Any) -> Any:
    """A tensor of the reference's without its numbers: what is compared is kept in the marks."""
    return torch.empty(0, dtype=leaf.dtype) if isinstance(leaf, Tensor) else leaf


def main(exercise: str) -> None:
    """Keep the data of an exercise: the board calls it, which may be where there is no grader."""
    keep(exercise)
