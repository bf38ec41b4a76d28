"""Hidden checks of `language_model`: a decoder-only model in the shape of Llama (Touvron 2023)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_changes,
    assert_defaults,
    assert_gradients,
    assert_keeps_numbers,
    assert_moves,
    assert_not_edited,
    assert_refuses,
    assert_registers,
    assert_repeats,
    gradients,
    matches,
)
from grader.checks.framework.inputs import transposed
from grader.checks.framework.precision import (
    assert_same_dtype,
    assert_settings_kept,
    either_precision,
)
from grader.checks.language_model_cases import AXES, EMBEDDING, HEAD, LOGITS, ModelCase, cases
from grader.checks.multi_head_cases import loaded
from grader.checks.stack_cases import tracked_weights
from grader.checks.stack_masks import check_other, check_same
from grader.feedback.comparison import Mismatch, assert_matches
from grader.remote.proxy import RemoteModule

DEFAULTS = {"max_len": 2048, "base": 10000.0, "eps": 1e-6, "tie_weights": False}


@check(points=2, inputs=cases(), examples=2)
@either_precision
def test_a_block_agrees_with_torch(student: Any, case: ModelCase) -> None:
    """A block is two residual sums, each around a norm and a sublayer.

    Sees a residual sum or a norm that is missing, a norm after the sum, the normalised x in the
    sum, both sublayers reading one x, angles, mask or cache that are not passed on, and a mask or
    angles of the block's own.
    """
    sizes = (case.d_model, case.n_heads, case.n_kv_heads, case.d_ff)
    made = student.Block(*sizes)
    assert_registers(made, case.block_shapes, f"Block{sizes}")
    block = loaded(made.to(case.dtype), case.block_weights).eval()
    x = case.x.double()
    for subject, mask in (
        ("output with a causal mask", case.causal),
        ("output without a mask", None),
    ):
        expected = case.block(x, case.block_weights, case.angles, mask)
        assert_matches(block(case.x, case.angles, mask), expected, subject, axes=AXES)
    without = case.block(x, case.block_weights, None, None)
    assert_matches(block(case.x), without, "output without angles", axes=AXES)
    ahead = case.causal.flip(0, 1)
    expected = case.block(x, case.block_weights, None, ahead)
    subject = "output without angles, with a mask that shows later tokens only"
    assert_matches(block(case.x, mask=ahead), expected, subject, axes=AXES)
    cache, past = student.needed("kv_cache", "KVCache"), case.pieces[0]
    block(case.x[:, :past], cache=cache)
    result = block(case.x[:, past:], cache=cache)
    subject = f"output for tokens {past} to {case.length - 1} with a cache alone"
    assert_matches(result, without[:, past:], subject, axes=AXES)
    cache = student.needed("kv_cache", "KVCache")
    at_once = case.block(x, case.block_weights, case.angles, case.causal)
    for start, end in ((0, past), (past, case.length)):
        mask = case.causal[start:end, :end]
        result = block(case.x[:, start:end], angles=case.angles[start:end], mask=mask, cache=cache)
        subject = f"output for tokens {start} to {end - 1} through a cache"
        assert_matches(result, at_once[:, start:end], subject, axes=AXES)


@check(points=3, inputs=cases(), examples=2)
@either_precision
def test_logits_agree_with_torch(student: Any, case: ModelCase) -> None:
    """The logits are those of torch's functions, put together as under "Formula".

    Sees tokens times √d_model, positions that are added or missing, a last norm that
    is missing, a block too few, probabilities in place of logits, and logits of the last token
    only.
    """
    model = case.model(student)
    assert_matches(model(case.ids), case.logits, "logits", axes=LOGITS)
    # A model is not made for one length.
    short = case.ids[:, :2]
    expected = case.forward(case.weights, short)
    assert_matches(model(short), expected, "logits for two tokens", axes=LOGITS)


@check(points=3, inputs=cases(), examples=2)
@either_precision
def test_in_pieces_through_caches(student: Any, case: ModelCase) -> None:
    """Tokens that arrive in pieces through caches give the same logits as all at once.

    Sees positions that start at 0 again, a mask without columns for the past or without a future
    to hide, a cache that blocks share, a past that is read when it has grown, and a base that is
    used without caches only. Compares your model with itself.
    """
    model = case.model(student, base=37.0)
    at_once = _listening(model, case)
    for pieces in (case.pieces, (1,) * case.length, (2, case.length - 2)):
        caches, past = case.caches(student), 0
        for logits, length in zip(
            case.in_pieces(model, caches, case.ids, pieces), pieces, strict=True
        ):
            subject = f"logits for {_tokens(length)} with {past} in the caches"
            expected = at_once[:, past : past + length]
            assert_matches(logits, expected, subject, axes=LOGITS, sides=("in pieces", "at once"))
            past += length
        for number, cache in enumerate(caches):
            if cache.length.get() != case.length:
                raise Mismatch(
                    f"{case.length} tokens went through your model; cache {number} holds "
                    f"{cache.length.get()} of them.",
                    help="Does each block get the cache of its own number?",
                )
    assert_repeats(model(case.ids), at_once)


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"


def _listening(model: RemoteModule, case: ModelCase) -> torch.Tensor:
    """The logits of all tokens at once, which change with the first token. No lazy answer's do."""
    logits = model(case.ids)
    case.assert_logits(logits, case.length)
    changed = model(case.with_other(0))
    headline = "Changing the first token does not affect the logits of the tokens after it."
    assert_changes(changed[:, 1:], logits[:, 1:], headline)
    name = "blocks.0.attn.q_proj.weight"
    model.load({name: -case.weights[name]}, strict=False)
    changed = model(case.ids)
    assert_changes(changed, logits, f"The numbers in `{name}` change nothing.")
    model.load({name: case.weights[name]}, strict=False)
    listening: torch.Tensor = logits
    return listening


