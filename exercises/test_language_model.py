"""Public tests of language_model. Run them with: pytest exercises/test_language_model.py."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from exercises.kv_cache import KVCache
from exercises.language_model import Block, LanguageModel
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_dtype,
    assert_matches,
    assert_parameters,
    assert_raises,
    assert_shape,
    assert_unchanged,
)

LOGITS = ("batch", "token", "vocabulary")
BLOCK = {
    "attn_norm.weight": (8,),
    "attn.q_proj.weight": (8, 8),
    "attn.k_proj.weight": (4, 8),
    "attn.v_proj.weight": (4, 8),
    "attn.out_proj.weight": (8, 8),
    "ffn_norm.weight": (8,),
    "ffn.gate_proj.weight": (6, 8),
    "ffn.up_proj.weight": (6, 8),
    "ffn.down_proj.weight": (8, 6),
}


def small(**options: Any) -> Any:
    """A model of 11 tokens, 8 features, 4 heads of which 2 are for keys, and 2 blocks."""
    torch.manual_seed(0)
    return LanguageModel(11, 8, 4, 2, num_layers=2, d_ff=6, **options).eval()


def some_ids(length: int = 5) -> Tensor:
    """Two rows of tokens."""
    return torch.randint(11, (2, length), generator=torch.Generator().manual_seed(1))


def test_the_parameters_of_a_block() -> None:
    """A block has two norms, attention and the feed-forward network."""
    assert_parameters(Block(8, 4, 2, 6), BLOCK, "Block(8, 4, 2, 6)")


def test_the_parameters_of_the_model() -> None:
    """The model has an embedding, two blocks, a norm and a head."""
    blocks = {f"blocks.{i}.{name}": shape for i in range(2) for name, shape in BLOCK.items()}
    ends = {"embedding.weight": (11, 8), "norm.weight": (8,), "lm_head.weight": (11, 8)}
    assert_parameters(small(), {**ends, **blocks}, "LanguageModel(11, 8, 4, 2, 2, 6)")


def test_a_block_without_its_sublayers() -> None:
    """With zeros in its last maps, a block returns x."""
    block: Any = Block(8, 4, 2, 6)
    nn.init.zeros_(block.attn.out_proj.weight)
    nn.init.zeros_(block.ffn.down_proj.weight)
    x = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(2))
    help = "Only the residual path remains. Do both sums add x itself, not its norm?"
    assert_matches(block(x), x, "output", axes=("batch", "token", "d_model"), help=help)


def test_a_block_by_hand() -> None:
    """Each sublayer reads the normalised x and adds its result to x.

    Attention reads attn_norm of x. The network reads ffn_norm of the sum, and its result is added
    to that sum.
    """
    torch.manual_seed(3)
    block: Any = Block(8, 4, 2, 6)
    for norm in (block.attn_norm, block.ffn_norm):
        nn.init.uniform_(norm.weight)
    x, mask = torch.randn(2, 3, 8), torch.ones(3, 3, dtype=torch.bool).tril()
    angles = torch.randn(3, 1)
    first = x + block.attn(block.attn_norm(x), angles, mask, None)
    expected = first + block.ffn(block.ffn_norm(first))
    found = block(x, angles, mask)
    right = found.shape == expected.shape and torch.allclose(found, expected, atol=1e-5)
    asks = {} if right else wrong_blocks(block, x, angles, mask)
    axes = ("batch", "token", "d_model")
    assert_matches(found, expected, "output of a block", axes=axes, asks=asks)


def wrong_blocks(block: Any, x: Tensor, angles: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Return what a block with one mistake would return, by the question to ask about it."""

    def attended(given: Tensor, angles: Tensor | None, mask: Tensor | None) -> Any:
        return x + block.attn(given, angles, mask, None)

    def completed(first: Tensor) -> Any:
        return first + block.ffn(block.ffn_norm(first))

    normed = block.attn_norm(x)
    first = attended(normed, angles, mask)
    network = completed(first) - first
    return {
        "Does attention read x, or its norm?": completed(attended(x, angles, mask)),
        "Does the network read the sum, or its norm?": first + block.ffn(first),
        "Does the network read x, or the sum with attention?": first + completed(x) - x,
        "What is the network's result added to: x, or the sum with attention?": x + network,
        "Does each sublayer have its own norm?": first + block.ffn(block.attn_norm(first)),
        "Do the angles reach attention?": completed(attended(normed, None, mask)),
        "Does the mask reach attention?": completed(attended(normed, angles, None)),
        "Is the network used?": first,
        "Is attention used?": completed(x),
    }


