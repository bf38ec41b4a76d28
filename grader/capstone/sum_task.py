"""The task `sums`: a language model learns to add numbers of three digits."""

from __future__ import annotations

from collections.abc import Mapping

from grader.capstone import sums
from grader.capstone.answer_task import AnswerTask
from grader.capstone.events import Translation
from grader.capstone.exam import AnswerExam, Exam, Example, Learnt
from grader.capstone.language_task import LANGUAGE_MODEL, USED, LanguageTask
from grader.capstone.sums import UNSEEN, Sums
from grader.capstone.task import Plan
from grader.curriculum import whole_model

LOOK_COUNT = 200


class SumTask(LanguageTask, AnswerTask):
    """Sums such as 345+678=, answered from the last digit."""

    name = "sums"
    seconds = 90.0
    entries = whole_model.entries((*LANGUAGE_MODEL, "training_loop"), USED)
    invitation = "Type a sum of two numbers below 1000; an empty line ends it. For example: 345+678"
    examples = "sums"
    right = "are right in every digit"
    loss = "cross-entropy of the answer"
    exact = "Sums added without a fault"

    def exam(self, plan: Plan) -> Exam:
        """Return sums that training never sees."""
        held_out = Sums(plan.seed, plan.unseen or UNSEEN).held_out
        questions = [
            Example(task.question, task.answer, "", _carries(task.carries)) for task in held_out
        ]
        return AnswerExam(questions, LOOK_COUNT)

    def question(self, typed: str) -> str:
        """Return the sum with its zeros, such as `045+678=`."""
        return sums.read(typed).question

    def shown(self, answer: Translation) -> str:
        """Return the sum from its first digit, and what is right if that is something else."""
        written = answer.target[::-1]
        right = sums.read(answer.source).total
        if written == f"{right:0{sums.ANSWER}}":
            return str(right)
        return f"{written}   (wrong: it is {right})"

    def shares(self, learnt: Learnt) -> Mapping[str, float]:
        """Return the share of right sums by carries, if some are right and others are not."""
        return learnt.languages if 0 < learnt.exact < 1 else {}

    def wrong(self, example: Example) -> str:
        """Return a sum as the model wrote it, with the digits in their usual order."""
        return f"{example.source}{example.got[::-1]}, not {example.expected[::-1]}"

    def read(self, answer: Translation) -> list[str]:
        """Return the question as the model reads it, and what it had written."""
        return list(sums.from_last_digit(answer.source) + answer.target[:-1])

    def caption(self, answer: Translation) -> str:
        """Return the sum, and the order in which it was written."""
        return f"{answer.source}{answer.target[::-1]}, written from the last digit"


def _carries(count: int) -> str:
    return "1 carry" if count == 1 else f"{count} carries"
