"""The task `dates`: a Transformer learns to write dates in ISO form."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader import pictures
from grader.capstone import symptoms
from grader.capstone.answer_task import AnswerTask
from grader.capstone.dates import SMOOTHING, Dates, source_characters, target_size
from grader.capstone.events import Translation
from grader.capstone.exam import AnswerExam, Exam, Example, Learnt, Progress
from grader.capstone.task import Plan, Symptom
from grader.curriculum import closure, whole_model

UNSEEN = 1100
LOOK_COUNT = 220

_SEEING = ("masks", "attention", "multi_head")
_LEARNING = (
    *("attention", "multi_head", "embedding", "layer_norm", "feed_forward", "sublayer"),
    *("encoder", "decoder", "transformer", "training"),
)


def lowest_loss() -> float:
    """Return the label-smoothed loss of a model that is always right."""
    size = target_size()
    smoothed = SMOOTHING / size
    label = 1 - SMOOTHING + smoothed
    return -label * math.log(label) - (size - 1) * smoothed * math.log(smoothed)


def _by_script(embedding: Sequence[Sequence[float]]) -> dict[str, dict[str, Sequence[float]]]:
    """Return each source character's point by script; nothing if the numbers differ."""
    characters = source_characters()
    if [len(point) for point in embedding] != [2] * len(characters):
        return {}
    points: dict[str, dict[str, Sequence[float]]] = {}
    for character, point in zip(characters, embedding, strict=True):
        points.setdefault(_script(character), {})[character] = point
    return points


def _script(character: str) -> str:
    if character.isdigit():
        return "digits"
    if not character.isalpha():
        return "punctuation"
    script = unicodedata.name(character).split()[0]
    return script.capitalize() if script in ("LATIN", "CYRILLIC") else "Chinese, Japanese, Korean"


class DateTask(AnswerTask):
    """Dates as people write them, in thirteen languages, and the same in ISO form."""

    name = "dates"
    seconds = 180.0
    entries = whole_model.entries(
        (*closure("transformer"), "transformer", "training", "decoding"),
        {"decoding": ("greedy_decode",)},
    )
    invitation = "Type a date in words; an empty line ends it. For example: 21 de mayo de 1999"
    examples = "dates"
    right = "are right in every character"
    loss = "label-smoothed loss"
    exact = "Dates translated without a fault"
    unseen_attention = "Its cross-attention could not be seen from outside, so it is not drawn."

    def exam(self, plan: Plan) -> Exam:
        """Return dates that training never sees, in every style."""
        pairs = Dates(plan.seed).held_out_pairs(plan.unseen or UNSEEN)
        return AnswerExam(
            [Example(pair.source, pair.target, "", pair.language) for pair in pairs], LOOK_COUNT
        )

    def shown(self, answer: Translation) -> str:
        """Return the ISO form, and what the model could not read."""
        unknown = f"   (it never saw {', '.join(answer.unknown)})" if answer.unknown else ""
        return answer.target + unknown

    def shares(self, learnt: Learnt) -> Mapping[str, float]:
        """Return the share of right dates by language, the hardest first."""
        if not learnt.exact:
            return {}
        return dict(sorted(learnt.languages.items(), key=lambda share: share[1]))

    def symptoms(self, learnt: Learnt, history: Sequence[Progress]) -> Iterator[Symptom]:
        """Yield the symptoms that a model which learns does not have, the most telling first."""
        does = learnt.behaviour
        yield from symptoms.infinite_loss(
            learnt, *_SEEING, "layer_norm", "encoder", "decoder", "transformer", "training"
        )
        if does.future:
            yield Symptom(
                "Changing a target character changes the predictions before it. So the model "
                f"sees the character it should predict: its loss ({learnt.loss:.2f}; the lowest "
                f"possible is {lowest_loss():.2f}) means nothing, and translating fails, because "
                "there are no later characters then.",
                (*_SEEING, "decoder", "transformer"),
            )
        if does.source is False:
            yield Symptom(
                "Changing the source does not change the predictions: the model ignores what it "
                "reads.",
                ("attention", "multi_head", "encoder", "decoder", "transformer"),
            )
        if does.source_order is False or does.target_order is False:
            side = "source" if does.source_order is False else "target"
            yield Symptom(
                f"The same character at eight positions of the {side} has the same vector at all "
                "of them: the model cannot tell positions apart. Of the wrong translations "
                f"{learnt.reshuffled:.0%} have the right characters in a wrong order.",
                ("positional", "embedding", "transformer"),
            )
        yield from symptoms.unreached(learnt, *_LEARNING)
        if does.padding:
            yield Symptom(
                "More padding after the source changes the predictions: the model attends to "
                "padding.",
                (*_SEEING, "encoder", "decoder", "transformer"),
            )
        if does.teacher_forced > 0.9 and learnt.exact < 0.5 and not does.future:
            yield Symptom(
                f"Given the right characters before it, {does.teacher_forced:.0%} of the "
                f"characters are predicted right; but when the model writes on its own, only "
                f"{learnt.exact:.0%} of the dates are right.",
                ("decoding", "training"),
            )
        yield from symptoms.nothing_learnt(learnt, history, "training")

    def pictures(self, learnt: Learnt) -> dict[str, Any]:
        """Return the positions, and the embedding in the plane."""
        drawn = {"positions": pictures.positions(learnt.positions, "Your positions")}
        if points := _by_script(learnt.embedding):
            title = "The trained embedding of every source character, in two dimensions"
            drawn["embedding"] = pictures.scatter(points, title)
        return drawn

    def read(self, answer: Translation) -> list[str]:
        """Return the characters of the source."""
        return list(answer.source)
