"""Public tests of tiled_attention. Run them with: pytest exercises/test_tiled_attention.py."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from exercises.tiled_attention import tiled_attention
from grader.feedback.comparison import (
    assert_defaults,
    assert_dtype,
    assert_finite,
    assert_matches,
    assert_sizes,
    assert_unchanged,
)

AXES = ("batch", "head", "query", "d_v")


def random_inputs(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Random tensors of these shapes."""
    chance = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=chance) for shape in shapes]


def test_by_hand() -> None:
    """Four keys in two blocks, worked out with a pencil.

    The scores are 0, log 2, log 4 and 0, so the weights are 1/8, 2/8, 4/8 and 1/8, and the values
    8, 4, 2 and 16 give 1 + 1 + 1 + 2 = 5. The largest score is in the second block.
    """
    query = torch.tensor([[1.0]])
    key = torch.tensor([[1.0], [2.0], [4.0], [1.0]]).log()
    value = torch.tensor([[8.0], [4.0], [2.0], [16.0]])
    plain = (
        "All keys are in one block here. Which maximum does each exponential subtract, the one "
        "before this block or the new one? And is the output divided by the total?"
    )
    blocks = (
        "With a single block it is right. Which keys are in each block, what is kept for the "
        "next one, and are both running sums rescaled when the maximum grows? Which maximum, the "
        "old or the new one, does each exponential use?"
    )

    def over(*keys: int) -> Tensor:
        weights, values = key[list(keys)].exp(), value[list(keys)]
        return (weights * values).sum(dim=0, keepdim=True) / weights.sum()

    start, end = "Where does a block start?", "Where does a block end?"
    last_block = "Only the last block counts here. What is kept of the others?"
    skipping = "A key between two blocks is left out. Where does the next block start?"
    repeated = "Some keys count several times. Where does the second block start?"
    in_one = {
        f"The last key is left out. {end}": over(0, 1, 2),
        f"The first key is left out. {start}": over(1, 2, 3),
        repeated: over(0, 1, 1, 2, 2, 2, 3, 3, 3, 3),
    }
    for block, help, asks in (
        (4, plain, in_one),
        (2, blocks, {last_block: over(2, 3), skipping: over(0, 1, 3)}),
        (
            1,
            blocks,
            {
                last_block: over(3),
                skipping: over(0, 2),
                "The last block is left out. Where does your loop end?": over(0, 1, 2),
            },
        ),
    ):
        assert_matches(
            tiled_attention(query, key, value, block=block),
            torch.tensor([[5.0]]),
            f"output with block={block}",
            help=help,
            asks=asks,
        )


