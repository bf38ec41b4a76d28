"""What the checks of subwords and sampling take for right, and how they judge draws."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.checks import sampling_cases, subwords_cases
from grader.checks.sampling_cases import Options, assert_frequencies
from grader.curriculum import reference
from grader.feedback.comparison import Mismatch, assert_raises
from grader.feedback.plain_data import assert_equals
from grader.remote.fixtures import Continuer

SUBWORDS, SAMPLING = reference.module("subwords"), reference.module("sampling")
CACHES = reference.module("kv_cache")
TEXTS = st.text(st.sampled_from("ab é\n"), max_size=40)


@given(TEXTS, TEXTS, st.integers(0, 9))
def test_the_expected_merges_and_ids_are_those_of_the_answer(
    text: str, other: str, count: int
) -> None:
    """They are worked out in another way."""
    merges = SUBWORDS.train_merges(text, count)
    assert subwords_cases.learnt(text, count) == merges
    if len({left + right for left, right in merges}) == len(merges):
        assert SUBWORDS.encode(other, merges) == subwords_cases.encoded(other, merges)
        assert SUBWORDS.decode(SUBWORDS.encode(other, merges), merges) == other


@pytest.mark.full(seconds=3)
def test_counts_that_are_updated_twice_between_two_joins_learn_other_merges() -> None:
    """So a public implementation does, whose answers are the right ones for most texts."""
    texts = ["".join(letters) for letters in product("ab ", repeat=9)]
    others = [
        text
        for text in texts
        if subwords_cases.learnt_from_kept_counts(text, 4) != SUBWORDS.train_merges(text, 4)
    ]
    assert 0 < len(others) < len(texts) / 20


@pytest.mark.parametrize("options", [Options(0.6, 4, 0.8), Options(2.0, None, 0.5), Options(0)])
def test_the_expected_probabilities_are_those_of_the_answer(options: Options) -> None:
    logits = torch.randn(50, 6, generator=torch.Generator().manual_seed(1))
    result = SAMPLING.with_temperature(logits, options.temperature).log()
    if options.top_k is not None:
        result = SAMPLING.keep_top_k(result, options.top_k)
    if options.top_p is not None:
        result = SAMPLING.keep_top_p(result, options.top_p)
    expected = [sampling_cases.chances(row, options) for row in logits.tolist()]
    assert torch.allclose(result.softmax(-1), torch.tensor(expected), atol=1e-5)


def test_frequencies_of_right_draws_pass_and_others_do_not() -> None:
    chance = {0: 0.5, 1: 0.49, 2: 0.01}
    assert_frequencies(Counter({0: 10_080, 1: 9_720, 2: 200}), chance, "draws")
    with pytest.raises(Mismatch, match="Token 0 came in 52"):
        assert_frequencies(Counter({0: 10_480, 1: 9_320, 2: 200}), chance, "draws")
    with pytest.raises(Mismatch, match="ruled out"):
        assert_frequencies(Counter({0: 10_080, 1: 9_719, 2: 200, 3: 1}), chance, "draws")


def test_the_model_gives_the_same_in_pieces_and_needs_a_cache_for_each_block() -> None:
    torch.manual_seed(3)
    model, ids = Continuer(5, 4, 2, 9), torch.tensor([[1, 2, 0, 4, 3], [0, 0, 1, 3, 4]])
    whole = model(ids)
    caches = [CACHES.KVCache() for _ in model.blocks]
    pieces = [model(part, caches) for part in torch.split(ids, [2, 1, 2], dim=1)]
    assert torch.allclose(torch.cat(pieces, 1), whole, atol=1e-6)
    shared = [CACHES.KVCache()] * 2
    assert not torch.allclose(model(ids, shared), whole, atol=1e-2)
    with pytest.raises(ValueError, match="more than 9"):
        model(ids, caches)


def test_every_token_position_and_row_shows_in_the_logits() -> None:
    torch.manual_seed(3)
    model, ids = Continuer(5, 4, 2, 9), torch.tensor([[1, 2, 0, 4]])
    whole = model(ids)[:, -1]
    for position, token in product(range(4), range(5)):
        other = ids.clone()
        other[0, position] = token
        assert torch.equal(model(other)[:, -1], whole) == (token == ids[0, position].item())


@pytest.mark.parametrize(
    ("actual", "says"),
    [
        ([(b"a", b"b")], ""),
        ([[b"a", b"b"]], "it should be [(b'a', b'b')]"),
        ([("a", "b")], "it should be [(b'a', b'b')]"),
        ([(b"a", object())], "a list that holds something of the type object"),
        ({(1, 2): 256}, "it should be a list"),
        (((b"a", b"b"),), "it should be a list"),
    ],
    ids=["right", "lists", "texts", "an object", "a dictionary", "a tuple"],
)
def test_merges_are_compared_item_by_item(actual: object, says: str) -> None:
    if not says:
        assert_equals(actual, [(b"a", b"b")], "train_merges('ab', 1)")
        return
    with pytest.raises(Mismatch) as raised:
        assert_equals(actual, [(b"a", b"b")], "train_merges('ab', 1)")
    assert says in str(raised.value)


def test_a_list_that_holds_itself_is_told_without_an_end() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(Mismatch, match="it should be"):
        assert_equals(endless, [1], "ids")


def test_key_error_and_index_error_are_both_fine_for_an_unknown_id() -> None:
    for error in (KeyError, IndexError, ValueError):
        with assert_raises(LookupError, "decode([300], [])"):
            raise error
    with (
        pytest.raises(Mismatch, match="KeyError or IndexError"),
        assert_raises(LookupError, "decode([300], [])"),
    ):
        raise TypeError