@check(points=1, inputs=cases(num_layers=1), examples=2)
@either_precision
def test_no_position_looks_ahead(student: Any, case: ModelCase) -> None:
    """Another token at position t changes no logit before t, and the logits from t on.

    Sees a causal mask that is missing, left out when there are caches, or off by one. Compares your
    model with itself.
    """
    model = case.model(student)
    _listening(model, case)
    positions = torch.arange(case.length).expand(case.batch, -1)
    for caches in (False, True):
        with_caches = " through empty caches" if caches else ""
        before = model(case.ids, *([case.caches(student)] if caches else []))
        case.assert_logits(before, case.length, f"logits{with_caches}")
        for t in (1, case.length - 1):
            after = model(case.with_other(t), *([case.caches(student)] if caches else []))
            headline = (
                f"The token at position {t}{with_caches} changes logits of earlier positions."
            )
            sides = f"with another token at position {t}", "before"
            check_same(after, before, positions < t, headline, sides)
            headline = f"The token at position {t}{with_caches} changes no logit from there on."
            check_other(after, before, positions >= t, headline)


@check(points=2, inputs=cases(), examples=1)
@either_precision
def test_parameters_and_ties(student: Any, case: ModelCase) -> None:
    """The parameters have the right names; with `tie_weights`, embedding and lm_head are one.

    Sees a bias in lm_head, blocks that share numbers, a list that hides them, weights that are
    copied and not tied, tied without being asked, and tables of angles that `.to` does not move.
    """
    subject = f"LanguageModel({case.vocab}, …)"
    model = case.model(student)
    assert_registers(model, case.shapes, subject)
    assert_keeps_numbers(model, case.weights)
    _listening(model, case)
    assert_moves(case.new_model(student))

    # In float32, as it is made: `.to(...)` parts two parameters on the same numbers.
    tied = replace(case, tied=True, dtype=torch.float32)
    _assert_tied(student, tied, f"{subject[:-1]}, tie_weights=True)")


def _assert_tied(student: Any, case: ModelCase, subject: str) -> None:
    model = case.new_model(student, tie_weights=True).eval()
    shared = {name: shape for name, shape in case.shapes.items() if name != HEAD}
    assert_registers(model, shared, subject)
    result = {parameter.name: parameter.storage for parameter in model.parameters()}
    start = list(model.weights((EMBEDDING, HEAD)).values()) if HEAD in result else []
    # What is loaded into the embedding is in lm_head too.
    leaf = case.weights[EMBEDDING].clone().requires_grad_()
    untied = {name: value for name, value in case.weights.items() if name != HEAD}
    model.load({**untied, EMBEDDING: leaf}, strict=False)
    logits = model(case.ids)
    gradient = gradients(logits, [leaf], case.cotangent)
    if result.get(HEAD) != result[EMBEDDING]:
        copied = len(start) == 2 and torch.equal(*start)
        raise Mismatch(
            f"With tie_weights=True, `{HEAD}` and `{EMBEDDING}` should be one parameter; in your "
            f"model they are two, which start with {'equal' if copied else 'different'} numbers.",
            help="Does an assignment of numbers (copy_, .data, clone) tie what is learned later?",
        )
    assert_matches(logits, case.logits, "logits with tied weights", axes=LOGITS)
    # Two parameters on the same numbers are tied for the eye, but not for the optimiser.
    assert_gradients(gradient, [case.gradients[0]], [EMBEDDING])