def test_what_stands_around_the_blocks() -> None:
    """Where blocks return x, norm and head act on the embedding.

    Blocks return x when their last maps are zero.
    """
    model, ids = small(), some_ids()
    for name, parameter in model.named_parameters():
        if name.endswith(("out_proj.weight", "down_proj.weight")):
            nn.init.zeros_(parameter)
    expected = model.lm_head(model.norm(model.embedding(ids)))
    before = ids.clone()
    found = model(ids)
    assert_unchanged(ids, before, "ids")
    assert_matches(model.train()(ids), found, "logits in training mode", axes=LOGITS)
    assert_dtype(model.to(torch.bfloat16)(ids), torch.bfloat16, "logits of a bfloat16 model")
    assert_shape(found, {"batch": 2, "token": 5, "vocabulary": 11}, "logits")
    assert_matches(found, expected, "logits where blocks return x", axes=LOGITS)


def test_the_blocks_one_after_the_other() -> None:
    """The second block reads what the first returns.

    A head has 8 / 4 = 2 features, so each token has one angle. It equals the position: 0 to 4.
    """
    model, ids = small(), some_ids()
    angles = torch.arange(5.0)[:, None]
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    first, second = model.blocks
    embedded = model.embedding(ids)
    after_first, after_second = first(embedded, angles, mask), second(embedded, angles, mask)

    def logits(x: Tensor) -> Any:
        return model.lm_head(model.norm(x))

    assert_matches(
        model(ids),
        logits(second(after_first, angles, mask)),
        "logits",
        axes=LOGITS,
        help="Does the first block read the embedding as it is? How many features does a head "
        "have, and which angles does each token have? Does each block read what the one before it "
        "returned?",
        asks={
            "These are the logits after the first block. Is every block used?": logits(after_first),
            "These are the logits of the second block alone. Does it read what the first one "
            "returned?": logits(after_second),
            "In which order do the blocks run?": logits(first(after_second, angles, mask)),
            "Is the embedding multiplied by something here?": logits(
                second(first(embedded * 8**0.5, angles, mask), angles, mask)
            ),
        },
    )


def test_no_position_looks_ahead() -> None:
    """Changing the last token changes no earlier logit.

    Which mask reaches attention, and which of its axes belongs to the queries?
    """
    model, ids = small(), some_ids()
    other = ids.clone()
    other[:, -1] = (other[:, -1] + 1) % 11
    found, before = model(other)[:, :-1], model(ids)[:, :-1]
    what = "logits of tokens 0 to 3 when token 4 is a different one"
    assert_matches(found, before, what, axes=LOGITS, sides=("another", "before"))


