"""The pieces as published lessons show them: with their numbers, and right where they are not."""

import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from solutions.activations import gelu, tanh
from solutions.by_hand import encoder_layer_by_hand
from solutions.decoding import beam_search, greedy_decode
from solutions.dropout import Dropout
from solutions.rope import apply_rotary, rotary_angles
from solutions.tokens import build_vocab, encode, one_hot, pad_batch, tokenize
from solutions.training import initialise, label_smoothed_loss, noam_rate, teacher_forcing
from solutions.transformer import Transformer

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


def test_003_its_sentence_gives_the_vocabulary_printed_there() -> None:
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


def test_003_what_it_leaves_open() -> None:
    """Unknown words, double spaces, sentences of different lengths, an id 0 that padding wants."""
    vocab = build_vocab([EXAMPLE], specials=["<pad>", "<unk>"])
    assert vocab["<pad>"] == 0
    assert vocab["a"] == 2
    ids = [encode("Hello,  a  zebra", vocab, unknown="<unk>"), encode("Hello", vocab)]
    assert ids == [[12, 2, 1], [12]]
    assert pad_batch(ids, vocab["<pad>"]).tolist() == [[12, 2, 1], [12, 0, 0]]


def test_002_rotary_positions_in_pairs() -> None:
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


def test_002_rotary_positions_keep_lengths_and_know_distances_only() -> None:
    """The same query and key, three places apart, score the same from any place on."""
    torch.manual_seed(0)
    query, key = torch.randn(2, 8, dtype=torch.float64)
    angles = rotary_angles(8, 500)
    queries, keys = (apply_rotary(item.expand(500, 8), angles) for item in (query, key))
    torch.testing.assert_close(queries.norm(dim=-1), query.norm().expand(500))
    scores = (queries[:-3] * keys[3:]).sum(-1)
    torch.testing.assert_close(scores, scores[:1].expand(497), rtol=0, atol=1e-11)
    assert (queries[0] @ keys[3] - queries[0] @ keys[4]).abs() > 0.01


def test_002_tanh_and_gelu_where_it_has_nan() -> None:
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


def test_002_dropout_where_it_divides_zero_by_zero() -> None:
    """`mask * x / (1 - p)` is NaN at p = 1, and float32 for bfloat16 at every p."""
    x = torch.tensor([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], requires_grad=True)
    assert torch.equal(Dropout(0.0)(x), x)
    everything = Dropout(1.0)(x)
    assert torch.equal(everything, torch.zeros(2, 3))
    assert torch.equal(torch.autograd.grad(everything.sum(), x)[0], torch.zeros(2, 3))
    assert torch.equal(Dropout(1.0).eval()(x), x)
    assert Dropout(0.1)(x.bfloat16()).dtype is torch.bfloat16


# What a lesson prints of `nn.TransformerEncoderLayer(4, nhead=2)` and three tokens.
LESSON_IN_PROJ = torch.tensor(
    [
        [-0.2898, -0.1611, 0.0042, 0.5008],
        [-0.1465, 0.3110, -0.1026, -0.6014],
        [-0.5311, 0.3810, -0.2857, -0.5387],
        [-0.2353, -0.2591, 0.4796, 0.1370],
        [-0.1174, -0.0520, -0.1187, -0.5790],
        [0.5493, -0.0131, -0.3745, -0.5730],
        [-0.5524, 0.0478, 0.0745, 0.0216],
        [0.3062, -0.0086, -0.0529, -0.3167],
        [-0.1256, -0.2572, -0.1987, -0.4491],
        [-0.0539, 0.3361, -0.1509, 0.2473],
        [0.0713, 0.4271, -0.1720, 0.4674],
        [0.1613, 0.2357, -0.4649, 0.5364],
    ]
)
LESSON_OUT_PROJ = torch.tensor(
    [
        [-0.1881, -0.2299, -0.3882, -0.3988],
        [-0.3123, -0.4819, -0.1683, -0.4154],
        [0.0732, -0.4921, -0.2480, 0.0518],
        [0.3785, 0.0281, -0.0039, 0.4791],
    ]
)
LESSON_TOKENS = torch.tensor(
    [
        [[0.2180, 0.6484, 0.0964, 0.0614]],
        [[0.3732, 0.9106, 0.7293, 0.6012]],
        [[0.8778, 0.5302, 0.5404, 0.2252]],
    ]
)


