"""Public tests of embedding. Run them with: pytest exercises/test_embedding.py."""

from copy import deepcopy
from typing import Any

import torch
from torch import nn

from exercises.embedding import Embedding, TokenEmbedding, TransformerEmbedding
from exercises.positional import sinusoidal_table
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_matches,
    assert_parameters,
    assert_raises,
    assert_zero,
)

AXES = ("batch", "length", "d_model")
TABLE = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_each_id_gets_its_row() -> None:
    """Id 2 gets row 2 of `weight`, id 0 gets row 0, and so on.

    Rows are counted from 0. The output has the axes of the ids, with the features last.
    """
    embedding = Embedding(num_embeddings=3, embedding_dim=2)
    assert_parameters(embedding, {"weight": (3, 2)}, "Embedding(3, 2)")
    embedding.weight = nn.Parameter(TABLE.clone())
    expected = torch.tensor([[[5.0, 6.0], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]])
    assert_matches(embedding(torch.tensor([[2, 0, 0, 1]])), expected, "Embedding output", axes=AXES)


def test_the_padding_row_does_not_learn() -> None:
    """The padding row is zero and receives no gradient.

    The other rows do.
    """
    embedding: Any = Embedding(num_embeddings=5, embedding_dim=3, padding_idx=1)
    assert_zero(embedding.weight[1], "Embedding's padding row")
    embedding(torch.tensor([[0, 1, 4, 4]])).sum().backward()
    expected = torch.zeros(5, 3)
    expected[0], expected[4] = 1.0, 2.0
    axes = ("row", "feature")
    assert_matches(embedding.weight.grad, expected, "gradient of Embedding's weight", axes=axes)
    embedding.weight = nn.Parameter(torch.arange(15.0).reshape(5, 3))
    output = embedding(torch.tensor([[1]]))
    stored = torch.tensor([[[3.0, 4.0, 5.0]]])
    what = "output for the padding row of a table that was loaded"
    assert_matches(output, stored, what, axes=AXES)


def test_a_copy_freezes_the_same_row() -> None:
    """In a copy made by `copy.deepcopy`, the padding row gets no gradient."""
    embedding: Any = deepcopy(Embedding(num_embeddings=5, embedding_dim=3, padding_idx=1))
    embedding(torch.tensor([[0, 1, 4, 4]])).sum().backward()
    expected = torch.zeros(5, 3)
    expected[0], expected[4] = 1.0, 2.0
    what, axes = "gradient of the weight of a copied Embedding", ("row", "feature")
    help = "What keeps the row from learning in your code, and does it work in a copy too?"
    assert_matches(embedding.weight.grad, expected, what, axes=axes, help=help)


def test_padding_idx_reaches_the_table() -> None:
    """Any row may be padding, including row 0, and by default none is.

    That holds for all three modules.
    """
    for padding_idx in (0, 2, None):
        embedding: Any = Embedding(4, 3, padding_idx)
        token: Any = TokenEmbedding(4, 3, padding_idx)
        whole: Any = TransformerEmbedding(4, 3, max_len=5, padding_idx=padding_idx)
        for name, module, table in (
            ("Embedding", embedding, embedding),
            ("TokenEmbedding", token, token.embedding),
            ("TransformerEmbedding", whole.eval(), whole.token.embedding),
        ):
            module(torch.tensor([[0, 1, 2, 3]])).sum().backward()
            learns = [i for i, row in enumerate(table.weight.grad) if row.any()]
            starts = [i for i, row in enumerate(table.weight) if not row.any()]
            wanted = [i for i in range(4) if i != padding_idx]
            if learns != wanted or starts != [i for i in range(4) if i not in wanted]:
                zeros = f"the rows {starts} start" if starts else "no row starts"
                raise Mismatch(
                    f"With padding_idx={padding_idx}, the rows {learns} of {name} learn, and "
                    f"{zeros} as zeros. {wanted} should learn, and only the padding row, if "
                    "there is one, starts as zeros.",
                    help="Is padding_idx passed on? What do `if 0` and `if None` do?",
                )


