"""What the language-model tasks share: the pieces of the model and its symptoms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.capstone import symptoms
from grader.capstone.exam import Learnt, Progress
from grader.capstone.task import Symptom, Task
from grader.curriculum import closure

LANGUAGE_MODEL = (*closure("language_model"), "language_model", "training", "optimiser")
USED = {
    "training": ("teacher_forcing",),
    "optimiser": ("AdamW", "cosine_rate"),
    "training_loop": ("train_step", "fit"),
}
_ATTENTION = ("attention", "kv_cache", "grouped_query", "language_model")
_LEARNING = (
    *("attention", "rope", "rms_norm", "swiglu", "grouped_query", "language_model"),
    *("optimiser", "training_loop"),
)


class LanguageTask(Task):
    """A task whose model reads and writes one sequence."""

    def symptoms(self, learnt: Learnt, history: Sequence[Progress]) -> Iterator[Symptom]:
        """Yield the symptoms that a model which learns does not have, the most telling first."""
        does = learnt.behaviour
        yield from symptoms.infinite_loss(
            learnt,
            "attention",
            "rms_norm",
            "swiglu",
            "grouped_query",
            "language_model",
            "optimiser",
        )
        if does.future:
            yield Symptom(
                "Changing a token changes the predictions before it. So the model sees the token "
                f"it should predict: its loss ({learnt.loss:.2f}) means nothing, and writing "
                "fails, because there are no later tokens then.",
                _ATTENTION,
            )
        if does.source is False:
            yield Symptom(
                "Changing the text does not change the prediction at its end: the model ignores "
                "what it reads.",
                (*_ATTENTION, "rms_norm", "swiglu"),
            )
        elif does.source_order is False:
            yield Symptom(
                "Swapping two tokens changes no later prediction: the model cannot tell positions "
                "apart.",
                ("rope", "grouped_query", "language_model"),
            )
        yield from symptoms.unreached(learnt, *_LEARNING)
        if does.cached is False:
            yield Symptom(
                "With caches, the model's predictions differ from those without, so it writes "
                "another text than it should.",
                ("kv_cache", "grouped_query", "language_model"),
            )
        if does.greedy is False:
            yield Symptom(
                "At temperature 0, `generate` does not write the tokens that the model finds most "
                "probable.",
                ("sampling", "kv_cache", "language_model"),
            )
        yield from symptoms.nothing_learnt(
            learnt, history, "training", "optimiser", "training_loop"
        )
