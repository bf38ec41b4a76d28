"""The task `prose`: a language model learns from Python's reference, and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from grader.capstone import drawing, prose
from grader.capstone.events import Translation
from grader.capstone.exam import Exam, Learnt, Progress
from grader.capstone.language_task import LANGUAGE_MODEL, USED, LanguageTask
from grader.capstone.prose_exam import ProseExam
from grader.capstone.task import (
    BOLD,
    PLAIN,
    WARNING,
    Line,
    Plan,
    after,
)
from grader.curriculum import whole_model

LEARNT = 2.0  # up to this many bits per character, the model counts as trained


class ProseTask(LanguageTask):
    """Python's reference, as tokens of several characters."""

    name = "prose"
    seconds = 180.0
    entries = whole_model.entries(
        (*LANGUAGE_MODEL, "training_loop", "sampling", "subwords"),
        {**USED, "sampling": ("generate",)},
    )
    invitation = (
        "Type the beginning of a text; an empty line ends it. For example: The with statement"
    )

    def exam(self, plan: Plan) -> Exam:
        """Return the last part of the text."""
        del plan
        return ProseExam(prose.parts(prose.whole())[1])

    def material(self, plan: Plan) -> str:
        """Return the text without its last part."""
        del plan
        return prose.parts(prose.whole())[0]

    def shown(self, answer: Translation) -> str:
        """Return the beginning and the model's continuation."""
        return answer.source + answer.target

    def measured(self, event: Progress) -> str:
        """Return the bits of a character of unseen text."""
        return f"{event.bits:.2f} bits a character" if event.bits == event.bits else ""

    def has_learnt(self, learnt: Learnt) -> bool:
        """Return whether it predicts unseen text well, and writes what it predicts."""
        return learnt.bits <= LEARNT and bool(learnt.behaviour.greedy and learnt.behaviour.cached)

    def lines(self, learnt: Learnt) -> Iterator[Line]:
        """Yield what a character of unseen text costs, and a text that the model wrote."""
        if learnt.refuted:
            yield f"How well it predicts cannot be measured, {after(learnt)}:", WARNING
            yield f"  {learnt.refuted}", WARNING
        else:
            yield (
                f"A character of text that it never saw costs {learnt.bits:.2f} bits, "
                f"{after(learnt)}; zlib needs {learnt.zlib:.2f}.",
                BOLD,
            )
        for text in learnt.translations:
            yield "", PLAIN
            for line in self.shown(text).splitlines():
                yield f"  {line}", PLAIN

    def figures(self, learnt: Learnt, history: Sequence[Progress]) -> dict[str, Any]:
        """Return the loss, and the bits of a character of unseen text."""
        del learnt
        bits = drawing.looks(
            history,
            lambda event: event.bits,
            "unseen text",
            "What a character of unseen text costs",
            "bits",
        )
        return {"loss": drawing.loss(history, "cross-entropy of a token"), "bits": bits}