@given(lengths=st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_in_pieces_through_caches(lengths: list[int]) -> None:
    """Tokens that arrive in pieces give the same logits as together."""
    model, ids = small(), some_ids(sum(lengths))
    caches, past = [KVCache() for _ in model.blocks], 0
    at_once = model(ids)
    for length in lengths:
        found = model(ids[:, past : past + length], caches)
        what = f"logits for a piece of length {length} with {past} in the caches"
        expected = at_once[:, past : past + length]
        help = "What is the position of the first new token? How many columns does the mask have?"
        assert_matches(
            found, expected, what, axes=LOGITS, help=help, sides=("in pieces", "at once")
        )
        past += length


def test_one_matrix_for_both_ends() -> None:
    """With tie_weights, lm_head and the embedding share one weight."""
    for tie in (True, False):
        model = small(tie_weights=tie)
        if (model.lm_head.weight is model.embedding.weight) is not tie:
            same = "two parameters" if tie else "one parameter"
            raise Mismatch(
                f"With tie_weights={tie}, embedding and lm_head of LanguageModel hold {same}.",
                help="To tie two weights, both names must refer to the same parameter.",
                points_at="__init__",
            )
        assert_shape(model(some_ids()), (2, 5, 11), f"logits with tie_weights={tie}")


def test_the_defaults() -> None:
    """max_len 2048, base 10000, eps 1e-6, untied: the defaults."""
    assert_defaults(Block, eps=1e-6)
    assert_defaults(LanguageModel, max_len=2048, base=10000.0, eps=1e-6, tie_weights=False)


def test_sizes_that_do_not_divide_are_refused() -> None:
    """3 heads don't fit 8 features; 4 don't fit 3 key/value heads."""
    for n_heads, n_kv_heads in ((3, 1), (4, 3)):
        with assert_raises(ValueError, f"LanguageModel(11, 8, {n_heads}, {n_kv_heads}, 2, 6)"):
            LanguageModel(11, 8, n_heads, n_kv_heads, 2, 6)


def test_the_longest_text() -> None:
    """max_len tokens are fine, one more is not; cached tokens count."""
    model = small(max_len=4)
    assert_shape(model(some_ids(4)), (2, 4, 11), "logits for max_len tokens")
    with assert_raises(ValueError, "5 tokens with max_len=4"):
        model(some_ids(5))
    caches = [KVCache() for _ in model.blocks]
    model(some_ids(3), caches)
    with assert_raises(ValueError, "2 tokens after 3 cached ones with max_len=4"):
        model(some_ids(2), caches)


def test_positions_count() -> None:
    """The order of the tokens matters, and so does `base`."""
    ids, swapped = torch.tensor([[3, 4, 5, 6]]), torch.tensor([[4, 3, 5, 6]])
    torch.manual_seed(6)
    plain = LanguageModel(11, 16, 2, 2, 1, 6)
    torch.manual_seed(6)
    other = LanguageModel(11, 16, 2, 2, 1, 6, base=10.0)
    for told, one, two in (
        ("does not depend on the order of the tokens before it", plain(ids), plain(swapped)),
        ("is the same for base=10.0 and for the default", plain(ids), other(ids)),
    ):
        if torch.allclose(one[:, -1], two[:, -1], atol=1e-5):
            raise Mismatch(
                f"The last logit of your LanguageModel {told}.",
                help="Do the angles reach every block, and are they computed with `base`?",
            )


def test_nothing_before_the_first_block() -> None:
    """The embedding's output goes into the blocks unchanged.

    With zeros in their last maps, blocks return x. With eps = 1e6 the norm divides by about 1000,
    however large x is, so any additional factor shows.
    """
    model = small(eps=1e6)
    for name, parameter in model.named_parameters():
        if name.endswith(("out_proj.weight", "down_proj.weight")):
            nn.init.zeros_(parameter)
    nn.init.eye_(model.lm_head.weight)
    ids = some_ids()
    logits, expected = model(ids)[..., :8], model.embedding(ids) / 1000
    help = "Is anything done to the tokens before the first block, and is eps passed on?"
    assert_matches(logits, expected, "logits", axes=LOGITS, help=help, atol=1e-6)


def test_eps_reaches_every_norm() -> None:
    """With an eps of 1e12, a block adds nothing to x."""
    torch.manual_seed(4)
    block: Any = Block(8, 4, 2, 6, eps=1e12)
    x = torch.randn(2, 3, 8)
    for what, found in (
        ("output of a Block with eps=1e12", block(x)),
        ("output of a LanguageModel's block with eps=1e12", small(eps=1e12).blocks[0](x)),
    ):
        help = "Is eps passed on to both norms?"
        assert_matches(found, x, what, axes=("batch", "token", "d_model"), help=help)


def test_a_block_adds_no_mask() -> None:
    """A block without a mask looks ahead, with a cache and without.

    The last token affects the first token's output."""
    torch.manual_seed(5)
    block, x = Block(8, 4, 2, 6), torch.randn(1, 3, 8)
    other = x.clone()
    other[:, -1] = 3.0
    found = block(x)
    if torch.allclose(found[:, 0], block(other)[:, 0], atol=1e-6):
        raise Mismatch("Your Block hides later tokens although it is given no mask.")
    help = "Does the block make a mask or angles of its own when it is given a cache alone?"
    what = "output of a Block with an empty cache alone"
    cached = block(x, cache=KVCache())
    assert_matches(cached, found, what, axes=("batch", "token", "d_model"), help=help)


def test_blocks_share_nothing_and_the_embedding_learns() -> None:
    """Blocks share no parameters; each token's vector gets a gradient."""
    model = small()
    shared = {id(p) for p in model.blocks[0].parameters()} & {
        id(p) for p in model.blocks[1].parameters()
    }
    if shared:
        raise Mismatch("The blocks of your LanguageModel share parameters.", points_at="__init__")
    model(torch.arange(11)[None]).square().sum().backward()
    gradient = model.embedding.weight.grad
    if gradient is None or not gradient.any():
        raise Mismatch("`embedding.weight` receives no gradient from the logits.")
    for token, row in enumerate(gradient):
        if not row.any():
            raise Mismatch(
                f"Row {token} of `embedding.weight` receives no gradient, although the text has "
                f"the token {token}.",
                help="Is a token treated as padding? A language model has no padding.",
                points_at="__init__",
            )