def lesson_layer(**options: Any) -> nn.TransformerEncoderLayer:
    """The layer of that lesson, in training mode as there."""
    layer = nn.TransformerEncoderLayer(4, nhead=2, **options)
    layer.self_attn.in_proj_weight.data = LESSON_IN_PROJ.clone()
    layer.self_attn.out_proj.weight.data = LESSON_OUT_PROJ.clone()
    return layer


def test_004_an_encoder_layer_with_a_pencil() -> None:
    """Its numbers up to the weights are right; those after them have dropout's 1 / 0.9 in them."""
    layer = lesson_layer()
    steps = {
        name: step.detach() for name, step in encoder_layer_by_hand(layer, LESSON_TOKENS).items()
    }
    assert layer.training

    def same(actual: Tensor, printed: list[float]) -> None:
        torch.testing.assert_close(actual, torch.tensor(printed), rtol=0, atol=1.5e-4)

    same(steps["query"][0, :, 2].flatten(), [-0.2248, -0.1546, -0.5399, -0.0539])
    same(steps["key"][0, :, 2].flatten(), [-0.3252, 0.1438, -0.4144, 0.1643])
    same(steps["value"][0, :, 2].flatten(), [-0.4551, 0.1050, 0.3013, 0.1361])
    same(steps["scores"][0, 0, 0], [0.0137, 0.0139, 0.0439])
    same(steps["weights"][0, 0, 0], [0.3299, 0.3300, 0.3401])
    # The lesson goes on with 0.3666, 0 and 0.3778: the second was dropped, the others grew.
    same(steps["weights"][0, 0, 0, ::2] / 0.9, [0.3666, 0.3778])
    values = steps["value"][0, 0]
    lesson = 0.3666 * values[0] + 0.3778 * values[2]
    same(lesson, [-0.2603, 0.1155])
    right = (steps["weights"] @ steps["value"])[0, 0, 0]
    assert (right - lesson).abs().max() > 0.1
    # Its norm is right for what it is given, since the axes besides the last have size 1.
    norm = lesson_layer(norm_first=True, batch_first=True)
    given = torch.tensor([[[0.2180, 0.4969, -0.0965, 0.0667]]])
    printed = [0.2139, 1.4906, -1.2258, -0.4787]
    same(encoder_layer_by_hand(norm, given)["norm1"][0, 0].detach(), printed)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_004_every_step_of_an_encoder_layer(
    batch_first: bool, norm_first: bool, activation: str
) -> None:
    """From the raw weights, also for several sentences, as the layer's own parts give it."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        6, 3, 5, activation=activation, batch_first=batch_first, norm_first=norm_first
    ).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    steps = encoder_layer_by_hand(layer, x)
    assert layer.training
    layer.eval()
    heard = layer.norm1(x) if norm_first else x
    attention, weights = layer.self_attn(heard, heard, heard, average_attn_weights=False)
    middle = x + attention
    norm1 = heard if norm_first else layer.norm1(middle)
    expected = {
        "weights": weights,
        "attention": attention,
        "norm1": norm1,
        "feed_forward": layer._ff_block(layer.norm2(middle) if norm_first else norm1),
        "output": layer(x),
    }
    for name, step in expected.items():
        torch.testing.assert_close(steps[name], step, rtol=1e-9, atol=1e-11)
    scores = steps["query"] @ steps["key"].mT / 2**0.5
    torch.testing.assert_close(steps["scores"], scores)
    torch.testing.assert_close(steps["weights"], scores.softmax(-1))
    batch, length = (2, 4) if batch_first else (4, 2)
    assert all(steps[name].shape == (batch, 3, length, 2) for name in ("query", "key", "value"))


def test_002_labels_are_the_words_that_follow() -> None:
    """A lesson's model is trained on its own input; here the label is the next word."""
    tgt = torch.tensor([[1, 4, 5, 2, 0], [1, 7, 2, 0, 0]])
    decoder_input, labels = teacher_forcing(tgt)
    assert torch.equal(decoder_input[:, 1:], labels[:, :-1])
    assert decoder_input[:, 0].tolist() == [1, 1]
    assert labels.tolist() == [[4, 5, 2, 0], [7, 2, 0, 0]]


