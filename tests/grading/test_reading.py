"""What a source has and lacks speaks for known mistakes, and against them."""

from __future__ import annotations

import re

import pytest

from grader.curriculum import NAMES, mistakes, stubs
from grader.curriculum.mistakes.variants import variants
from grader.grading.diagnosis.own_words import line_of
from grader.grading.diagnosis.reading import Reading
from grader.recognition.likeness import without_texts

SHIFTED = "def teacher_forcing(tgt):\n    inputs = tgt[:, :-1]\n    return inputs, {}"
LAYER = """
class EncoderLayer(nn.Module):
    def forward(self, x, mask=None):
        x = self.norm1(x + self.drop(self.self_attn(x, x, x, mask)))
        {last}
"""
LAST_NORM = """
class {}(nn.Module):
    def __init__(self, d_model, norm_first):
        self.norm = LayerNorm(d_model) if norm_first else None
    def forward(self, x):
        return x if self.norm > None else self.norm(x)
"""
REPEATED = "repeated-as-often-as-there-are-kv-heads"
STACK = """
class {}:
    def forward(self, x, mask=None):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
"""


@pytest.mark.full
@pytest.mark.parametrize("exercise", NAMES)
def test_every_form_of_a_mistake_has_what_its_text_speaks_of(exercise: str) -> None:
    """Or else the mistake itself would not be told of it."""
    needs = {known.name: known.where for known in mistakes.load(exercise) if known.where}
    for variant in variants(exercise):
        code = without_texts(variant.source)
        for name in {*variant.mistakes} & {*needs}:
            assert re.search(needs[name], code), f"{name}: {needs[name]} is not in\n{code}"


@pytest.mark.full(but=("embedding",))
@pytest.mark.parametrize("exercise", NAMES)
def test_no_form_of_a_mistake_is_denied_by_its_own_pattern(exercise: str) -> None:
    denials = {known.name: known.unless for known in mistakes.load(exercise) if known.unless}
    for variant in variants(exercise):
        code = without_texts(variant.source)
        for name in {*variant.mistakes} & {*denials}:
            assert not re.search(denials[name], code), f"{name}: {denials[name]} is in\n{code}"


@pytest.mark.full(but=("kv_cache",))
@pytest.mark.parametrize("exercise", NAMES)
def test_no_form_of_a_mistake_says_that_the_line_of_it_is_right(exercise: str) -> None:
    """Another line like it may stand elsewhere, or what is changed be no statement."""
    for variant in variants(exercise):
        reading = Reading(exercise, variant.source)
        assert [name for name in variant.mistakes if reading.correct(name)] == []


def test_of_mistakes_that_look_the_same_the_source_decides() -> None:
    """Labels that are the input, or a roll of the target that comes to the same."""
    copied = Reading("training", SHIFTED.format("inputs.clone()"))
    assert "labels-rolled" in copied.ruled_out
    assert "labels-not-shifted" not in copied.ruled_out
    rolled = Reading("training", SHIFTED.format("torch.roll(tgt, 1, 1)[:, 1:]"))
    assert "labels-rolled" not in rolled.ruled_out
    names = ("labels-not-shifted", "labels-rolled")
    assert rolled.nearest(names) == names[1:]
    # What stands in a docstring or a comment is no code.
    said = Reading("training", SHIFTED.format('inputs  # roll\n    """roll"""'))
    assert "labels-rolled" in said.ruled_out
    assert not Reading("training", "").ruled_out


def test_what_a_mistake_is_not_told_of_is_read_whatever_the_names_are() -> None:
    """A key that is transposed rightly, and an order of norms that a layer chooses."""
    wrong_axes = "key-transposed-on-wrong-axes"
    for turned in ("k.transpose(-2, -1)", "torch.transpose(keys, -1, -2)", "K.mT"):
        assert wrong_axes in Reading("attention", f"scores = q @ {turned}").ruled_out
    assert wrong_axes not in Reading("attention", "scores = q @ k.transpose(0, 1)").ruled_out
    chooses = """
class EncoderLayer:
    def __init__(self, norm_first):
        self.early = norm_first
    def forward(self, x):
        return self.before(x) if self.early else self.after(x)
class Encoder:
    def __init__(self, norm_first):
        self.layers = [EncoderLayer(norm_first)]
"""
    assert "always_post_norm" in Reading("encoder", chooses).ruled_out
    ignored = chooses.replace("if self.early", "if self.late")
    assert "always_post_norm" not in Reading("encoder", ignored).ruled_out


