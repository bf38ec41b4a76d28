"""What a student's source says for known mistakes, and against them, without being run."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property

from grader.grading.diagnosis.own_words import changes
from grader.recognition.likeness import Lines
from grader.recognition.unused import left_out


class Reading:
    """What a source leaves out, and the mistakes whose line is as it should be.

    The source is compared with a mistake when that is asked for: few mistakes come into question.
    """

    def __init__(self, exercise: str, source: str) -> None:
        self.exercise = exercise
        self.source = source
        # Of a source that is not known, nothing is said to be left out.
        self.unread: AbstractSet[str] = left_out(source) if source else frozenset()
        self.compared: dict[str, bool] = {}

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.source)

    def correct(self, name: str) -> bool:
        """Whether the line that a mistake changes is in the source, as it should be."""
        if name not in self.compared:
            self.compared[name] = self._lines.correct(changes(self.exercise, name))
        return self.compared[name]

    def like(self, other: Reading) -> bool:
        """Whether this source says the same as another of all that was asked of that one."""
        return self.unread == other.unread and all(
            self.correct(name) == known for name, known in other.compared.items()
        )