@pytest.mark.parametrize("pad_id", [0, 3, -100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_002_smoothed_labels_as_torch_has_them(pad_id: int, smoothing: float) -> None:
    """The loss and its gradients, also for logits of a thousand."""
    torch.manual_seed(0)
    for size in (1.0, 1000.0):
        logits = (size * torch.randn(3, 4, 6, dtype=torch.float64)).requires_grad_()
        labels = torch.randint(1, 6, (3, 4))
        labels[1, 2:] = pad_id
        result = label_smoothed_loss(logits, labels, pad_id, smoothing)
        expected = F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id, label_smoothing=smoothing
        )
        torch.testing.assert_close(result, expected)
        gradient, torch_gradient = (
            torch.autograd.grad(loss, logits)[0] for loss in (result, expected)
        )
        torch.testing.assert_close(gradient, torch_gradient)


def test_the_papers_schedule() -> None:
    """The base model's rate is highest at step 4000, with 7e-4, and step 0 is no error."""
    rates = [noam_rate(step, 512) for step in range(20000)]
    assert rates[0] == 0.0
    assert max(rates) == rates[4000] == pytest.approx(512**-0.5 * 4000**-0.5)
    assert rates[2000] == pytest.approx(rates[4000] / 2)
    assert rates[16000] == pytest.approx(rates[4000] / 2)


def test_why_a_model_is_initialised() -> None:
    """A word is 32 times as long as its place at first, and shorter than it afterwards."""
    torch.manual_seed(0)
    model = Transformer(3000, 3000, num_layers=1)
    ids = torch.arange(3000).unsqueeze(0)
    position_size = model.src_embedding.position.pe.norm(dim=-1).mean()
    before = model.src_embedding.token(ids).norm(dim=-1).mean() / position_size
    initialise(model)
    after = model.src_embedding.token(ids).norm(dim=-1).mean() / position_size
    assert before.item() == pytest.approx(32, rel=0.01)
    assert 0.5 < after.item() < 1


def test_greedy_and_beam_search_find_what_a_search_through_everything_finds() -> None:
    """On a whole model of random numbers, with four words and four places."""
    bos_id, eos_id, max_len, vocab = 1, 2, 5, 4
    words = torch.tensor(list(itertools.product(range(vocab), repeat=max_len - 1)))
    full = torch.cat([torch.full((len(words), 1), bos_id), words], dim=1)
    greedy_is_best = []
    for seed in range(4):
        torch.manual_seed(seed)
        model = Transformer(7, vocab, 8, 2, 1, 16).eval()
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5)
        src = torch.randint(1, 7, (1, 3))
        with torch.no_grad():
            log_p = model(src.expand(len(full), -1), full[:, :-1]).log_softmax(-1)
        gains = log_p.gather(-1, words.unsqueeze(-1)).squeeze(-1)
        # What follows an end neither counts nor stays.
        has_ended = (words == eos_id).cumsum(1) - (words == eos_id).long() > 0
        totals = gains.masked_fill(has_ended, 0.0).sum(1)
        targets = full.clone()
        targets[:, 1:] = words.masked_fill(has_ended, model.pad_id)
        best = targets[totals.argmax()]
        greedy = greedy_decode(model, src, bos_id, eos_id, max_len)[0]
        result = beam_search(model, src, bos_id, eos_id, max_len, vocab**max_len)[0]
        alone = beam_search(model, src, bos_id, eos_id, max_len, beam_size=1)[0]
        assert torch.equal(result, best[: len(result)])
        assert best[len(result) :].eq(model.pad_id).all()
        assert torch.equal(greedy, alone)
        row = 0
        for position in range(1, len(greedy)):
            row = int((full[:, :position] == greedy[:position]).all(1).nonzero()[0])
            assert greedy[position] == log_p[row, position - 1].argmax()
        greedy_is_best.append(torch.equal(greedy, result))
    assert not all(greedy_is_best)
