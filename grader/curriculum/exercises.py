"""The exercises as data: their order, points, needs and the names a student writes.

This is the one place that knows them all. Everything else asks here.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass


class CurriculumError(Exception):
    """An exercise lacks something, or its parts disagree. The message says what to write, where."""


@dataclass(frozen=True)
class Exercise:
    """One exercise of the curriculum; their order is that of `EXERCISES`.

    `entries` are the names that a student's module must define. `needs` are the exercises
    that it may import; when it is graded, those are the reference. `minutes` is how long it takes
    by our estimate, 0 where there is none.
    """

    name: str
    points: int
    entries: tuple[str, ...]
    needs: tuple[str, ...] = ()
    core: bool = False
    minutes: int = 0


EXERCISES: tuple[Exercise, ...] = (
    Exercise(
        "tokens", 5, ("tokenize", "build_vocab", "encode", "pad_batch", "one_hot"), minutes=25
    ),
    Exercise("linear", 5, ("Linear",), minutes=15),
    Exercise("softmax", 5, ("softmax", "log_softmax", "cross_entropy"), minutes=35),
    Exercise("activations", 5, ("relu", "tanh", "gelu"), minutes=25),
    Exercise("dropout", 5, ("Dropout",), minutes=20),
    Exercise("masks", 10, ("padding_mask", "causal_mask", "target_mask"), core=True, minutes=30),
    Exercise("attention", 15, ("attention",), core=True, minutes=45),
    Exercise(
        "multi_head",
        15,
        ("split_heads", "merge_heads", "MultiHeadAttention"),
        needs=("attention",),
        core=True,
        minutes=60,
    ),
    Exercise("positional", 10, ("sinusoidal_table", "PositionalEncoding"), core=True, minutes=40),
    Exercise(
        "embedding",
        10,
        ("Embedding", "TokenEmbedding", "TransformerEmbedding"),
        needs=("positional",),
        minutes=30,
    ),
    Exercise("layer_norm", 10, ("LayerNorm",), core=True, minutes=30),
    Exercise("feed_forward", 10, ("FeedForward",), core=True, minutes=20),
    Exercise("sublayer", 5, ("SublayerConnection",), needs=("layer_norm",), minutes=15),
    Exercise(
        "encoder",
        15,
        ("EncoderLayer", "Encoder"),
        needs=("multi_head", "feed_forward", "sublayer", "layer_norm"),
        core=True,
        minutes=45,
    ),
    Exercise("by_hand", 10, ("encoder_layer_by_hand",), minutes=60),
    Exercise(
        "decoder",
        15,
        ("DecoderLayer", "Decoder"),
        needs=("multi_head", "feed_forward", "sublayer", "layer_norm"),
        minutes=45,
    ),
    Exercise(
        "transformer",
        15,
        ("Transformer",),
        needs=("masks", "embedding", "encoder", "decoder"),
        core=True,
        minutes=60,
    ),
    Exercise(
        "training",
        10,
        ("initialise", "teacher_forcing", "noam_rate", "label_smoothed_loss"),
        minutes=45,
    ),
    Exercise("optimiser", 10, ("clip_gradients", "AdamW", "cosine_rate"), minutes=60),
    Exercise(
        "training_loop", 10, ("train_step", "evaluate", "fit"), needs=("training",), minutes=45
    ),
    Exercise("decoding", 10, ("greedy_decode", "beam_search"), minutes=75),
    Exercise("rope", 10, ("rotary_angles", "apply_rotary"), minutes=45),
    Exercise("rms_norm", 5, ("RMSNorm",), minutes=15),
    Exercise("swiglu", 5, ("SwiGLU",), minutes=15),
    Exercise("kv_cache", 5, ("KVCache", "causal_mask_with_past"), minutes=30),
    Exercise(
        "grouped_query",
        10,
        ("GroupedQueryAttention",),
        needs=("attention", "rope", "kv_cache"),
        minutes=60,
    ),
    Exercise(
        "language_model",
        15,
        ("Block", "LanguageModel"),
        needs=("rope", "rms_norm", "swiglu", "kv_cache", "grouped_query"),
        minutes=75,
    ),
    Exercise(
        "sampling",
        10,
        ("with_temperature", "keep_top_k", "keep_top_p", "sample", "generate"),
        needs=("kv_cache",),
        minutes=50,
    ),
    Exercise("subwords", 10, ("train_merges", "encode", "decode"), minutes=75),
    Exercise("tiled_attention", 10, ("tiled_attention",), minutes=75),
)

NAMES: tuple[str, ...] = tuple(exercise.name for exercise in EXERCISES)
_BY_NAME = {exercise.name: exercise for exercise in EXERCISES}


def find(name: str) -> Exercise:
    """Return the exercise called `name`. Raises `KeyError` with the names there are."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise KeyError(f"no exercise {name!r}; there are: {', '.join(NAMES)}") from None


def unknown(name: str) -> str:
    """Return the sentence on a name that no exercise has: the nearest one, and which there are."""
    near = difflib.get_close_matches(name.lower(), NAMES, 1)
    question = f" Did you mean {near[0]}?" if near else ""
    return f"There is no exercise {name!r}.{question} There are: {', '.join(NAMES)}."


def closure(name: str) -> tuple[str, ...]:
    """Return all that `name` needs, directly or through others, in curriculum order."""
    seen: set[str] = set()
    waiting = list(find(name).needs)
    while waiting:
        needed = waiting.pop()
        if needed not in seen:
            seen.add(needed)
            waiting.extend(find(needed).needs)
    return tuple(exercise for exercise in NAMES if exercise in seen)
