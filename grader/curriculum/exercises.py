"""The exercises as data: their order, points, needs and the names a student writes.

This is the one place that knows them all. Everything else asks here.
"""

from __future__ import annotations

from dataclasses import dataclass


class CurriculumError(Exception):
    """An exercise lacks something, or its parts disagree. The message says what to write, where."""


@dataclass(frozen=True)
class Exercise:
    """One exercise of the curriculum; their order is that of `EXERCISES`.

    `entries` are the names that a student's module must define. `needs` are the exercises
    that it may import; when it is graded, those are the reference.
    """

    name: str
    points: int
    entries: tuple[str, ...]
    needs: tuple[str, ...] = ()
    core: bool = False


EXERCISES: tuple[Exercise, ...] = (
    Exercise("tokens", 5, ("tokenize", "build_vocab", "encode", "pad_batch", "one_hot")),
    Exercise("masks", 10, ("padding_mask", "causal_mask", "target_mask"), core=True),
    Exercise("attention", 15, ("attention",), core=True),
    Exercise(
        "multi_head",
        15,
        ("split_heads", "merge_heads", "MultiHeadAttention"),
        needs=("attention",),
        core=True,
    ),
    Exercise("positional", 10, ("sinusoidal_table", "PositionalEncoding"), core=True),
    Exercise("rope", 10, ("rotary_angles", "apply_rotary")),
    Exercise(
        "embedding",
        10,
        ("Embedding", "TokenEmbedding", "TransformerEmbedding"),
        needs=("positional",),
    ),
    Exercise("layer_norm", 10, ("LayerNorm",), core=True),
    Exercise("linear", 5, ("Linear",)),
    Exercise("activations", 5, ("relu", "tanh", "gelu")),
    Exercise("dropout", 5, ("Dropout",)),
    Exercise("feed_forward", 10, ("FeedForward",), core=True),
    Exercise("sublayer", 5, ("SublayerConnection",), needs=("layer_norm",)),
    Exercise(
        "encoder",
        15,
        ("EncoderLayer", "Encoder"),
        needs=("multi_head", "feed_forward", "sublayer", "layer_norm"),
        core=True,
    ),
    Exercise(
        "decoder",
        15,
        ("DecoderLayer", "Decoder"),
        needs=("multi_head", "feed_forward", "sublayer", "layer_norm"),
    ),
    Exercise(
        "transformer",
        15,
        ("Transformer",),
        needs=("masks", "embedding", "encoder", "decoder"),
        core=True,
    ),
    Exercise("by_hand", 10, ("encoder_layer_by_hand",)),
    Exercise("training", 10, ("initialise", "teacher_forcing", "noam_rate", "label_smoothed_loss")),
    Exercise("decoding", 10, ("greedy_decode", "beam_search")),
)

NAMES: tuple[str, ...] = tuple(exercise.name for exercise in EXERCISES)
_BY_NAME = {exercise.name: exercise for exercise in EXERCISES}


def find(name: str) -> Exercise:
    """The exercise called `name`. Raises `KeyError` with the names there are."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise KeyError(f"no exercise {name!r}; there are: {', '.join(NAMES)}") from None


def closure(name: str) -> tuple[str, ...]:
    """All that `name` needs, directly or through others, in curriculum order."""
    seen: set[str] = set()
    waiting = list(find(name).needs)
    while waiting:
        needed = waiting.pop()
        if needed not in seen:
            seen.add(needed)
            waiting.extend(find(needed).needs)
    return tuple(other for other in NAMES if other in seen)
