"""The layers of the five lessons: what each shows comes out here too, and right where it is not.

Named after the lessons, 000 to 003; tests/curriculum/test_seeds.py has the rest of 002 and
003, and 004.
"""

import copy
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from solutions.attention import attention
from solutions.decoder import Decoder
from solutions.embedding import Embedding, TokenEmbedding, TransformerEmbedding
from solutions.encoder import Encoder, EncoderLayer
from solutions.feed_forward import FeedForward
from solutions.layer_norm import LayerNorm
from solutions.linear import Linear
from solutions.masks import causal_mask
from solutions.multi_head import MultiHeadAttention
from solutions.positional import PositionalEncoding, sinusoidal_table
from solutions.sublayer import SublayerConnection
from solutions.transformer import Transformer


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def words() -> Tensor:
    """Two sentences of four words with 512 features, as in lesson 000: embedded, with places."""
    ids = torch.tensor([[100, 2, 421, 508], [491, 998, 1, 221]])
    embedded: Tensor = TransformerEmbedding(1000, 512, dropout=0.1, max_len=60).eval()(ids)
    return embedded


def test_000_what_enters_the_encoder() -> None:
    """Rows times √512, plus waves made of exp and log; dropout makes zeros, as printed there."""
    rows: Any = TokenEmbedding(1000, 512)(torch.arange(1000)[None])
    assert 22 < rows.std() < 23.3
    steps = torch.exp(torch.arange(0, 512, 2) * -(math.log(10000.0) / 512))
    angles = torch.arange(60).unsqueeze(1) * steps
    table = sinusoidal_table(60, 512)
    torch.testing.assert_close(table[:, 0::2], torch.sin(angles), rtol=0, atol=1e-4)
    torch.testing.assert_close(table[:, 1::2], torch.cos(angles), rtol=0, atol=1e-4)
    trained = PositionalEncoding(512, 0.1, 60)(words())
    assert trained.shape == (2, 4, 512)
    assert 0.05 < (trained == 0).double().mean() < 0.15
    assert sinusoidal_table(3, 5).shape == (3, 5)  # there an odd width fails


def test_000_the_mask_printed_there() -> None:
    """Its 1 is our True."""
    printed = [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert causal_mask(5)[0, 0].long().tolist() == printed


def test_000_a_mask_of_zeros_is_no_demonstration() -> None:
    """The lesson prints weights of 0.25 for rows that may see nothing; rows that may, differ."""
    x = words()
    no_mask = torch.zeros(2, 4, 4, dtype=torch.bool)
    output, weights = attention(x, x, x, mask=no_mask)
    assert output.isfinite().all()
    assert weights.isfinite().all()
    _, weights = attention(x, x, x)
    scores = x @ x.transpose(-2, -1) / math.sqrt(512)
    torch.testing.assert_close(weights, scores.softmax(-1))
    assert (weights - 0.25).abs().max() > 0.5


def test_000_eight_heads() -> None:
    """Four maps, cut by view and transpose, merged the other way: (2, 4, 512), as printed there."""
    x = words()
    mha = MultiHeadAttention(512, 8, dropout=0.2).eval()
    query, key, value = (
        linear(x).view(2, -1, 8, 64).transpose(1, 2)
        for linear in (mha.q_proj, mha.k_proj, mha.v_proj)
    )
    weights = (query @ key.transpose(-2, -1) / 8).softmax(-1)
    merged = (weights @ value).transpose(1, 2).contiguous().view(2, -1, 512)
    output = mha(x, x, x)
    assert output.shape == (2, 4, 512)
    torch.testing.assert_close(output, mha.out_proj(merged))
    fresh = MultiHeadAttention(512, 8)  # there all four start as copies of one
    assert not torch.equal(fresh.q_proj.weight, fresh.k_proj.weight)


def test_000_feed_forward_norm_and_connection() -> None:
    """ReLU between two maps; a norm that is torch's; the connection that the lesson writes."""
    x = words()
    network = FeedForward(512, 64, dropout=0.2).eval()
    expected = network.linear2(F.relu(network.linear1(x)))
    torch.testing.assert_close(network(x), expected)
    norm = LayerNorm(512)
    torch.testing.assert_close(norm(x), F.layer_norm(x, (512,)))
    # There the deviation is divided by 511, and eps comes after the root.
    lesson = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)
    assert (norm(x) / lesson - math.sqrt(512 / 511)).abs().max() < 1e-4
    small = x * 1e-4
    lesson = (small - small.mean(-1, keepdim=True)) / (small.std(-1, keepdim=True) + 1e-6)
    assert (norm(small) - lesson).abs().max() > 0.1
    connection = SublayerConnection(512, dropout=0.2, norm_first=True).eval()
    torch.testing.assert_close(connection(x, network), x + network(connection.norm(x)))


@pytest.mark.parametrize("norm_first", [True, False], ids=["as there", "as the paper"])
def test_000_an_encoder_layer(norm_first: bool) -> None:
    """Attention, then feed-forward, each in a connection: (2, 4, 512), as printed there."""
    x = words()
    layer: Any = EncoderLayer(512, 8, 64, dropout=0.2, norm_first=norm_first).eval()
    first, second = layer.sublayers
    middle = first(x, lambda y: layer.self_attn(y, y, y))
    assert layer(x).shape == (2, 4, 512)
    torch.testing.assert_close(layer(x), second(middle, layer.feed_forward))


