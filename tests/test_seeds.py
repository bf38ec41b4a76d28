"""The pieces as published lessons show them: with their numbers, and right where they are not."""

import torch

from solutions.activations import gelu, tanh
from solutions.dropout import Dropout
from solutions.rope import apply_rotary, rotary_angles
from solutions.tokens import build_vocab, encode, one_hot, pad_batch, tokenize

EXAMPLE = (
    "Hello! This is an example of a paragraph that has been split into its basic components. "
    "I wonder what will come next! Any guesses?"
)
# As the lesson prints it.
VOCABULARY = {
    "a": 0, "an": 1, "any": 2, "basic": 3, "been": 4, "come": 5, "components": 6, "example": 7,
    "guesses": 8, "has": 9, "hello": 10, "i": 11, "into": 12, "is": 13, "its": 14, "next": 15,
    "of": 16, "paragraph": 17, "split": 18, "that": 19, "this": 20, "what": 21, "will": 22,
    "wonder": 23,
}  # fmt: skip


def test_a_lesson_s_sentence_gives_the_vocabulary_printed_there() -> None:
    """And its three sentences the ids printed there."""
    assert tokenize(EXAMPLE)[:4] == ["hello", "this", "is", "an"]
    assert build_vocab([EXAMPLE]) == VOCABULARY
    sentences = (
        "I wonder what will come next!",
        "This is a basic example paragraph.",
        "Hello, what is a basic split?",
    )
    ids = [encode(sentence, VOCABULARY) for sentence in sentences]
    assert ids == [[11, 23, 21, 22, 5, 15], [20, 13, 0, 3, 7, 17], [10, 21, 13, 0, 3, 18]]
    batch = pad_batch(ids)
    assert torch.equal(batch, torch.tensor(ids))
    table = torch.randn(24, 3)
    torch.testing.assert_close(one_hot(batch, 24) @ table, table[batch])


def test_what_that_lesson_leaves_open() -> None:
    """Unknown words, double spaces, sentences of different lengths, an id 0 that padding wants."""
    vocab = build_vocab([EXAMPLE], specials=["<pad>", "<unk>"])
    assert vocab["<pad>"] == 0
    assert vocab["a"] == 2
    ids = [encode("Hello,  a  zebra", vocab, unknown="<unk>"), encode("Hello", vocab)]
    assert ids == [[12, 2, 1], [12]]
    assert pad_batch(ids, vocab["<pad>"]).tolist() == [[12, 2, 1], [12, 0, 0]]


def test_rotary_positions_as_a_lesson_pairs_them() -> None:
    """Features 2i and 2i + 1 are a complex number, as there, but in the precision of x."""
    torch.manual_seed(0)
    heads, angles = torch.randn(2, 4, 9, 6, dtype=torch.float64), rotary_angles(6, 9)
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, 6, 2)[:3].float() / 6))
    torch.testing.assert_close(angles.float(), torch.outer(torch.arange(9), frequencies))
    turns = torch.polar(torch.ones(9, 3), angles.float())
    pairs = torch.view_as_complex(heads.float().reshape(2, 4, 9, -1, 2))
    lesson = torch.view_as_real(pairs * turns).flatten(3)
    output = apply_rotary(heads, angles)
    torch.testing.assert_close(output.float(), lesson)
    assert output.dtype is torch.float64
    # Turning back gives what was there; in float32 it would be off by 1e-7.
    torch.testing.assert_close(apply_rotary(output, -angles), heads, rtol=0, atol=1e-14)


def test_rotary_positions_keep_lengths_and_know_distances_only() -> None:
    """The same query and key, three places apart, score the same from any place on."""
    torch.manual_seed(0)
    query, key = torch.randn(2, 8, dtype=torch.float64)
    angles = rotary_angles(8, 500)
    queries, keys = (apply_rotary(one.expand(500, 8), angles) for one in (query, key))
    torch.testing.assert_close(queries.norm(dim=-1), query.norm().expand(500))
    scores = (queries[:-3] * keys[3:]).sum(-1)
    torch.testing.assert_close(scores, scores[:1].expand(497), rtol=0, atol=1e-11)
    assert (queries[0] @ keys[3] - queries[0] @ keys[4]).abs() > 0.01


def test_tanh_and_gelu_where_a_lesson_has_nan() -> None:
    """`(eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)` overflows from 89 on, and a GELU made of it from 13 on."""
    x = torch.tensor([-1e30, -100.0, -13.0, 13.0, 100.0, 1e30], requires_grad=True)
    signs = torch.tensor([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    naive = (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())
    assert naive.isnan().tolist() == [True, True, False, False, True, True]
    right = x.detach().clamp(min=0)
    torch.testing.assert_close(tanh(x), signs)
    for output in (gelu(x), gelu(x, approximate="tanh")):
        torch.testing.assert_close(output, right)
        slopes = torch.autograd.grad(output.sum(), x)[0]
        torch.testing.assert_close(slopes, (signs + 1) / 2)


def test_dropout_where_a_lesson_divides_zero_by_zero() -> None:
    """`mask * x / (1 - p)` is NaN at p = 1, and float32 for bfloat16 at every p."""
    x = torch.tensor([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], requires_grad=True)
    assert torch.equal(Dropout(0.0)(x), x)
    everything = Dropout(1.0)(x)
    assert torch.equal(everything, torch.zeros(2, 3))
    assert torch.equal(torch.autograd.grad(everything.sum(), x)[0], torch.zeros(2, 3))
    assert torch.equal(Dropout(1.0).eval()(x), x)
    assert Dropout(0.1)(x.bfloat16()).dtype is torch.bfloat16
