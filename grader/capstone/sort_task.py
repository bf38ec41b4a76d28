"""The task `sort`: one attention layer learns to sort digits, in half a minute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.capstone import sorting, symptoms
from grader.capstone.answer_task import AnswerTask
from grader.capstone.events import Translation
from grader.capstone.exam import AnswerExam, Exam, Example, Learnt, Progress
from grader.capstone.task import Plan, Symptom
from grader.curriculum import whole_model

UNSEEN = 1000
LOOK_COUNT = 200  # of them, on the way


class SortTask(AnswerTask):
    """Eight digits in any order, and the same digits sorted."""

    name = "sort"
    seconds = 30.0
    entries = whole_model.entries(("masks", "attention"), {"masks": ("causal_mask",)})
    invitation = f"Type {sorting.COUNT} digits; an empty line ends it. For example: 31415926"
    examples = "sequences"
    right = "are sorted without a fault"
    loss = "cross-entropy of the sorted digits"
    exact = "Sequences sorted without a fault"
    unseen_attention = (
        "Your attention returns no weights of the shape (batch, heads, queries, keys), "
        "so they are not drawn."
    )

    def exam(self, plan: Plan) -> Exam:
        """Return sequences whose digits training never sees, in any order."""
        sequences = sorting.unseen(plan.unseen or UNSEEN)
        questions = [Example(digits, sorting.in_order(digits), "", "") for digits in sequences]
        return AnswerExam(questions, LOOK_COUNT)

    def question(self, typed: str) -> str:
        """Return the digits alone."""
        return sorting.read(typed)

    def shown(self, answer: Translation) -> str:
        """Return the digits that the layer wrote, and the right ones if they differ."""
        right = sorting.in_order(answer.source)
        note = "" if answer.target == right else f"   (wrong: it is {right})"
        return answer.target + note

    def symptoms(self, learnt: Learnt, history: Sequence[Progress]) -> Iterator[Symptom]:
        """Yield the symptoms that a layer which learns does not have, the most telling first."""
        yield from symptoms.infinite_loss(learnt, *self.entries)
        if learnt.behaviour.future:
            yield Symptom(
                "A later digit changes what the layer says before it: it sees the digit that it "
                f"should predict. So the loss ({learnt.loss:.2f}) means nothing, and writing, "
                "where nothing comes later, fails.",
                tuple(self.entries),
            )
        yield from symptoms.nothing_learnt(learnt, history, "attention")

    def read(self, answer: Translation) -> list[str]:
        """Return the digits, and what had been written behind them."""
        return [*answer.source, "|", *answer.target[:-1]]
