"""Public tests of sampling. Run them with: pytest exercises/test_sampling.py."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from exercises.sampling import generate, keep_top_k, keep_top_p, sample, with_temperature
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_raises

# The tokens of the example under "With a pencil".
PENCIL = torch.tensor([0.5, 0.25, 0.125, 0.0625, 0.0625]).log()
INF = float("inf")
# Two rows in which other tokens come first; no two logits of a row are equal.
ROWS = torch.tensor([[0.1, 0.2, 0.4, 0.3], [0.64, 0.2, 0.06, 0.1]]).log()
MANY = 20_000


class Chain(nn.Module):
    """A model that looks up the next token's probabilities in a table, by the last token alone.

    Without caches it needs all tokens; with caches, only those that it has not read yet. It counts
    them, and complains if the positions are not consecutive.
    """

    def __init__(self, *rows: list[float]) -> None:
        """Each row holds the probabilities of what follows a token."""
        super().__init__()
        self.blocks = nn.ModuleList(nn.Identity() for _ in range(2))
        self.logits = torch.tensor(rows).log()

    def forward(self, ids: Tensor, caches: Any = None) -> Tensor:
        """Logits (B, L, V)."""
        if caches is None and ids.size(1) == 1:
            raise ValueError("without caches, the model has to be given all tokens so far")
        if caches is not None:
            seen = [cache.append(*[ids[:, None, :, None].float()] * 2)[0] for cache in caches]
            first, second = (part[:, 0, :, 0].long() for part in seen)
            if len(caches) != 2 or first.shape != second.shape:
                raise ValueError("each of the two blocks needs a cache of its own")
            if not torch.equal(first[:, -ids.size(1) :], ids):
                raise ValueError("the caches hold other tokens than the model was given")
            if first.size(1) > ids.size(1) > 1:
                raise ValueError("the model was given tokens that its caches hold already")
            if first.size(1) == ids.size(1) == 1:
                raise ValueError("the model was given a single token, and its caches are empty")
        return self.logits[ids]


# After 0 comes 1, then 2, then 3, then 0 again; and each time another token is possible.
ROUND = Chain(
    [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7], [0.7, 0.1, 0.1, 0.1]
)


def assert_shares(
    drawn: Tensor,
    expected: list[float],
    what: str,
    asks: Mapping[str, list[float]] | None = None,
) -> None:
    """Each token came as often as it should, give or take two in a hundred.

    `asks` holds questions for other shares that suggest one.
    """
    shares = torch.bincount(drawn, minlength=len(expected)) / len(drawn)
    if not torch.equal(shares > 0, torch.tensor(expected) > 0):
        yours, right = ([round(share, 2) for share in one] for one in (shares.tolist(), expected))
        asked = [
            question
            for question, others in (asks or {}).items()
            if torch.allclose(shares, torch.tensor(others), rtol=0, atol=0.02)
        ]
        error = Mismatch(
            f"{what} gave the shares {yours}; expected are {right}.", help="".join(asked[:1])
        )
        error.names_cause = bool(asked)
        raise error
    assert_matches(shares, torch.tensor(expected), f"shares of the tokens of {what}", atol=0.02)


def test_temperature_by_hand() -> None:
    """T = 0.5 squares the probabilities; T = 0 takes the largest.

    The logits are divided by T before softmax. At T = 0, where that is impossible, the largest
    logit gets all the probability: the first, if several are equal.
    """
    for temperature, expected in (
        (1.0, [0.5, 0.25, 0.125, 0.0625, 0.0625]),
        (0.5, [16 / 21.5, 4 / 21.5, 1 / 21.5, 0.25 / 21.5, 0.25 / 21.5]),
        (0, [1.0, 0.0, 0.0, 0.0, 0.0]),
    ):
        found = with_temperature(PENCIL, temperature)
        assert_matches(found, torch.tensor(expected), f"probabilities at T = {temperature}")
    tied = torch.tensor([[1.0, 3.0, 3.0], [200.0, 0.0, 200.0]])
    expected_rows = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert_matches(with_temperature(tied, 0.0), expected_rows, "probabilities at T = 0")
    halves = torch.tensor([0.5, 0.0, 0.5])
    assert_matches(with_temperature(tied[1], 1.0), halves, "probabilities of large logits")
    assert_matches(tied[1], torch.tensor([200.0, 0.0, 200.0]), "logits after with_temperature")
    with assert_raises(ValueError, "with_temperature(logits, -1.0)"):
        with_temperature(PENCIL, -1.0)


def test_top_k_by_hand() -> None:
    """Each row keeps its own k largest logits, at their indices.

    The limit is the k-th largest logit of a row, so every row has its own limit.
    """
    logits = torch.tensor([[1.0, 4.0, 2.0, 3.0], [8.0, 5.0, 7.0, 6.0]])
    given = logits.clone()
    for k, expected in (
        (1, [[-INF, 4.0, -INF, -INF], [8.0, -INF, -INF, -INF]]),
        (2, [[-INF, 4.0, -INF, 3.0], [8.0, -INF, 7.0, -INF]]),
        (9, given.tolist()),
    ):
        found = keep_top_k(logits, k)
        assert_matches(found, torch.tensor(expected), f"keep_top_k(logits, {k})")
    one = torch.tensor([-INF, 4.0, -INF, -INF])
    assert_matches(keep_top_k(logits[0], 1), one)
    assert_matches(keep_top_k(logits[0].bfloat16(), 1), one, "keep_top_k(logits, 1) in bfloat16")
    assert_matches(logits, given, "logits after keep_top_k")
    with assert_raises(ValueError, "keep_top_k(logits, 0)"):
        keep_top_k(logits, 0)


def test_top_p_by_hand() -> None:
    """The token at which the sum reaches p stays; with p = 1 all tokens do.

    So at least one token always stays.
    """
    given = ROWS.clone()
    for p, stay in (
        (0.3, [[2], [0]]),
        (0.65, [[2, 3], [0, 1]]),
        (0.75, [[1, 2, 3], [0, 1]]),
        (0.95, [[0, 1, 2, 3], [0, 1, 2, 3]]),
        (1.0, [[0, 1, 2, 3], [0, 1, 2, 3]]),
    ):
        expected = torch.full_like(ROWS, -INF)
        for row, tokens in enumerate(stay):
            expected[row, tokens] = ROWS[row, tokens]
        rows = [", ".join(f"{share:.2f}" for share in row) for row in ROWS.exp().tolist()]
        help = (
            f"The probabilities of the rows are {rows[0]} and {rows[1]}. From the largest on, "
            f"which are needed to reach {p}?"
        )
        found = keep_top_p(ROWS, p)
        assert_matches(found, expected, f"keep_top_p(logits, {p})", help=help)
    found = keep_top_p(PENCIL + 7, 0.8).softmax(-1)
    expected = torch.tensor([4 / 7, 2 / 7, 1 / 7, 0.0, 0.0])
    assert_matches(found, expected, "probabilities after keep_top_p(logits + 7, 0.8)")
    assert_matches(ROWS, given, "logits after keep_top_p")
    for p in (0.0, 1.5):
        with assert_raises(ValueError, f"keep_top_p(logits, {p})"):
            keep_top_p(ROWS, p)


def test_draws_as_often_as_the_probabilities_say() -> None:
    """20,000 draws for each of two rows that alternate in the batch.

    Each token is drawn as often as its softmax says, whatever the other row's logits are.
    """
    drawn = sample(ROWS.repeat(MANY, 1))
    assert drawn.shape == (2 * MANY,), (
        f"For logits of shape {(2 * MANY, 4)}, sample returned ids of shape {tuple(drawn.shape)}; "
        f"it should be {(2 * MANY,)}, one id for each row."
    )
    assert_dtype(drawn, torch.int64, "tokens drawn")
    assert_shares(drawn[::2], [0.1, 0.2, 0.4, 0.3], "sample for the first row")
    assert_shares(drawn[1::2], [0.64, 0.2, 0.06, 0.1], "sample for the second row")
    given = ROWS.clone()
    one = sample(ROWS[:1], temperature=0)
    assert_matches(one, torch.tensor([2]), "sample for one row at temperature 0")
    sample(ROWS, temperature=0.5, top_k=2, top_p=0.5)
    assert_matches(ROWS, given, "logits after sample")
    with assert_raises(ValueError, "sample(logits, temperature=-1.0)"):
        sample(ROWS, temperature=-1.0)
    with assert_raises(ValueError, "sample(logits, top_k=0)"):
        sample(ROWS, top_k=0)
    with assert_raises(ValueError, "sample(logits, top_p=0.0)"):
        sample(ROWS, top_p=0.0)


def test_options_in_their_order() -> None:
    """Temperature, then top-k, then top-p on what is left.

    At T = 0.5 the probabilities 0.64, 0.2, 0.1 and 0.06 become 0.88, 0.09, 0.02 and 0.01, so that
    top-p = 0.7 leaves one token. Of 0.4, 0.3, 0.2 and 0.1, top-k = 2 leaves 4/7 and 3/7, and then
    top-p = 0.55 leaves the first, which is less than 0.55 of all.
    """
    many = ROWS.repeat(MANY, 1)
    cold = sample(many[1::2], temperature=0.5, top_p=0.7)
    logits = "What do your keep_top_k and keep_top_p get here: logits, or probabilities?"
    assert_shares(
        cold,
        [1.0, 0.0, 0.0, 0.0],
        "sample with temperature=0.5, top_p=0.7",
        {
            logits: [0.534, 0.241, 0.0, 0.225],
            "Which acts first here, the temperature or top-p?": [0.911, 0.089, 0.0, 0.0],
            "Does the temperature act here?": [0.762, 0.238, 0.0, 0.0],
        },
    )
    both = sample(many[::2], top_k=2, top_p=0.55)
    assert_shares(
        both,
        [0.0, 0.0, 1.0, 0.0],
        "sample with top_k=2, top_p=0.55",
        {
            logits: [0.0, 0.0, 0.525, 0.475],
            "Does top-p act on what top-k leaves, or on all tokens?": [0.0, 0.0, 0.571, 0.429],
        },
    )
    warm = sample(many[::2], temperature=2.0, top_k=2)
    first = 2 / (2 + 3**0.5)
    assert_shares(warm, [0.0, 0.0, first, 1 - first], "sample with temperature=2, top_k=2")


def test_a_generator_repeats_its_draws() -> None:
    """Generators with the same seed draw the same tokens, call by call.

    Every random number comes from the generator that is given.
    """
    many, model = ROWS.repeat(50, 1), ROUND
    draws: tuple[tuple[str, Callable[[torch.Generator | None], Tensor]], ...] = (
        ("sample", lambda generator: sample(many, generator=generator)),
        (
            "generate",
            lambda generator: generate(
                model, many.argmax(1)[:, None].repeat(1, 2), 5, generator=generator
            ),
        ),
    )
    for name, drawing in draws:
        generator = torch.Generator().manual_seed(3)
        first, second = drawing(generator), drawing(generator)
        again = drawing(torch.Generator().manual_seed(3))
        assert_matches(again, first, f"{name} with a generator of the same seed")
        if torch.equal(first, second):
            raise Mismatch(f"Two calls of {name} with one generator give the same tokens.")
        if torch.equal(drawing(None), drawing(None)):
            raise Mismatch(f"Two calls of {name} without a generator give the same tokens.")


def test_continues_by_hand() -> None:
    """With temperature 0 or k = 1, each token is followed by the next one.

    There are many rows, so that no draw is right by chance.
    """
    ids = torch.tensor([[2, 0], [3, 3]] * 10)
    expected = torch.tensor([[2, 0, 1, 2, 3], [3, 3, 0, 1, 2]] * 10)
    for options in ({"temperature": 0.0}, {"top_k": 1}, {"top_p": 0.5}):
        found = generate(ROUND, ids, 3, **options)
        assert_matches(found, expected, f"generate with {options}")
    assert_matches(generate(ROUND, ids, 0), ids, "generate with max_new_tokens=0")
    assert_matches(ids, expected[:, :2], "ids after generate")


def test_rows_end_by_themselves() -> None:
    """A row ends when `eos_id` is drawn; one in its prompt doesn't end it."""
    ids = torch.tensor([[1, 2], [0, 3], [3, 0]])
    expected = torch.tensor([[1, 2, 3, 0, 0, 0], [0, 3, 0, 0, 0, 0], [3, 0, 1, 2, 3, 0]])
    found = generate(ROUND, ids, 4, temperature=0.0, eos_id=0)
    assert_matches(found, expected, "generate with eos_id=0")
    found = generate(ROUND, ids, 9, temperature=0.0, eos_id=0)[:, :6]
    assert_matches(found, expected, "first tokens from generate with eos_id=0")
    ids = torch.tensor([[3, 1], [1, 2]])
    expected = torch.tensor([[3, 1, 2, 2, 2, 2], [1, 2, 3, 0, 1, 2]])
    found = generate(ROUND, ids, 4, temperature=0.0, eos_id=2)
    help = "The first row ends with its first new token. What is it filled with?"
    assert_matches(found, expected, "generate with eos_id=2", help=help)


def test_every_step_draws_anew() -> None:
    """Of two tokens after a 0, the second depends only on the first."""
    model = Chain([0.5, 0.5], [0.5, 0.5])
    new = generate(model, torch.zeros(MANY, 2, dtype=torch.int64), 2, temperature=1.5)[:, 2:]
    quarter = [0.25, 0.25, 0.25, 0.25]
    assert_shares(2 * new[:, 0] + new[:, 1], quarter, "pairs of tokens from generate")