def test_the_scale() -> None:
    """The scores are divided by the root of d.

    With d = 4 features, 2 log 3 becomes log 3. So the weights are 3/4 and 1/4.
    """
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
    key = torch.tensor([[3.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]).log()
    value = torch.tensor([[4.0, 0.0, 8.0], [0.0, 4.0, 8.0]])
    assert_matches(tiled_attention(query, key, value), torch.tensor([[3.0, 1.0, 8.0]]), "output")


@given(block=st.integers(1, 9))
def test_any_block_gives_the_same(block: int) -> None:
    """Seven keys in blocks of 1 to 9 give the same."""
    query, key, value = random_inputs(0, (2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6))
    assert_matches(
        tiled_attention(query, key, value, block=block),
        tiled_attention(query, key, value, block=7),
        f"output with block={block}, compared with block=7,",
        axes=AXES,
        help="Is every key visited, including the last ones, and nothing besides?",
        sides=("these blocks", "one block"),
    )


def test_hidden_keys() -> None:
    """A hidden key does not affect the output, for any shape of mask.

    Of five keys the last two are hidden, so the output is that of the first three.
    """
    query, key, value = random_inputs(1, (2, 3, 4, 6), (2, 3, 5, 6), (2, 3, 5, 7))
    expected = tiled_attention(query, key[..., :3, :], value[..., :3, :])
    row = torch.tensor([True, True, True, False, False])
    for mask in (row, row.expand(4, 5), row.expand(2, 1, 1, 5), row.expand(2, 3, 4, 5)):
        for block in (2, 3, 8):
            what = f"output with a mask of shape {tuple(mask.shape)} and block={block}"
            output = tiled_attention(query, key, value, mask, block)
            assert_matches(output, expected, what, axes=AXES)


def test_a_hidden_block() -> None:
    """The mask may hide the whole first block."""
    query, key, value = random_inputs(2, (3, 4), (6, 4), (6, 5))
    mask = torch.tensor([False, False, False, True, True, True])
    assert_matches(
        tiled_attention(query, key, value, mask, block=3),
        tiled_attention(query, key[3:], value[3:]),
        "output with the first block hidden",
        help="What are your running maximum and sums after a block in which every key is hidden?",
    )


def test_a_mask_and_low_scores() -> None:
    """A mask works for scores of -1000, and for 1000 next to 0.

    The second key is hidden, so the first value comes out, whatever the scores are.
    """
    value, mask = torch.tensor([[3.0], [5.0]]), torch.tensor([True, False])
    for scores, help in (
        (
            (-1000.0, -1000.0),
            "Is the number that replaces the score of a hidden key lower than any score?",
        ),
        ((0.0, 1000.0), "Is a key hidden before you take the largest score, or after?"),
    ):
        key = torch.tensor(scores).reshape(2, 1)
        for block in (1, 2):
            output = tiled_attention(torch.ones(1, 1), key, value, mask, block)
            what = f"output for the scores {scores} with block={block}"
            assert_matches(output, torch.tensor([[3.0]]), what, help=help)


def test_a_query_without_keys() -> None:
    """A query with no visible key gives finite numbers, not NaN."""
    query, key, value = random_inputs(3, (2, 4), (5, 4), (5, 3))
    mask = torch.tensor([[False], [True]])
    output = tiled_attention(query, key, value, mask, block=2)
    assert_finite(output, "output", axes=("query", "d_v"))
    expected = tiled_attention(query, key, value, block=2)
    assert_matches(output[1], expected[1], "output of the query that has keys")


def test_large_scores() -> None:
    """Scores of 1000, 0 and -1000 give no NaN, in any order.

    Only differences from the largest score so far go into `exp`, so none of them is above zero.
    """
    query, value = torch.tensor([[1.0]]), torch.tensor([[5.0], [6.0], [7.0]])
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        key = torch.tensor([[1000.0], [0.0], [-1000.0]])[list(order)]
        output = tiled_attention(query, key, value[list(order)], block=1)
        assert_matches(output, torch.tensor([[5.0]]), f"output for scores {key.flatten().tolist()}")


def test_the_default_block() -> None:
    """Without `block`, 64 keys are visited at a time."""
    assert_defaults(tiled_attention, block=64)


def test_no_large_tensor() -> None:
    """No tensor grows with Lq times Lk, neither scores nor masks."""
    query, key, value = random_inputs(4, (2, 32, 4), (2, 32, 4), (2, 32, 3))
    mask = torch.ones(32, 32, dtype=torch.bool).tril()
    help = "Only one block of the scores is needed at a time. The same goes for the mask."
    for one in (None, mask):
        what = "Your code, without a mask," if one is None else "Your code, with a mask,"
        with assert_sizes(2 * 32 * 5, [query, key, value, one], what, help):
            tiled_attention(query, key, value, one, block=5)


def test_gradients_and_dtype() -> None:
    """Blocks change neither the gradients nor the dtype.

    No step is detached, and every tensor takes its dtype from the inputs.
    """
    query, key, value = random_inputs(5, (5, 4), (7, 4), (7, 3))
    names = ("query", "key", "value")
    found = []
    for block in (3, 7):
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
        output = tiled_attention(leaves[0], leaves[1], leaves[2], block=block)
        found.append(torch.autograd.grad(output.square().sum(), leaves, allow_unused=True))
    for name, blocks, whole in zip(names, *found, strict=True):
        assert whole is not None, f"No gradient reaches {name}."
        assert_matches(blocks, whole, f"gradient of {name}", sides=("block=3", "block=7"))
    half = tiled_attention(query.bfloat16(), key.bfloat16(), value.bfloat16(), block=3)
    assert_dtype(half, torch.bfloat16, "output for bfloat16")


def test_the_caller_keeps_its_tensors() -> None:
    """Query, key, value and mask are not modified."""
    query, key, value = random_inputs(6, (2, 4), (5, 4), (5, 3))
    mask = torch.tensor([True, False, True, True, False])
    given = {"query": query, "key": key, "value": value, "mask": mask}
    before = {name: tensor.clone() for name, tensor in given.items()}
    tiled_attention(query, key, value, mask, block=2)
    for name, tensor in given.items():
        assert_unchanged(tensor, before[name], name)
