"""The public tests see the mistakes that cost points most often."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from grader.curriculum import NAMES, mistakes, stubs

pytestmark = pytest.mark.usefixtures("pieces")
EXERCISES = Path(__file__).parent.parent / "exercises"


@pytest.fixture
def pieces() -> Iterator[None]:
    """The package `exercises` with every answer in it, for the length of a test."""
    kept = {name: one for name, one in sys.modules.items() if name.split(".")[0] == "exercises"}
    package = ModuleType("exercises")
    package.__path__ = []
    sys.modules["exercises"] = package
    for name in NAMES:
        put(name, stubs.reference_source(name))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "exercises"]:
        del sys.modules[name]
    sys.modules.update(kept)


def put(name: str, source: str) -> None:
    """Makes `exercises.NAME` of a source."""
    module = ModuleType(f"exercises.{name}")
    sys.modules[module.__name__] = module
    exec(compile(source, f"exercises/{name}.py", "exec"), module.__dict__)


def failures(name: str, source: str) -> dict[str, str]:
    """What the public tests of an exercise say of this source, by the name of the test."""
    put(name, source)
    path = EXERCISES / f"test_{name}.py"
    names: dict[str, object] = {"__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    said = {}
    for test, body in names.items():
        if test.startswith("test_") and isinstance(body, FunctionType):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    body()
            except Exception as error:
                said[test] = f"{type(error).__name__}: {error}"
    return said


@pytest.mark.parametrize("name", NAMES)
def test_the_answers_pass(name: str) -> None:
    assert failures(name, stubs.reference_source(name)) == {}


@pytest.mark.parametrize(
    ("name", "mistake", "test"),
    [
        ("tokens", "specials-sorted-too", "test_vocabulary"),
        ("tokens", "length-of-the-first", "test_a_batch"),
        ("by_hand", "exp-of-the-scores", "test_large_scores"),
        ("by_hand", "variance-as-a-difference", "test_an_x_around_a_thousand"),
        ("decoding", "exp-of-the-logits", "test_a_beam_of_two_by_hand"),
        ("linear", "weight-detached", "test_it_learns"),
        ("linear", "viewed-flat", "test_any_layout_and_dtype"),
        ("activations", "relu-in-place", "test_what_is_given_stays_and_its_dtype_comes_back"),
        ("dropout", "float32-zeros-and-ones", "test_gradients_and_dtype"),
        ("dropout", "nothing-left-in-evaluation", "test_the_ends"),
        ("embedding", "padding-not-passed-to-the-table", "test_padding_idx_reaches_the_table"),
        ("embedding", "padding-zero-is-falsy", "test_padding_idx_reaches_the_table"),
        ("embedding", "dropout-twice", "test_options_reach_the_positions"),
        ("embedding", "uniform-rows", "test_how_it_starts"),
        ("sublayer", "dropout_on_the_sum", "test_dropout_before_the_sum_in_post_norm"),
        ("decoder", "norm_at_the_end_of_post_norm", "test_the_stack"),
        ("decoder", "memory_mask_lost_in_the_stack", "test_the_stack"),
        ("decoder", "stack_forgets_norm_first", "test_options_reach_every_layer"),
        ("by_hand", "eps-left-out", "test_the_norms_have_scale_shift_and_eps"),
        ("by_hand", "scale-and-shift-missing", "test_the_norms_have_scale_shift_and_eps"),
        ("by_hand", "gelu-with-tanh", "test_other_layers"),
        ("training", "sum-for-mean", "test_the_loss_by_hand"),
        ("training", "cut-out-of-the-graph", "test_the_loss_can_be_learnt_from"),
        ("training", "labels-overwritten-at-padding", "test_padding_is_left_out"),
        ("training", "frozen-left-out", "test_whatever_has_two_axes_or_more"),
        ("decoding", "finished-keep-their-places", "test_what_falls_out_of_the_beam_is_forgotten"),
        ("decoding", "beam-filled-with-zero", "test_what_falls_out_of_the_beam_is_forgotten"),
    ],
)
def test_a_common_mistake_is_seen(name: str, mistake: str, test: str) -> None:
    (known,) = (one for one in mistakes.load(name) if one.name == mistake)
    answers = {"": stubs.reference_source(name)} | mistakes.forms(name)
    assert test in failures(name, known.apply(answers[known.edits[0].form]))


def test_a_part_of_the_layer_that_is_called_is_named() -> None:
    """In by_hand all is computed from the weights; the board says which part was called."""
    source = stubs.reference_source("by_hand")
    called = source.replace(
        "F.linear(y, layer.linear1.weight, layer.linear1.bias)", "layer.linear1(y)"
    )
    assert called != source
    said = failures("by_hand", called)
    assert list(said) == ["test_the_weights_are_all_you_need"]
    assert "your function calls layer.linear1(...)" in said["test_the_weights_are_all_you_need"]


@pytest.mark.parametrize(
    ("name", "old", "new", "test", "says", "never"),
    [
        (
            "linear",
            "x @ self.weight.T",
            "x @ self.weight.data.T",
            "test_it_learns",
            "There is no gradient of `weight`",
            "is a `return` missing",
        ),
        (
            "decoder",
            "self.layers = nn.ModuleList(",
            "self.layers = list(",
            "test_the_layers_share_nothing",
            "kept in an nn.ModuleList?",
            "mask",
        ),
        (
            "decoding",
            "if eos_id in ids]",
            "if False]",
            "test_a_beam_of_two_by_hand",
            "Does what has ended stay as it is",
            "return",
        ),
        (
            "rope",
            "torch.stack(turned, dim=-1).flatten(-2)",
            "torch.cat(turned, dim=-1)",
            "test_turns_by_hand",
            "Feature 0 turns with feature 1",
            "return",
        ),
        (
            "training",
            "return loss[is_word].mean()",
            "return loss[is_word].mean().item()",
            "test_padding_is_left_out",
            "a tensor is wanted",
            "AttributeError",
        ),
    ],
    ids=["a gradient", "a plain list", "what has ended", "pairs", "a float"],
)
def test_a_message_leads_to_the_mistake(
    name: str, old: str, new: str, test: str, says: str, never: str
) -> None:
    """The first test that fails says what is wrong in words that fit this mistake."""
    source = stubs.reference_source(name)
    assert old in source
    said = failures(name, source.replace(old, new))
    assert says in said[test]
    assert never not in said[test]


def test_more_padding_behind_a_result_does_no_harm() -> None:
    """The hidden checks take results of decoding that are filled up to `max_len`."""
    source = stubs.reference_source("decoding")
    filled = source.replace("longest = max(map(len, best))", "longest = max_len")
    assert filled != source
    assert failures("decoding", filled) == {}
