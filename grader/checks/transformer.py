"""Hidden checks of `transformer`: the whole model (Vaswani et al. 2017, section 3 and figure 1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_changes,
    assert_defaults,
    assert_gradients,
    assert_keeps_numbers,
    assert_moves,
    assert_not_edited,
    assert_registers,
    gradients,
)
from grader.checks.framework.inputs import transposed
from grader.checks.framework.precision import (
    assert_same_dtype,
    assert_settings_kept,
    either_precision,
)
from grader.checks.stack import assert_all_used
from grader.checks.stack_cases import AXES, tracked_weights
from grader.checks.stack_dropout import ALMOST_ONE
from grader.checks.stack_masks import check_other, check_same
from grader.checks.transformer_cases import SRC, TGT, TIEABLE, TransformerCase, cases
from grader.checks.transformer_dropout import assert_drops_inside
from grader.feedback.comparison import Mismatch, assert_finite, assert_matches, assert_shape
from grader.remote.proxy import RemoteModule

DEFAULTS = {
    "d_model": 512,
    "n_heads": 8,
    "num_layers": 6,
    "d_ff": 2048,
    "dropout": 0.1,
    "pad_id": 0,
    "activation": "relu",
    "norm_first": False,
}
LOGITS = ("batch", "target", "vocabulary")


@check(points=3, inputs=cases(), examples=1)
@either_precision
def test_logits_agree_with_torch(student: Any, case: TransformerCase) -> None:
    """The logits equal those of torch's layers between embeddings and generator.

    Sees source and target mixed up, an embedding without positions or without its factor, a decoder
    that attends to the future, an extra norm, and probabilities instead of logits. There is no
    padding here.
    """
    model, case = case.model(student)
    assert_matches(model(case.src, case.tgt), case.logits, "logits", axes=LOGITS)


@check(points=2, inputs=cases(norm_first=True, activation="gelu"), examples=1)
@either_precision
def test_options_reach_encoder_and_decoder(student: Any, case: TransformerCase) -> None:
    """`norm_first` and `activation` reach encoder and decoder, and the defaults are the paper's.

    Sees an option that is ignored on one side or passed as the wrong argument, and, in a model
    written from scratch, an exp of large scores, which is infinite, and a variance computed as
    E[x²] - E[x]². Compares only `encode` and `decode`, so that a wrong generator passes.
    """
    assert_defaults(student, "Transformer", DEFAULTS)
    model, case = case.model(student)
    assert_matches(model.encode(case.src), case.encoded, "output of encode", axes=AXES)
    result = model.decode(case.tgt, case.memory, case.src)
    assert_matches(result, case.decoded, "output of decode", axes=AXES)
    loud = case.loud
    model.load(loud.weights, strict=False)
    for subject, result, expected in (
        ("encode", model.encode(loud.src), loud.encoded),
        ("decode", model.decode(loud.tgt, loud.memory, loud.src), loud.decoded),
    ):
        subject = f"output of {subject} for scores of up to a thousand"
        assert_matches(result, expected, subject, axes=AXES, rtol=1e-2, atol=1e-2)
    far = case.far
    model.to(far.dtype).load(far.weights, strict=False)
    subject = "output of encode for tokens around 1000, in float32"
    assert_matches(model.encode(far.src), far.encoded, subject, axes=AXES, rtol=1e-2, atol=1e-2)


@check(points=2, inputs=cases(num_layers=1), examples=1)
@either_precision
def test_no_position_looks_ahead(student: Any, case: TransformerCase) -> None:
    """Changing the target token at position t affects the logits from t on, and none before.

    Sees a causal mask that is missing, used in training only, or off by one. Compares the model
    with itself.
    """
    model, case = case.model(student)
    before = model(case.src, case.tgt)
    _assert_logits(before, case)
    positions = torch.arange(case.tgt.size(1)).expand(case.tgt.shape)
    for t in (1, case.tgt.size(1) - 1):
        after = model(case.src, torch.where(positions == t, case.other_tgt, case.tgt))
        headline = f"The target token at position {t} affects the logits of earlier positions."
        sides = f"with another token at position {t}", "before"
        check_same(after, before, positions < t, headline, sides)
        headline = f"The target token at position {t} does not affect the logits from there on."
        check_other(after, before, positions >= t, headline)


def _assert_logits(actual: Any, case: TransformerCase) -> None:
    shape = (*case.tgt.shape, case.tgt_vocab)
    assert_shape(actual, dict(zip(LOGITS, shape, strict=True)), "logits")


@check(points=2, inputs=cases(num_layers=1), examples=1)
@either_precision
def test_padding_of_the_source_is_not_seen(student: Any, case: TransformerCase) -> None:
    """Padding in the source, wherever it is, affects nothing in encoder and decoder.

    Sees a mask that is missing in encoder or cross-attention, a hard-coded padding id of 0, an id 0
    taken for no padding at all, and masks made from the wrong sentence. Compares the model with
    itself.
    """
    model, case = case.model(student)
    src, tgt = case.padded_src, case.tgt
    is_token = src != case.pad_id
    everywhere = torch.ones(tgt.shape, dtype=torch.bool)

    # Trailing padding: the same as without it.
    short = src[:1, : case.source_length]
    memory, logits = model.encode(src), model(src, tgt)
    _assert_logits(logits, case)
    headline = "Padding at the end of the source affects the output."
    shape = (*src.shape, case.sizes.d_model)
    assert_shape(memory, dict(zip(AXES, shape, strict=True)), "output of encode")
    alone = torch.ones(short.shape, dtype=torch.bool)
    sides = "without the padding", "with it"
    check_same(model.encode(short), memory[:1, : case.source_length], alone, headline, sides)
    check_same(model(short, tgt[:1]), logits[:1], everywhere[:1], headline, sides)

    # Padding anywhere: the numbers in its rows do not matter.
    noise = case.noise(*case.memory.shape)
    decoded = model.decode(tgt, case.memory, src)
    assert_shape(decoded, dict(zip(AXES, (*tgt.shape, case.sizes.d_model), strict=True)))
    hidden = torch.where(is_token[..., None], case.memory, case.memory + noise)
    headline = "Rows of the memory where the source is padding affect the output of decode."
    sides = "with other numbers in these rows", "before"
    check_same(model.decode(tgt, hidden, src), decoded, everywhere, headline, sides)
    # The last position holds a token that follows padding, in all rows but the first.
    changed_memory = case.memory.clone()
    changed_memory[1:, -1] += noise[1:, -1]
    headline = (
        "The memory of a source token that follows padding does not affect the output of decode."
    )
    check_other(model.decode(tgt, changed_memory, src)[1:], decoded[1:], everywhere[1:], headline)
    changed_src = src.clone()
    changed_src[1:, -1] = case.other_src[1:, -1]
    headline = "A source token that follows padding does not affect other tokens in `encode`."
    check_other(model.encode(changed_src)[1:], memory[1:], is_token[1:], headline)
    model.load(case.with_other_padding(SRC), strict=False)
    headline = "The embedding of the padding id affects other source tokens in `encode`."
    sides = "with another embedding of the padding id", "before"
    check_same(model.encode(src), memory, is_token, headline, sides)

    _check_usual_padding(student, case)


def _check_usual_padding(student: Any, case: TransformerCase) -> None:
    """Check that the id 0 may be padding, which some code takes for "no padding"."""
    model, case = replace(case, pad_id=0, ties=(), tied={}).model(student)
    src, tgt = case.padded_src, case.tgt
    is_token, everywhere = src != 0, torch.ones(tgt.shape, dtype=torch.bool)
    memory, decoded = model.encode(src), model.decode(tgt, case.memory, src)
    hidden = torch.where(is_token[..., None], case.memory, -case.memory)
    sides = "with other numbers in these rows", "before"
    headline = "With pad_id=0, padding in the source affects the output of decode."
    check_same(model.decode(tgt, hidden, src), decoded, everywhere, headline, sides)
    model.load(case.with_other_padding(SRC), strict=False)
    headline = "With pad_id=0, padding in the source affects other tokens in `encode`."
    sides = "with another embedding of the padding id", "before"
    check_same(model.encode(src), memory, is_token, headline, sides)


@check(points=1, inputs=cases(num_layers=1), examples=1)
@either_precision
def test_padding_of_the_target_is_not_seen(student: Any, case: TransformerCase) -> None:
    """Padding in the target, even in the middle or at the start, does not affect other positions.

    Sees a decoder that hides the future but not the padding. Compares the model with itself.
    """
    model, case = case.model(student)
    src, tgt = case.src, case.padded_tgt
    is_token = tgt != case.pad_id
    before = model.decode(tgt, case.memory, src)
    assert_finite(before, "output of decode with padding at the start of a target", axes=AXES)
    assert_shape(before, dict(zip(AXES, (*tgt.shape, case.sizes.d_model), strict=True)))
    other_padding = case.with_other_padding(TGT)
    model.load(other_padding, strict=False)
    headline = "The embedding of the padding id affects other target tokens in `decode`."
    sides = "with another embedding of the padding id", "before"
    check_same(model.decode(tgt, case.memory, src), before, is_token, headline, sides)
    model.load({name: case.weights[name] for name in other_padding}, strict=False)
    # In each row the third position holds a token that follows padding, and tokens follow it.
    changed_tgt = tgt.clone()
    changed_tgt[:, 2] = case.other_tgt[:, 2]
    later = torch.arange(tgt.size(1)).expand(tgt.shape) >= 2
    headline = "A target token that follows padding does not affect later tokens in `decode`."
    check_other(model.decode(changed_tgt, case.memory, src), before, later, headline)


@check(points=1, inputs=cases(num_layers=1), examples=1)
@either_precision
def test_the_parts_make_the_whole(student: Any, case: TransformerCase) -> None:
    """`forward` applies the generator to the output of `decode`, which uses the memory it is given.

    Sees a `decode` that encodes again, a `forward` that is not composed of its parts, and a softmax
    at its end. Compares the model with itself.
    """
    model, case = case.model(student)
    src, tgt = case.padded_src, case.padded_tgt
    memory = model.encode(src)
    assert_shape(memory, dict(zip(AXES, (*src.shape, case.sizes.d_model), strict=True)), "memory")
    decoded = model.decode(tgt, memory, src)
    assert_shape(decoded, dict(zip(AXES, (*tgt.shape, case.sizes.d_model), strict=True)))
    expected = case.generate(decoded.double(), case.weights)
    assert_matches(model(src, tgt), expected, "logits", axes=LOGITS)
    changed = model.decode(tgt, case.memory, src)
    assert_changes(changed, decoded, "The output of `decode` is the same for a different memory.")


@check(
    points=1, inputs=cases(activation="gelu"), examples=1
)  # few features of ReLU may all be zero
@either_precision
def test_every_parameter_is_used(student: Any, case: TransformerCase) -> None:
    """The parameters have the right names, and all of them are used.

    Sees a wrong number of layers, layers that share weights, a part that is never used, and a
    missing `pad_id`. Embeddings and generator may be tied.
    """
    model, case = case.model(student)
    weights = tracked_weights(case.weights)
    model.load(weights, strict=False)
    assert_registers(model, {name: value.shape for name, value in weights.items()}, "Transformer")
    assert_keeps_numbers(model, weights)
    pad_id = model.pad_id.get()
    if pad_id != case.pad_id:
        raise Mismatch(f"The attribute `pad_id` should be {case.pad_id}; yours is {pad_id!r}.")
    result = gradients(model(case.src, case.tgt), list(weights.values()), case.cotangent)
    assert_all_used(dict(zip(weights, result, strict=True)))
    assert_moves(replace(case, num_layers=1, tied={}).new_model(student))


@check(points=1, inputs=cases(num_layers=1), examples=1)
@either_precision
def test_gradients_agree_with_torch(student: Any, case: TransformerCase) -> None:
    """Gradients flow to every parameter as through torch's own layers.

    Sees `detach`, `.data` and `no_grad` between the parts, which do not show in any value. The row
    of the padding id is left out, since it may be frozen.
    """
    model, case = case.model(student)
    case = case.with_special_ids
    weights = tracked_weights(case.weights)
    model.load(weights, strict=False)
    result = gradients(model(case.src, case.tgt), list(weights.values()), case.cotangent)
    for gradient, name in zip(result, weights, strict=True):
        if gradient is not None and name in TIEABLE:
            gradient[case.pad_id] = 0.0
    assert_gradients(result, case.gradients, tuple(weights))


@check(points=1, inputs=cases(norm_first=True, num_layers=1), examples=1)
@either_precision
def test_dropout_reaches_every_part(student: Any, case: TransformerCase) -> None:
    """Dropout reaches both embeddings, encoder and decoder, and is off in evaluation.

    Sees a part that the probability does not reach, down to a single attention or feed-forward
    network. With everything dropped, only the last norms are left.
    """
    model, case = case.model(student, dropout=ALMOST_ONE)
    src, tgt, memory = case.src, case.tgt, case.memory
    model.train()
    for part, result, ids in (
        ("encoder", model.encode(src), src),
        ("decoder", model.decode(tgt, memory, src), tgt),
    ):
        bias = case.weights[f"{part}.norm.bias"].double().expand(*ids.shape, -1)
        assert_matches(result, bias, f"output of {part} with everything dropped", axes=AXES)
    bias = case.weights["decoder.norm.bias"].double().expand(*tgt.shape, -1)
    subject = "logits with everything dropped"
    assert_matches(model(src, tgt), case.generate(bias, case.weights), subject, axes=LOGITS)
    model.eval()
    free = case.another_model(student)
    plain = free(src, tgt)
    _assert_logits(plain, case)
    for subject, logits in (
        ("evaluation", model(src, tgt)),
        ("a second call in evaluation", model(src, tgt)),
        ("training with dropout=0", free.train()(src, tgt)),
    ):
        assert_matches(logits, plain, f"logits in {subject}", axes=LOGITS)
    assert_drops_inside(student, case)


@check(points=1, inputs=cases(num_layers=1), examples=1)
def test_works_on_any_input(student: Any, case: TransformerCase) -> None:
    """Any batch, length, memory layout and dtype works, copies work, and ids are not modified.

    Sees a mix-up of batch and length, sizes kept from an earlier call, a `max_len` that does not
    reach the embeddings, and an output of another dtype.
    """
    settings = student.global_settings()
    _check_any_input(student, case)
    long = student.Transformer(5, 7, 2, 1, 1, 3, 0.0, 5001).eval()
    ids = torch.ones(1, 5001, dtype=torch.int64)  # not 0, which may be padding and all zeros
    for side in (long.src_embedding, long.tgt_embedding):
        assert_shape(side(ids), (1, 5001, 2), "embedding of 5001 tokens with max_len=5001")
    assert_settings_kept(settings, student.global_settings())


@either_precision
def _check_any_input(student: Any, case: TransformerCase) -> None:
    model, case = case.model(student)
    # Copied before the first call, after which it may hold tensors that cannot be copied.
    copied = model.copy()
    src, tgt = case.src, case.tgt
    logits = model(src, tgt)
    _assert_logits(logits, case)
    alone = model(src[1:2], tgt[1:2])
    assert_matches(alone, logits[1:2], "logits of a sentence without the others", axes=LOGITS)
    for size in (1, 2):
        result, expected = (module(src[:, :size], tgt[:, :size]) for module in (model, copied))
        assert_shape(expected, (src.size(0), size, case.tgt_vocab), "logits")
        subject = "logits for shorter sentences, after longer ones"
        assert_matches(result, expected, subject, axes=LOGITS, sides=("yours", "for the first"))
    result, after = model.echo(transposed(src), transposed(tgt))
    assert_matches(result, logits, "logits for non-contiguous ids", axes=LOGITS)
    assert_not_edited([src, tgt], after, ("src", "tgt"))
    assert_matches(copied(src, tgt), logits, "logits of a deep copy", axes=LOGITS)
    _assert_listens(model, case, logits)

    def in_dtype(dtype: torch.dtype) -> Any:
        return model.to(dtype).load(case.weights, strict=False)(src, tgt)

    assert_same_dtype(in_dtype, logits)


def _assert_listens(model: RemoteModule, case: TransformerCase, logits: Tensor) -> None:
    """Check that other scores in cross-attention give other logits. No lazy answer passes this."""
    name = "decoder.layers.0.cross_attn.q_proj.weight"
    model.load({name: -case.weights[name]}, strict=False)
    changed = model(case.src, case.tgt)
    assert_changes(changed, logits, f"`{name}` does not affect the output.")


@check(points=0, inputs=cases(norm_first=True, num_layers=1), examples=1)
def test_keeps_float64(student: Any, case: TransformerCase) -> None:
    """In float64 the encoder's output is as accurate as the embedding that goes into it.

    Sees a `.float()` on the way. It carries no points: float32 is accurate enough here.
    """
    model, case = case.model(student)
    embedded = model.src_embedding(case.src)
    assert_shape(embedded, (*case.src.shape, case.sizes.d_model), "output of src_embedding")
    expected = case.encode(embedded)
    assert_matches(model.encode(case.src), expected, axes=AXES, rtol=1e-9, atol=1e-9)
