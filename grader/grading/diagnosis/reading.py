"""What a student's source says for known mistakes, and against them, without being run."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from grader.curriculum import mistakes
from grader.grading.diagnosis.own_words import changes
from grader.recognition.likeness import Lines
from grader.recognition.unused import left_out


@dataclass(frozen=True)
class Reading:
    """What a source leaves out, and the mistakes whose line is as it should be."""

    unread: AbstractSet[str] = frozenset()
    correct: AbstractSet[str] = frozenset()


NOT_READ = Reading()


def read(exercise: str, source: str) -> Reading:
    """Compare a student's source with every known mistake of an exercise."""
    lines = Lines(source)
    names = (mistake.name for mistake in mistakes.load(exercise))
    correct = frozenset(name for name in names if lines.correct(changes(exercise, name)))
    return Reading(left_out(source), correct)
