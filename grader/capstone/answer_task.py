"""Tasks whose questions have one right answer each: their texts and pictures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.capstone import drawing
from grader.capstone.events import Translation
from grader.capstone.exam import Example, Learnt, Progress
from grader.capstone.task import BOLD, PLAIN, Line, Task, after

LEARNT = 0.99  # from this share of right answers on, the model counts as trained
MOST_WRONG = 3


class AnswerTask(Task):
    """A task of `examples`, such as dates; `right` describes those answered without a fault.

    `loss` names what the training minimises, `exact` is the title of the share of right answers.
    `unseen_attention` is the text in place of attention that can't be drawn.
    """

    examples: str
    right: str
    loss: str
    exact: str
    unseen_attention = "Its attention could not be seen from outside, so it is not drawn."

    def measured(self, event: Progress) -> str:
        """Return the share of unseen examples that are right."""
        return f"{event.exact:.0%} of unseen {self.examples} right"

    def has_learnt(self, learnt: Learnt) -> bool:
        """Return whether nearly all unseen examples are right."""
        return learnt.exact >= LEARNT

    def lines(self, learnt: Learnt) -> Iterator[Line]:
        """Yield how many unseen examples are right, also by group, and some that are not."""
        right = round(learnt.exact * learnt.count)
        yield (
            f"{right} of {learnt.count} {self.examples} that it never saw {self.right} "
            f"({learnt.exact:.1%}), {after(learnt)}.",
            BOLD,
        )
        if shares := self.shares(learnt):
            yield "  " + "   ".join(f"{name} {share:.0%}" for name, share in shares.items()), PLAIN
        for example in learnt.wrong[:MOST_WRONG]:
            yield f"  wrong: {self.wrong(example)}", PLAIN
        if not any(answer.attention for answer in learnt.translations):
            yield f"  {self.unseen_attention}", PLAIN

    def shares(self, learnt: Learnt) -> Mapping[str, float]:
        """Return the share of right answers by group, as far as that is worth telling."""
        del learnt
        return {}

    def wrong(self, example: Example) -> str:
        """Return an example and what the model made of it."""
        return f"{example.source} → {example.got}, not {example.expected}"

    def figures(self, learnt: Learnt, history: Sequence[Progress]) -> dict[str, Any]:
        """Return the loss, what the task draws, and what each head attends to in some answers."""
        drawn = {
            "loss": drawing.loss(history, self.loss),
            "exact": drawing.looks(
                history, lambda event: event.exact, f"unseen {self.examples}", self.exact, "share"
            ),
            **self.pictures(learnt),
        }
        for number, answer in enumerate(learnt.translations, 1):
            picture = drawing.heads(
                answer, list(answer.target), self.read(answer), self.caption(answer)
            )
            if picture is not None:
                drawn[f"attention-{number}"] = picture
        return drawn

    def pictures(self, learnt: Learnt) -> dict[str, Any]:
        """Return pictures of this task alone."""
        del learnt
        return {}

    @abstractmethod
    def read(self, answer: Translation) -> list[str]:
        """Return the tokens that were read while this was answered."""

    def caption(self, answer: Translation) -> str:
        """Return the title of the answer's picture."""
        return f"{answer.source} → {answer.target}"