def test_001_positions_step_by_step() -> None:
    """Its loop is right where 2 * i is: in the first pair; with i in its place, everywhere."""
    doubled, single = torch.zeros(6, 8), torch.zeros(6, 8)
    for pos in range(6):
        for i in range(0, 8, 2):
            for table, exponent in ((doubled, 2 * i / 8), (single, i / 8)):
                table[pos, i] = math.sin(pos / 10000**exponent)
                table[pos, i + 1] = math.cos(pos / 10000**exponent)
    result = sinusoidal_table(6, 8)
    torch.testing.assert_close(result, single)
    torch.testing.assert_close(result[:, :2], doubled[:, :2])
    assert (result - doubled).abs().max() > 0.09


def test_001_words_and_places_are_added() -> None:
    """Not concatenated, as it says, but added, as it does; and what is too long is refused."""
    module: Any = TransformerEmbedding(11, 8, dropout=0.1, max_len=6).eval()
    ids = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])
    embedded = F.embedding(ids, module.token.embedding.weight)
    expected = embedded * math.sqrt(8) + sinusoidal_table(4, 8)
    torch.testing.assert_close(module(ids), expected)
    with pytest.raises(ValueError, match="7"):
        module(torch.zeros(1, 7, dtype=torch.int64))


@pytest.mark.parametrize("norm_first", [False, True])
def test_002_the_shapes_it_looks_at(norm_first: bool) -> None:
    """Encoder and decoder keep [batch_size, seq_len, d_model], also for two different lengths."""
    encoder = Encoder(2, 16, 4, 32, norm_first=norm_first)
    decoder = Decoder(2, 16, 4, 32, norm_first=norm_first)
    memory = encoder(torch.randn(3, 7, 16))
    assert list(memory.shape) == [3, 7, 16]
    output = decoder(torch.randn(3, 5, 16), memory, causal_mask(5))
    assert list(output.shape) == [3, 5, 16]


def test_002_its_norm_its_map_and_its_table() -> None:
    """LayerNorm and Linear as torch's; padding does not learn, in a copy of the table neither."""
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(LayerNorm(12)(x), nn.LayerNorm(12)(x))
    linear = Linear(100, 30)
    for parameter in linear.parameters():
        assert 0.05 < parameter.abs().max() <= 0.1
    torch.testing.assert_close(
        linear(torch.ones(100)), F.linear(torch.ones(100), linear.weight, linear.bias)
    )
    assert Linear(3, 2, bias=False).bias is None
    table = copy.deepcopy(Embedding(5, 3, padding_idx=0))
    table(torch.tensor([[0, 1, 4]])).sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.any(-1).tolist() == [False, True, False, False, True]


def test_002_a_model_with_two_lengths() -> None:
    """There both sides are equally long and padding is not looked for; here a mix-up would show."""
    model = Transformer(20, 23, d_model=16, n_heads=4, num_layers=2, d_ff=32).eval()
    src, tgt = torch.randint(1, 20, (2, 7)), torch.randint(1, 23, (2, 5))
    logits = model(src, tgt)
    assert logits.shape == (2, 5, 23)
    padded = torch.cat([src, torch.zeros(2, 3, dtype=torch.int64)], dim=1)
    torch.testing.assert_close(model(padded, tgt), logits)
    other = tgt.clone()
    other[:, 3:] = 1
    torch.testing.assert_close(model(src, other)[:, :3], logits[:, :3])
    assert (model(src, other)[:, 3:] - logits[:, 3:]).abs().max() > 1e-3


def test_003_the_embedding_is_drawn_once() -> None:
    """Six words of three features come out (6, 3), and the same again in the next call."""
    table = Embedding(24, 3)
    ids = torch.tensor([[11, 23, 21, 22, 5, 15]])
    assert table(ids)[0].shape == (6, 3)
    assert torch.equal(table(ids), table(ids))
    assert torch.equal(table(ids)[0], table.weight[ids[0]])


@pytest.mark.parametrize("base", [100.0, 10000.0])
def test_003_positions_of_either_base(base: float) -> None:
    """It takes n = 100 in one place and 10000 in another: an argument, not a matter of taste."""
    table = torch.zeros(10, 4)
    steps = torch.exp(torch.arange(0, 4, 2) * -(math.log(base) / 4))
    table[:, 0::2] = torch.sin(torch.arange(10).unsqueeze(-1) * steps)
    table[:, 1::2] = torch.cos(torch.arange(10).unsqueeze(-1) * steps)
    torch.testing.assert_close(sinusoidal_table(10, 4, base), table)
    x = torch.randn(2, 6, 4)
    module = PositionalEncoding(4, dropout=0.1, max_len=10).eval()
    torch.testing.assert_close(module(x) - x, sinusoidal_table(6, 4).expand(2, 6, 4))
    assert not list(module.parameters())
