"""The public tests see the mistakes that cost points most often."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.curriculum import NAMES, mistakes, stubs
from tests.tools.public_tests import answered, failures, refused

# The sentences of all rows compete for the places of one beam.
ONE_BEAM = """

def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    rows = range(src.size(0))
    memory, beam = model.encode(src), [(0.0, row, [bos_id]) for row in rows]
    for _ in range(max_len - 1):
        candidates = [one for one in beam if eos_id in one[2]]
        for score, row, ids in beam:
            if eos_id not in ids:
                here = slice(row, row + 1)
                states = model.decode(torch.tensor([ids]), memory[here], src[here])
                gains = F.log_softmax(model.generator(states)[0, -1], dim=-1).tolist()
                candidates += [(score + g, row, [*ids, w]) for w, g in enumerate(gains)]
        beam = sorted(candidates, reverse=True)[: beam_size * len(rows)]
    best = [next((ids for _, one, ids in beam if one == row), [bos_id]) for row in rows]
    longest = max(map(len, best))
    return torch.tensor([ids + [model.pad_id] * (longest - len(ids)) for ids in best])
"""

pytestmark = pytest.mark.usefixtures("pieces")


@pytest.fixture
def pieces() -> Iterator[None]:
    """The package `exercises` with every answer in it, for the length of a test."""
    with answered():
        yield


@pytest.mark.parametrize("name", NAMES)
def test_the_answers_pass(name: str) -> None:
    assert failures(name, stubs.reference_source(name)) == {}


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_unusual_right_answers_pass(name: str) -> None:
    assert refused(name) == {}


@pytest.mark.full(but=("tokens", "embedding", "decoder", "by_hand"))
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
        ("dropout", "every-module-alike", "test_how_many_are_dropped"),
        ("activations", "spelling-of-the-form-ignored", "test_the_other_form_of_gelu"),
        ("feed_forward", "spelling-of-the-activation-ignored", "test_an_unknown_activation"),
        ("embedding", "padding-not-passed-to-the-table", "test_padding_idx_reaches_the_table"),
        ("embedding", "padding-zero-is-falsy", "test_padding_idx_reaches_the_table"),
        ("embedding", "gradient-hook", "test_a_copy_freezes_the_same_row"),
        ("embedding", "dropout-twice", "test_options_reach_the_positions"),
        ("embedding", "uniform-rows", "test_how_it_starts"),
        ("sublayer", "dropout_on_the_sum", "test_dropout_before_the_sum_in_post_norm"),
        ("sublayer", "dropout_in_place", "test_nothing_is_modified"),
        ("sublayer", "dropout_of_whole_tokens", "test_dropout_is_on_the_sublayer"),
        ("transformer", "mask_kept_from_encode", "test_decode_hides_the_padding_of_its_own_source"),
        ("decoder", "norm_at_the_end_of_post_norm", "test_the_stack"),
        ("decoder", "memory_mask_lost_in_the_stack", "test_the_stack"),
        ("decoder", "stack_forgets_norm_first", "test_options_reach_every_layer"),
        ("by_hand", "eps-left-out", "test_the_norms_have_scale_shift_and_eps"),
        ("by_hand", "scale-and-shift-missing", "test_the_norms_have_scale_shift_and_eps"),
        ("by_hand", "gelu-with-tanh", "test_other_layers"),
        ("training", "sum-for-mean", "test_the_loss_by_hand"),
        ("training", "cut-out-of-the-graph", "test_gradients_of_the_loss"),
        ("training", "labels-overwritten-at-padding", "test_padding_is_left_out"),
        ("training", "frozen-left-out", "test_whatever_has_two_axes_or_more"),
        ("decoding", "finished-keep-their-places", "test_what_falls_out_of_the_beam_is_forgotten"),
        ("decoding", "beam-filled-with-zero", "test_what_falls_out_of_the_beam_is_forgotten"),
        ("softmax", "maximum-of-everything", "test_large_scores"),
        ("softmax", "log-of-a-softmax", "test_logarithms_of_tiny_probabilities"),
        ("softmax", "maximum-along-the-last-axis", "test_columns_by_hand"),
        ("softmax", "exponentials-detached", "test_gradients"),
        ("softmax", "infinities-replaced", "test_a_score_of_minus_infinity"),
        ("tiled_attention", "sum-not-rescaled", "test_by_hand"),
        ("tiled_attention", "last-block-left-out", "test_any_block_gives_the_same"),
        ("tiled_attention", "block-fixed", "test_any_block_gives_the_same"),
        ("tiled_attention", "mask-axis-of-size-one-cut", "test_a_query_without_keys"),
        ("tiled_attention", "maximum-starts-at-minus-infinity", "test_a_hidden_block"),
        ("tiled_attention", "maximum-of-the-block-only", "test_large_scores"),
        ("tiled_attention", "whole-matrix", "test_no_large_tensor"),
        ("tiled_attention", "whole-mask-negated", "test_no_large_tensor"),
        ("tiled_attention", "no-gradient", "test_gradients_and_dtype"),
        ("rms_norm", "mean-subtracted", "test_by_hand"),
        ("rms_norm", "eps-missing", "test_a_token_of_zeros"),
        ("rms_norm", "eps-of-another-size", "test_eps_if_none_is_given"),
        ("rms_norm", "eps-of-zero-replaced", "test_eps_by_hand"),
        ("layer_norm", "eps-of-zero-replaced", "test_eps_by_hand"),
        ("rms_norm", "scale-detached", "test_it_learns"),
        ("rms_norm", "stays-in-float32", "test_what_comes_in_stays_and_its_dtype_comes_back"),
        ("swiglu", "gate-and-up-exchanged", "test_which_of_the_two_is_the_gate"),
        ("swiglu", "silu-of-the-product", "test_which_of_the_two_is_the_gate"),
        ("swiglu", "exponential-below", "test_large_gates"),
        ("swiglu", "bias-never", "test_the_parameters"),
        ("kv_cache", "only-the-new-tokens", "test_three_tokens_by_hand"),
        ("kv_cache", "reorder-in-place", "test_what_was_returned_stays"),
        ("kv_cache", "nothing-refused", "test_what_does_not_fit_is_refused"),
        ("kv_cache", "past-detached", "test_gradients_reach_the_first_keys"),
        ("kv_cache", "the-past-is-hidden", "test_masks_by_hand"),
        ("grouped_query", "repeat-for-repeat-interleave", "test_which_head_reads_which"),
        ("grouped_query", "values-turned-too", "test_queries_and_keys_are_rotated"),
        ("grouped_query", "repeated-heads-in-the-cache", "test_the_cache_stays_small"),
        ("grouped_query", "cached-before-turned", "test_in_pieces_through_a_cache"),
        ("grouped_query", "causal-with-a-cache-only", "test_in_pieces_through_a_cache"),
        ("grouped_query", "angles-made-for-a-cache", "test_in_pieces_through_a_cache"),
        ("language_model", "block-causal-with-a-cache", "test_a_block_adds_no_mask"),
        ("language_model", "block-turns-by-itself", "test_a_block_adds_no_mask"),
        ("sampling", "float32-for-the-kept", "test_top_k_by_hand"),
        ("sampling", "no-end-at-zero", "test_rows_end_by_themselves"),
        ("grouped_query", "minus-infinity", "test_a_query_without_keys"),
        ("language_model", "positions-start-again", "test_in_pieces_through_caches"),
        ("language_model", "no-mask-with-caches", "test_in_pieces_through_caches"),
        ("language_model", "tied-by-copying", "test_one_matrix_for_both_ends"),
        ("language_model", "limit-without-the-past", "test_the_longest_text"),
        ("language_model", "normalised-x-in-the-sum", "test_a_block_without_its_sublayers"),
        ("sampling", "crossing-token-left-out", "test_top_p_by_hand"),
        ("sampling", "ruled-out-in-all-rows", "test_top_p_by_hand"),
        ("sampling", "temperature-last", "test_options_in_their_order"),
        ("sampling", "one-draw-for-all-rows", "test_draws_as_often_as_the_probabilities_say"),
        ("sampling", "generator-begins-anew", "test_a_generator_repeats_its_draws"),
        ("sampling", "everything-read-again", "test_continues_by_hand"),
        ("sampling", "prompts-end-rows", "test_rows_end_by_themselves"),
        ("subwords", "joined-bytes-of-equals", "test_equally_frequent_pairs"),
        ("subwords", "characters-for-bytes", "test_any_text_is_bytes"),
        ("subwords", "encode-without-pieces", "test_ids_by_hand"),
        ("subwords", "token-by-token", "test_bytes_that_are_not_text"),
        ("subwords", "encode-joins-from-the-right", "test_the_earliest_merge_comes_first"),
        ("attention", "mask-as-an-index", "test_a_mask_for_each_head"),
        ("kv_cache", "no-mask-for-a-single-token", "test_masks_by_hand"),
        ("rms_norm", "viewed-flat", "test_what_comes_in_stays_and_its_dtype_comes_back"),
        ("sampling", "filled-with-zero", "test_rows_end_by_themselves"),
        ("swiglu", "three-axes-only", "test_each_token_is_on_its_own"),
        ("tiled_attention", "mask-after-exp", "test_a_mask_and_low_scores"),
    ],
)
def test_a_common_mistake_is_seen(name: str, mistake: str, test: str) -> None:
    (known,) = (
        known_mistake for known_mistake in mistakes.load(name) if known_mistake.name == mistake
    )
    answers = {"": stubs.reference_source(name)} | mistakes.forms(name)
    assert test in failures(name, known.apply(answers[known.edits[0].form]))


def test_a_part_of_the_layer_that_is_called_is_named() -> None:
    """In by_hand all is computed from the weights; the board says which part was called."""
    source = stubs.reference_source("by_hand")
    called = source.replace(
        "F.linear(y, layer.linear1.weight, layer.linear1.bias)", "layer.linear1(y)"
    )
    assert called != source
    by_test = failures("by_hand", called)
    assert list(by_test) == ["test_the_weights_are_all_you_need"]
    assert "your function calls layer.linear1(...)" in by_test["test_the_weights_are_all_you_need"]


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
            "test_the_parameters_of_the_stack",
            "kept in an nn.ModuleList?",
            "mask",
        ),
        (
            "decoding",
            "if eos_id in ids]",
            "if False]",
            "test_a_beam_of_two_by_hand",
            "Does a finished sentence stay in the beam unchanged",
            "return",
        ),
        (
            "rope",
            "torch.stack(turned, dim=-1).flatten(-2)",
            "torch.cat(turned, dim=-1)",
            "test_rotations_by_hand",
            "All first features come before all second ones here. Which order should they have?",
            "return",
        ),
        (
            "training",
            "return loss[is_word].mean()",
            "return loss[is_word].mean().item()",
            "test_padding_is_left_out",
            "it should be a tensor.",
            "AttributeError",
        ),
        (
            "linear",
            "torch.empty(out_features).uniform_(-bound, bound)",
            "(torch.rand(out_features) * 2 - 1) / math.sqrt(out_features)",
            "test_how_it_starts",
            "The largest is close to 1/√400. What is 400 in this layer, and what is 25?",
            "can draw",
        ),
        (
            "sublayer",
            "x + self.dropout(sublayer(self.norm(x)))",
            "x + sublayer(self.norm(x))",
            "test_dropout_is_on_the_sublayer",
            "Nothing is dropped here. What does your line for pre-norm add to x?",
            "act once",
        ),
        (
            "decoding",
            "sorted(candidates, reverse=True)",
            "sorted(candidates, key=lambda one: one[0] / len(one[1]), reverse=True)",
            "test_scores_are_not_divided_by_the_length",
            "Does your code keep the two best of 0.4, 0.312 and 0.288?",
            "at the end",
        ),
        (
            "dropout",
            "1 / (1 - self.p) if self.p < 1 else 0.0",
            "1 / (1 - torch.tensor(self.p))",
            "test_the_ends",
            "What is 1 - p for p = 1, and what does your code do with it?",
            "branch",
        ),
    ],
    ids=[
        "a gradient",
        "a plain list",
        "what has ended",
        "pairs",
        "a float",
        "a bound",
        "no drop",
        "a beam by length",
        "p of one",
    ],
)
def test_a_message_leads_to_the_mistake(
    name: str, old: str, new: str, test: str, says: str, never: str
) -> None:
    """The first test that fails says what is wrong in words that fit this mistake."""
    source = stubs.reference_source(name)
    assert old in source
    by_test = failures(name, source.replace(old, new))
    assert says in by_test[test]
    assert never not in by_test[test]


def test_a_beam_that_all_rows_share_is_seen() -> None:
    source = stubs.reference_source("decoding")
    by_test = failures("decoding", f"{source}{ONE_BEAM}")
    assert list(by_test) == ["test_rows_do_not_compete"]
    assert "compare sentences of one row only?" in by_test["test_rows_do_not_compete"]


def test_more_padding_behind_a_result_does_no_harm() -> None:
    """The hidden checks take results of decoding that are filled up to `max_len`."""
    source = stubs.reference_source("decoding")
    filled = source.replace("longest = max(map(len, best))", "longest = max_len")
    assert filled != source
    assert failures("decoding", filled) == {}


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        (
            "by_hand",
            "norm.eps",
            "layer.norm1.eps",
            "'feed_forward' of a layer with norm2.eps = 2",
        ),
        (
            "sublayer",
            "return x + self.dropout(sublayer(self.norm(x)))",
            "sublayer(self.norm(x))\n            return x + self.dropout(sublayer(self.norm(x)))",
            "With norm_first=True the sublayer is called 2 times.",
        ),
        (
            "sublayer",
            "return self.norm(x + self.dropout(sublayer(x)))",
            "return self.norm(x + self.dropout(self.dropout(sublayer(x))))",
            "should be dropped, not 7",
        ),
        ("tokens", "vocab[token] if unknown", "chr(-1) if unknown", "raises ValueError"),
    ],
)
def test_a_slip_that_few_numbers_show_is_seen(name: str, old: str, new: str, says: str) -> None:
    source = stubs.reference_source(name)
    assert old in source
    assert says in "\n".join(failures(name, source.replace(old, new)).values())