@check(points=2, inputs=cases(num_layers=2), examples=1)
@either_precision
def test_options_reach_every_part(student: Any, case: ModelCase) -> None:
    """`base`, `eps` and `max_len` are used, and sizes that don't divide evenly raise ValueError.

    Sees an option that is ignored, an eps of 0 taken for none, a max_len that leaves the cached
    tokens out or is one off, and other defaults.
    """
    assert_defaults(student, "LanguageModel", DEFAULTS)
    assert_defaults(student, "Block", {"eps": 1e-6})
    room = case.length
    for eps in (0.0, 1e-2):
        changed = replace(case, base=37.0, eps=eps)
        model = changed.model(student, max_len=room, base=37.0, eps=eps)
        subject = f"logits with max_len, base=37 and eps={eps:g}"
        assert_matches(model(case.ids), changed.logits, subject, axes=LOGITS)
        sizes = (case.d_model, case.n_heads, case.n_kv_heads, case.d_ff)
        block = loaded(student.Block(*sizes, eps=eps).to(case.dtype), case.block_weights).eval()
        small = case.x * (eps or 1e-4)
        expected = changed.block(small.double(), case.block_weights, None, None)
        subject = f"output of a block with eps={eps:g}"
        assert_matches(block(small), expected, subject, axes=AXES)

    longer = torch.cat([case.ids, case.ids[:, :1]], dim=1)
    subject = f"{room + 1} tokens with max_len={room}"
    assert_refuses(ValueError, partial(model, longer), subject)
    for pieces in ((room - 1, 2), (room, 1)):
        caches = case.caches(student)
        first, second = longer[:, : pieces[0]], longer[:, pieces[0] :]
        case.assert_logits(model(first, caches), pieces[0])
        subject = f"{_tokens(pieces[1])} with {pieces[0]} in the caches and max_len={room}"
        assert_refuses(ValueError, partial(model, second, caches), subject)
    for wrong, why in (
        ((10, 4, 2), "10 features cannot be shared equally by 4 heads"),
        ((12, 4, 3), "4 query heads do not form 3 equal groups"),
    ):
        subject = f"LanguageModel(7, {', '.join(map(str, wrong))}, 1, 8): {why}"
        assert_refuses(ValueError, partial(student.LanguageModel, 7, *wrong, 1, 8), subject)


@check(points=1, inputs=cases(), examples=1)
@either_precision
def test_gradients_agree_with_torch(student: Any, case: ModelCase) -> None:
    """Gradients flow to every parameter as through torch's functions.

    Sees `detach`, `.data` and `no_grad` between the parts, which no value shows.
    """
    model = case.new_model(student).to(case.dtype).eval()
    weights = tracked_weights(case.weights)
    model.load(weights, strict=False)
    result = gradients(model(case.ids), list(weights.values()), case.cotangent)
    assert_gradients(result, case.gradients, tuple(weights))


@check(points=1, inputs=cases(num_layers=1), examples=1)
def test_works_on_any_input(student: Any, case: ModelCase) -> None:
    """Any batch, memory layout and dtype works, copies work, and ids are not modified.

    Sees a mix-up of batch and length, a dropout, sizes that are kept from an earlier call, and an
    output in another dtype.
    """
    settings = student.global_settings()
    _check_any_input(student, case)
    assert_settings_kept(settings, student.global_settings())


@either_precision
def _check_any_input(student: Any, case: ModelCase) -> None:
    model = case.model(student)
    twin = model.copy()
    logits = _listening(model, case)
    assert_matches(model(case.ids[1:2]), logits[1:2], "logits of one row alone", axes=LOGITS)
    assert_matches(model(case.ids[:, :1]), logits[:, :1], "logits of one token", axes=LOGITS)
    result, after = model.echo(transposed(case.ids))
    assert_matches(result, logits, "logits for ids that are not contiguous", axes=LOGITS)
    assert_not_edited([case.ids], after, ["ids"])
    assert_matches(twin(case.ids), logits, "logits of a deep copy", axes=LOGITS)
    result = model.train()(case.ids)
    assert_matches(result, logits, "logits in training mode", axes=LOGITS)
    model.eval()

    def in_dtype(dtype: torch.dtype) -> Any:
        return model.to(dtype).load(case.weights, strict=False)(case.ids, case.caches(student))

    assert_same_dtype(in_dtype, logits)


@check(points=0, inputs=cases(num_layers=1), examples=1)
def test_keeps_float64(student: Any, case: ModelCase) -> None:
    """In float64 the logits have the accuracy of float64.

    Sees a `.float()` on the way. It carries no points: float32 is accurate enough here.
    """
    logits = case.model(student)(case.ids)
    if matches(logits, case.logits):
        assert_matches(logits, case.logits, "logits", axes=LOGITS, rtol=1e-9, atol=1e-9)