def test_how_it_starts() -> None:
    """The numbers in the table are drawn from N(0, 1).

    So about two thirds of them are between -1 and 1.
    """
    torch.manual_seed(0)
    embedding: Any = Embedding(100, 100)
    table = embedding.weight.detach()
    deviation, within = table.std().item(), (table.abs() < 1).double().mean().item()
    if not (0.95 < deviation < 1.05 and 0.66 < within < 0.71):
        raise Mismatch(
            "The table of Embedding(100, 100) starts with a standard deviation of "
            f"{deviation:.2f}, and {within:.0%} of its numbers lie between -1 and 1. It should be "
            "1 and 68%.",
            points_at="__init__",
        )


def test_an_id_outside_the_table() -> None:
    """With three rows, ids 3 and -1 raise IndexError."""
    embedding = Embedding(num_embeddings=3, embedding_dim=2)
    with assert_raises(IndexError, "Embedding(3, 2) with the id 3"):
        embedding(torch.tensor([[0, 3]]))
    with assert_raises(IndexError, "Embedding(3, 2) with the id -1"):
        embedding(torch.tensor([[0, -1]]))


def test_rows_are_scaled() -> None:
    """With four features, each row is multiplied by sqrt(4) = 2.

    That number isn't a parameter: training leaves it alone.
    """
    module: Any = TokenEmbedding(vocab_size=3, d_model=4)
    assert_parameters(module, {"embedding.weight": (3, 4)}, "TokenEmbedding(3, 4)")
    module.embedding.weight = nn.Parameter(torch.arange(12.0).reshape(3, 4))
    expected = torch.tensor([[[16.0, 18.0, 20.0, 22.0], [0.0, 2.0, 4.0, 6.0]]])
    output = module(torch.tensor([[2, 0]]))
    asks = {
        "Are the rows scaled?": expected / 2,
        "Which number do you take the root of? There are four features and three tokens.": expected
        / 2
        * 3**0.5,
        "Do you multiply by d_model, or by its root?": expected * 2,
        "Are the rows divided by the root, or multiplied by it?": expected / 4,
    }
    help = "Print the rows that come out of `embedding`, and what you multiply them by."
    assert_matches(output, expected, "TokenEmbedding output", axes=AXES, help=help, asks=asks)


def test_tokens_and_their_positions() -> None:
    """Each token becomes its scaled row plus the row of its position."""
    torch.manual_seed(0)
    module: Any = TransformerEmbedding(vocab_size=7, d_model=6, max_len=20).eval()
    ids = torch.tensor([[3, 1, 4], [1, 5, 6]])
    tokens, table = module.token(ids), sinusoidal_table(3, 6)
    asks = {
        "Are the positions added?": tokens,
        "Is the token's row there twice? What does `position` return?": 2 * tokens + table,
        "Is the table added twice? What does `position` do already?": tokens + 2 * table,
        "Are rows scaled twice? `token` does that already.": 6**0.5 * tokens + table,
        "Are rows scaled before positions are added, or after?": 6**0.5 * (tokens / 6**0.5 + table),
        "Are the rows scaled?": tokens / 6**0.5 + table,
        "Is the token's row there at all?": table.expand(2, 3, 6),
    }
    help = "Each token's scaled row and the row of its position, each once."
    what = "TransformerEmbedding output"
    assert_matches(module(ids), tokens + table, what, axes=AXES, help=help, asks=asks)


def test_options_reach_the_positions() -> None:
    """`dropout` and `max_len` are passed on to the positions.

    Dropout acts once, on the sum: with 0.5, kept numbers are twice as large as in evaluation.
    """
    torch.manual_seed(0)
    module: Any = TransformerEmbedding(vocab_size=9, d_model=40, dropout=0.5, max_len=6)
    ids = torch.tensor([[1, 2, 3, 4, 5, 6]])
    output, whole = module.train()(ids), module.eval()(ids)
    expected = torch.where(output == 0, 0.0, 2 * whole)
    assert_matches(output, expected, "TransformerEmbedding output in training", axes=AXES)
    share = (output == 0).double().mean().item()
    if not 0.3 < share < 0.7:
        raise Mismatch(f"With dropout 0.5, {share:.0%} of the numbers are zero in training.")
    with assert_raises(ValueError, "TransformerEmbedding with max_len=6 and seven tokens"):
        module(torch.tensor([[1, 2, 3, 4, 5, 6, 7]]))


def test_the_defaults() -> None:
    """The defaults: dropout 0.1 and room for 5000 positions."""
    assert_defaults(TransformerEmbedding, dropout=0.1, max_len=5000)