def test_an_exception_speaks_for_a_mistake_whose_construct_is_there() -> None:
    one = Reading("by_hand", "length, width = x.shape")
    assert one.has("one-sentence-only")
    assert not Reading("by_hand", "batch, length, width = x.shape").has("one-sentence-only")
    given = Reading("encoder", "x = self.sublayers[0](x, self.self_attn(x, x, x, mask))")
    assert given.has("result_in_place_of_a_function")
    assert Reading("linear", "y = y + self.bias if self.bias else y").has("bias-counted-as-a-truth")
    assert not one.has("heads-not-split")  # it says nothing of what code has


def test_of_two_that_fit_the_one_with_more_steps_is_nearer() -> None:
    """A dropout on the wrong side of the sublayer is not a missing one."""
    before = Reading("sublayer", "def f(x, sublayer):\n    return x + sublayer(drop(norm(x)))")
    names = ("dropout_before_the_sublayer", "no_dropout_in_pre_norm")
    assert before.nearest(names) == names[:1]


def test_a_decoder_that_gets_two_masks_of_the_target_does_not_get_them_swapped() -> None:
    """The source's mask is missing there, whatever the exception says."""
    call = "out = self.decoder(self.tgt_embedding(tgt), memory, {})"
    swapped = "masks_swapped_for_the_decoder"
    assert swapped in Reading("transformer", call.format("tgt_mask, tgt_mask")).ruled_out
    assert swapped not in Reading("transformer", call.format("src_mask, tgt_mask")).ruled_out


def test_a_dropout_that_never_acts_on_a_sum_speaks_against_the_mistake() -> None:
    """Where everything is dropped, a missing residual looks like a dropout on the sum."""
    missing = Reading("encoder", LAYER.format(last="return self.norm2(self.drop(self.ff(x)))"))
    assert missing.correct("dropout_on_the_sum")
    on_the_sum = Reading(
        "encoder", LAYER.format(last="return self.norm2(self.drop(x + self.ff(x)))")
    )
    assert not on_the_sum.correct("dropout_on_the_sum")


def test_the_line_is_the_one_that_edits_and_not_the_short_one_after_it() -> None:
    """`return self.dropout(x)` is in no right answer, and is not what is wrong."""
    source = "class P:\n    def forward(self, x):\n        x += self.pe[:length]\n"
    place = line_of(["input-edited"], "positional", source + "        return self.dropout(x)")
    assert place is not None
    assert place.line == 3


def test_a_key_that_is_transposed_rightly_is_not_told_to_be_transposed_wrongly() -> None:
    """Whatever the shapes say: it was the value that was turned."""
    right = Reading("attention", "scores = torch.matmul(query, torch.transpose(key, -1, -2))\n")
    assert "key-transposed-on-wrong-axes" in right.ruled_out
    wrong = Reading("attention", "scores = query @ key.transpose(0, 1)\n")
    assert "key-transposed-on-wrong-axes" not in wrong.ruled_out


def test_what_right_answers_have_as_well_speaks_for_no_mistake() -> None:
    """Every answer calls attention: that one may swap two arguments there, it does not say."""
    reading = Reading("multi_head", stubs.solution("multi_head"))
    assert "query-and-key-exchanged" not in reading.ruled_out
    assert not reading.has("query-and-key-exchanged")


@pytest.mark.parametrize(
    ("exercise", "name", "code"),
    [
        ("decoding", "no-token-twice-in-the-beam", "last_token = words[-1].unsqueeze(0)"),
        ("transformer", "no_padding_masks", "hidden = (src != 0).unsqueeze(1)"),
        (
            "transformer",
            "padding_masks_in_forward_only",
            "def forward(self, src, tgt, tgt_mask=None):\n    return decode(tgt, tgt_mask)",
        ),
        ("activations", "product-for-sum", "y = tanh(c * (x + 0.044715 * x.pow(4)))"),
        ("attention", "mask-used-unasked", "if mask is not None:\n    s += m\nw = dropout(w)"),
        ("attention", "mask-fill-infinite", "s = s.masked_fill(torch.logical_not(mask), -1e4)"),
        ("attention", "mask-result-dropped", "s = s.masked_fill(mask == -1, low)"),
        ("attention", "mask-added-as-numbers", "s = s - s.new_tensor(1e9) * ~mask"),
        ("attention", "three-axes-only", "s = s.masked_fill(mask == 0, low)\nout = w + v"),
        ("attention", "key-transposed-on-wrong-axes", "s = einsum('...qd,...kd->...qk', q, k)"),
        ("attention", "sums-without-their-axis", "out = (w[..., None] * value).sum(-2)"),
        ("attention", "softmax-that-overflows", "weights = torch.sigmoid(scores)"),
        ("by_hand", "batch-second-taken-for-granted", "if layer.self_attn.batch_first:\n    y = x"),
        ("by_hand", "softmax-over-the-heads", "p = e / e"),
        ("by_hand", "scores-rounded-down", "size = d_model // heads\ns = q @ k"),
        (
            "decoding",
            "generator-not-asked",
            "def greedy_decode(m):\n    p = m.generator(y)",
        ),
        ("decoder", "no_last_norm", LAST_NORM.format("Decoder")),
        ("decoder", "memory_of_the_first_layer_only", "x = layer(x, tgt_mask, memory_mask)"),
        ("decoder", "result_of_the_layer_dropped", STACK.format("Decoder")),
        ("dropout", "one-draw-for-all", "return x.masked_fill(lost, 0) * lost"),
        ("dropout", "one-draw-for-all", "kept = torch.bernoulli(torch.full_like(x, q))"),
        ("embedding", "positions-added-by-hand", "x = F.dropout(x + self.position.pe[:n], p)"),
        ("encoder", "no_last_norm", LAST_NORM.format("Encoder")),
        ("encoder", "returns_after_the_first_layer", "for _ in n:\n    x = self.layers[0](x)"),
        ("encoder", "result_of_the_layer_dropped", STACK.format("Encoder")),
        ("encoder", "always_pre_norm", "x = self.norm1(x + self.self_attn(x, x, x))"),
        ("encoder", "result_of_the_layer_dropped", "class Encoder:\n    def forward(self, x): x"),
        ("feed_forward", "second-map-the-wrong-way", "self.linear2 = nn.Linear(d_model, d_model)"),
        ("grouped_query", "d-head-from-the-kv-heads", "group = n_heads // n_kv_heads"),
        ("grouped_query", "hidden-after-softmax", "s += mask\np = torch.softmax(s, 1)\nreturn p"),
        ("grouped_query", REPEATED, "k = k.repeat_interleave(n_heads // n_kv_heads, dim=1)"),
        ("grouped_query", "tokens-repeated", "k = torch.stack([turned(k, h) for h in n], 2)"),
        ("grouped_query", "tokens-repeated", "k = repeat(k, 'b h l d -> b (h g) l d', g=g)"),
        ("kv_cache", "heads-reordered", "self.k = self.k.index_select(-1, rows)"),
        ("language_model", "angles-of-the-whole-width", "t = rotary_angles(d_model // n_heads, n)"),
        ("language_model", "heads-swapped", "b = Block(d_model, n_heads, d_ff, n_kv_heads)"),
        ("language_model", "length-of-the-batch", "past = len(self.blocks)"),
        ("layer_norm", "unbiased-variance", "std = ((x - mean) ** 2).mean(-1).sqrt()"),
        ("linear", "weight-the-other-way-round", "w = torch.randn(out_features, out_features)"),
    ],
)
def test_a_line_that_speaks_against_a_mistake_rules_it_out(
    exercise: str, name: str, code: str
) -> None:
    """An input that is swapped, a last token that is only read, padding that is looked for.

    An exception or a few equal numbers are not enough for a sentence that the source contradicts.
    """
    assert name in Reading(exercise, code).ruled_out
