"""The solutions keep the contract: they agree with PyTorch's own modules, weight for weight."""

import copy
import doctest
import importlib
import math
from typing import Any, TypeVar

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.curriculum import NAMES
from solutions.attention import attention
from solutions.decoder import Decoder, DecoderLayer
from solutions.embedding import Embedding, TokenEmbedding, TransformerEmbedding
from solutions.encoder import Encoder
from solutions.feed_forward import FeedForward
from solutions.layer_norm import LayerNorm
from solutions.masks import causal_mask, padding_mask, target_mask
from solutions.multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.optimiser import AdamW, clip_gradients
from solutions.positional import PositionalEncoding, sinusoidal_table
from solutions.sublayer import SublayerConnection
from solutions.transformer import Transformer

# All sizes differ, so that no mix-up of two axes can go unseen.
BATCH, HEADS, TARGET, SOURCE, D_MODEL, D_FF = 3, 4, 5, 7, 8, 11
F64 = torch.float64
Module = TypeVar("Module", bound=nn.Module)

orders = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20170612)


def randomised(module: Module) -> Module:
    """The module in float64 with every parameter random, also those that start as 0 or 1."""
    module = module.double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def same(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-11)


def copy_attention(reference: nn.MultiheadAttention, solution: MultiHeadAttention) -> None:
    ins = [solution.q_proj, solution.k_proj, solution.v_proj]
    weights = {"in_proj_weight": torch.cat([linear.weight for linear in ins])}
    if reference.in_proj_bias is not None:
        weights["in_proj_bias"] = torch.cat([linear.bias for linear in ins])
    weights |= {f"out_proj.{key}": value for key, value in solution.out_proj.state_dict().items()}
    reference.load_state_dict(weights)


def copy_layer(reference: Any, solution: Any) -> None:
    """Copies an encoder or decoder layer of ours to PyTorch's."""
    copy_attention(reference.self_attn, solution.self_attn)
    if isinstance(solution, DecoderLayer):
        copy_attention(reference.multihead_attn, solution.cross_attn)
    reference.linear1.load_state_dict(solution.feed_forward.linear1.state_dict())
    reference.linear2.load_state_dict(solution.feed_forward.linear2.state_dict())
    for number, sublayer in enumerate(solution.sublayers, start=1):
        getattr(reference, f"norm{number}").load_state_dict(sublayer.norm.state_dict())


def copy_stack(solution: Any) -> Any:
    """PyTorch's stack, in float64, with the weights of our `Encoder` or `Decoder`; no dropout."""
    layer_type: Any = nn.TransformerDecoderLayer
    stack_type: Any = nn.TransformerDecoder
    options = {}
    if isinstance(solution, Encoder):
        layer_type, stack_type = nn.TransformerEncoderLayer, nn.TransformerEncoder
        options["enable_nested_tensor"] = False
    first = solution.layers[0]
    activation = "gelu" if isinstance(first.feed_forward.activation, nn.GELU) else "relu"
    pre = first.sublayers[0].norm_first
    layer = layer_type(D_MODEL, HEADS, D_FF, 0.0, activation, batch_first=True, norm_first=pre)
    norm = nn.LayerNorm(D_MODEL) if pre else None
    stack = stack_type(layer, len(solution.layers), norm, **options).double()
    for reference, actual in zip(stack.layers, solution.layers, strict=True):
        copy_layer(reference, actual)
    if pre:
        stack.norm.load_state_dict(solution.norm.state_dict())
    return stack


def random_padding(length: int) -> Tensor:
    """`(BATCH, length)`, True = word; the first of each row is one."""
    words = torch.rand(BATCH, length) < 0.6
    words[:, 0] = True
    return words


@pytest.mark.parametrize("name", NAMES)
def test_worked_examples_are_right(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"solutions.{name}"))
    assert result.failed == 0 < result.attempted


def test_masks_take_any_pad_id_and_device() -> None:
    ids = torch.tensor([[3, 9, 9, 5], [9, 1, 2, 3]])
    words = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 1]]).bool()
    assert torch.equal(padding_mask(ids, pad_id=9), words[:, None, None, :])
    assert causal_mask(1).tolist() == [[[[True]]]]
    assert causal_mask(3, device="meta").is_meta
    past = torch.ones(4, 4).tril().bool()
    assert torch.equal(target_mask(ids, pad_id=9), past & words[:, None, None, :])


@pytest.mark.parametrize("mask_shape", [None, (TARGET, SOURCE), (BATCH, 1, 1, SOURCE)])
@pytest.mark.parametrize("size", [1.0, 1e5])
def test_attention_agrees_with_pytorch(mask_shape: tuple[int, ...] | None, size: float) -> None:
    query = (size * torch.randn(BATCH, HEADS, TARGET, 2, dtype=F64)).requires_grad_()
    key = torch.randn(BATCH, HEADS, SOURCE, 2, dtype=F64, requires_grad=True)
    value = torch.randn(BATCH, HEADS, SOURCE, 6, dtype=F64, requires_grad=True)
    mask = None if mask_shape is None else torch.rand(mask_shape) < 0.5
    if mask is not None:
        mask[..., 0] = True
    output, weights = attention(query, key, value, mask)
    expected = F.scaled_dot_product_attention(query, key, value, mask)
    same(output, expected)
    same(weights.sum(-1), torch.ones(BATCH, HEADS, TARGET, dtype=F64))
    if mask is not None:
        assert weights.masked_select(~mask.expand_as(weights)).eq(0).all()
    cotangent = torch.randn_like(output)
    inputs = (query, key, value)
    actual, reference = (torch.autograd.grad(y, inputs, cotangent) for y in (output, expected))
    same(actual, reference)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_a_query_with_nothing_to_look_at_stays_finite(dtype: torch.dtype, size: float) -> None:
    inputs = [(torch.randn(2, 4, 3) * size).to(dtype).requires_grad_() for _ in range(3)]
    mask = torch.ones(4, 4, dtype=torch.bool).tril(diagonal=-1)
    output, weights = attention(inputs[0], inputs[1], inputs[2], mask)
    assert output.dtype is weights.dtype is dtype
    for tensor in (output, weights, *torch.autograd.grad(output.sum(), inputs)):
        assert tensor.isfinite().all()


def test_dropout_acts_on_the_weights_before_they_meet_the_values() -> None:
    query, key, value = torch.randn(3, TARGET, 2), torch.randn(3, SOURCE, 2), torch.eye(SOURCE)
    output, _ = attention(query, key, value, dropout=lambda weights: 2 * weights)
    same(output, 2 * attention(query, key, value)[0])


@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_agrees_with_pytorch(bias: bool) -> None:
    solution = randomised(MultiHeadAttention(D_MODEL, HEADS, bias=bias))
    reference = nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True).double()
    copy_attention(reference, solution)
    query = torch.randn(BATCH, TARGET, D_MODEL, dtype=F64)
    key, value = torch.randn(2, BATCH, SOURCE, D_MODEL, dtype=F64)
    words, band = random_padding(SOURCE), torch.rand(TARGET, SOURCE) < 0.8
    band[:, 0] = True
    expected, _ = reference(query, key, value, key_padding_mask=~words, attn_mask=~band)
    same(solution(query, key, value, words[:, None, None, :] & band), expected)
    same(solution(query, key, value), reference(query, key, value)[0])


def test_heads_split_and_merge_without_mixing_tokens() -> None:
    x = torch.randn(BATCH, D_MODEL, TARGET).transpose(1, 2)
    heads = split_heads(x, HEADS)
    assert torch.equal(heads[:, 1], x[..., 2:4])
    assert torch.equal(merge_heads(heads), x)
    with pytest.raises(ValueError, match="10"):
        MultiHeadAttention(10, 4)


@pytest.mark.parametrize("d_model", [1, 2, 7, 8])
def test_table_follows_the_formula(d_model: int) -> None:
    def entry(pos: int, column: int) -> float:
        angle = pos / 50.0 ** ((column - column % 2) / d_model)
        return math.cos(angle) if column % 2 else math.sin(angle)

    expected = torch.tensor([[entry(pos, column) for column in range(d_model)] for pos in range(9)])
    # This compares the dtype, float32, as well.
    torch.testing.assert_close(sinusoidal_table(9, d_model, 50.0), expected, rtol=0, atol=1e-6)


def test_positions_are_a_buffer_and_the_input_stays() -> None:
    encoding = PositionalEncoding(D_MODEL, dropout=0.0, max_len=TARGET)
    assert [name for name, _ in encoding.named_buffers()] == ["pe"]
    assert not list(encoding.parameters())
    x = torch.zeros(BATCH, TARGET, D_MODEL)
    assert torch.equal(encoding(x)[1], sinusoidal_table(TARGET, D_MODEL))
    assert not x.any()
    with pytest.raises(ValueError, match="max_len"):
        encoding(torch.zeros(BATCH, TARGET + 1, D_MODEL))
    assert encoding.to("meta")(x.to("meta")).is_meta


@pytest.mark.parametrize("padding_idx", [None, 0, 2])
@pytest.mark.parametrize("copied", [False, True])
def test_embedding_agrees_with_pytorch(padding_idx: int | None, copied: bool) -> None:
    solution = Embedding(6, 4, padding_idx)
    assert padding_idx is None or not solution.weight[padding_idx].any()
    solution = copy.deepcopy(randomised(solution)) if copied else randomised(solution)
    reference = nn.Embedding(6, 4, padding_idx).double()
    reference.load_state_dict(solution.state_dict())
    ids = torch.tensor([[0, 2, 5, 5], [2, 2, 1, 0]])
    same(solution(ids), reference(ids))
    cotangent = torch.randn(2, 4, 4, dtype=F64)
    actual, expected = (
        torch.autograd.grad(e(ids), e.weight, cotangent)[0] for e in (solution, reference)
    )
    same(actual, expected)


@pytest.mark.parametrize("wrong", [-1, 6])
def test_an_id_outside_the_table_is_an_error(wrong: int) -> None:
    for embedding in (Embedding(6, 4), TokenEmbedding(6, 4), TransformerEmbedding(6, 4)):
        with pytest.raises(IndexError):
            embedding(torch.tensor([[1, wrong]]))


def test_words_and_places_are_added() -> None:
    embedding = TransformerEmbedding(6, 5, dropout=0.0, max_len=9, padding_idx=3)
    ids = torch.tensor([[1, 4, 4], [5, 0, 3]])
    rows = embedding.token.embedding.weight[ids]
    torch.testing.assert_close(embedding(ids), rows * math.sqrt(5) + sinusoidal_table(3, 5))
    assert not rows[1, 2].any()


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e3])
def test_layer_norm_agrees_with_pytorch(scale: float) -> None:
    solution = randomised(LayerNorm(D_MODEL))
    reference = nn.LayerNorm(D_MODEL).double()
    reference.load_state_dict(solution.state_dict())
    x = (torch.randn(BATCH, TARGET, D_MODEL, dtype=F64) * scale + 0.3).requires_grad_()
    same(solution(x), reference(x))
    cotangent = torch.randn_like(x)
    actual, expected = (
        torch.autograd.grad(norm(x), x, cotangent)[0] for norm in (solution, reference)
    )
    same(actual, expected)
    assert LayerNorm(3)(torch.ones(2, 3)).isfinite().all()


@activations
def test_feed_forward_agrees_with_pytorch(activation: str) -> None:
    solution = randomised(FeedForward(D_MODEL, D_FF, activation=activation)).eval()
    x = torch.randn(BATCH, TARGET, D_MODEL, dtype=F64)
    bent = (F.relu if activation == "relu" else F.gelu)(solution.linear1(x))
    same(solution(x), solution.linear2(bent))
    solution.train().dropout.p = 0.5
    state = torch.get_rng_state()
    dropped = F.dropout(bent, 0.5)
    torch.set_rng_state(state)
    same(solution(x), solution.linear2(dropped))
    with pytest.raises(ValueError, match="swish"):
        FeedForward(D_MODEL, D_FF, activation="swish")


@orders
def test_sublayer_adds_what_the_sublayer_finds(norm_first: bool) -> None:
    connection = randomised(SublayerConnection(D_MODEL, norm_first=norm_first)).eval()
    x = torch.randn(BATCH, TARGET, D_MODEL, dtype=F64)
    before = x.clone()
    norm: Any = connection.norm
    expected = x + torch.tanh(norm(x)) if norm_first else norm(x + torch.tanh(x))
    same(connection(x, torch.tanh), expected)
    assert torch.equal(x, before)


@orders
@activations
def test_encoder_agrees_with_pytorch(activation: str, norm_first: bool) -> None:
    solution = randomised(Encoder(2, D_MODEL, HEADS, D_FF, 0.0, activation, norm_first))
    reference = copy_stack(solution)
    x = torch.randn(BATCH, SOURCE, D_MODEL, dtype=F64)
    same(solution(x), reference(x))
    words = random_padding(SOURCE)
    same(solution(x, words[:, None, None, :]), reference(x, src_key_padding_mask=~words))


@orders
@activations
def test_decoder_agrees_with_pytorch(activation: str, norm_first: bool) -> None:
    solution = randomised(Decoder(2, D_MODEL, HEADS, D_FF, 0.0, activation, norm_first))
    reference = copy_stack(solution)
    x = torch.randn(BATCH, TARGET, D_MODEL, dtype=F64)
    memory = torch.randn(BATCH, SOURCE, D_MODEL, dtype=F64)
    same(solution(x, memory), reference(x, memory))
    words, past = random_padding(SOURCE), causal_mask(TARGET)
    expected = reference(x, memory, tgt_mask=~past[0, 0], memory_key_padding_mask=~words)
    same(solution(x, memory, past, words[:, None, None, :]), expected)


@pytest.mark.parametrize("stack_type", [Encoder, Decoder])
def test_layers_share_no_parameter(stack_type: type[Encoder] | type[Decoder]) -> None:
    stack = stack_type(3, D_MODEL, HEADS, D_FF)
    assert stack.norm is None
    per_layer = [[p.data_ptr() for p in layer.parameters()] for layer in stack.layers]
    assert len({pointer for layer in per_layer for pointer in layer}) == 3 * len(per_layer[0])
    first, second, _ = stack.layers
    assert not torch.equal(next(first.parameters()), next(second.parameters()))


# The probabilities of our dropouts and of PyTorch's, place by place.
ENCODER_DROPOUTS = [
    ("self_attn.dropout.p", "self_attn.dropout"),
    ("feed_forward.dropout.p", "dropout.p"),
    ("sublayers.0.dropout.p", "dropout1.p"),
    ("sublayers.1.dropout.p", "dropout2.p"),
]
DECODER_DROPOUTS = [
    *ENCODER_DROPOUTS,
    ("cross_attn.dropout.p", "multihead_attn.dropout"),
    ("sublayers.2.dropout.p", "dropout3.p"),
]


@orders
@pytest.mark.parametrize(
    ("stack_type", "path_here", "torch_place"),
    [(Encoder, *places) for places in ENCODER_DROPOUTS]
    + [(Decoder, *places) for places in DECODER_DROPOUTS],
)
def test_dropout_sits_where_pytorch_has_it(
    stack_type: Any, path_here: str, torch_place: str, norm_first: bool
) -> None:
    solution = randomised(stack_type(1, D_MODEL, HEADS, D_FF, 0.0, "gelu", norm_first))
    reference = copy_stack(solution)
    inputs = [torch.randn(BATCH, TARGET, D_MODEL, dtype=F64)]
    if stack_type is Decoder:
        inputs.append(torch.randn(BATCH, SOURCE, D_MODEL, dtype=F64))
    before = solution(*inputs)
    for stack, path in ((solution, path_here), (reference, torch_place)):
        owner, _, attribute = path.rpartition(".")
        # With probability 1 the outcome is no longer random.
        setattr(stack.layers[0].get_submodule(owner), attribute, 1.0)
    same(solution(*inputs), reference(*inputs))
    assert not torch.allclose(solution(*inputs), before)
    same(solution.eval()(*inputs), before)


def test_dropout_reaches_every_place() -> None:
    model = Transformer(9, 10, D_MODEL, HEADS, 2, D_FF, dropout=0.37)
    results = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    assert results == [0.37] * (2 + 2 * len(ENCODER_DROPOUTS) + 2 * len(DECODER_DROPOUTS))


def small_transformer(**options: Any) -> Transformer:
    return Transformer(9, 10, D_MODEL, HEADS, 2, D_FF, max_len=12, **options).double()


@orders
@activations
@pytest.mark.parametrize("pad_id", [0, 4])
def test_transformer_agrees_with_pytorch(pad_id: int, activation: str, norm_first: bool) -> None:
    solution = small_transformer(pad_id=pad_id, activation=activation, norm_first=norm_first).eval()
    src, tgt = torch.randint(9, (BATCH, SOURCE)), torch.randint(10, (BATCH, TARGET))
    src[1, 2:4] = pad_id
    tgt[2, 3:] = pad_id
    src[:, 0] = tgt[:, 0] = pad_id + 1
    memory = copy_stack(solution.encoder)(
        solution.src_embedding(src), src_key_padding_mask=src == pad_id
    )
    same(solution.encode(src), memory)
    decoded = copy_stack(solution.decoder)(
        solution.tgt_embedding(tgt),
        memory,
        tgt_mask=~causal_mask(TARGET)[0, 0],
        tgt_key_padding_mask=tgt == pad_id,
        memory_key_padding_mask=src == pad_id,
    )
    same(solution.decode(tgt, memory, src), decoded)
    same(solution(src, tgt), solution.generator(decoded))


@pytest.mark.parametrize("pad_id", [9, -1])
def test_pad_id_may_lie_outside_a_vocabulary(pad_id: int) -> None:
    model = small_transformer(pad_id=pad_id)
    assert model(torch.tensor([[1, 2]]), torch.tensor([[3, 4]])).isfinite().all()


def test_a_sentence_longer_than_max_len_is_an_error() -> None:
    short, long = torch.ones(1, 12, dtype=torch.int64), torch.ones(1, 13, dtype=torch.int64)
    for sentences in ((short, long), (long, short)):
        with pytest.raises(ValueError, match="max_len"):
            small_transformer()(*sentences)


def test_padding_at_the_front_gives_finite_logits_and_gradients() -> None:
    model = small_transformer()
    model(torch.tensor([[0, 0], [0, 5]]), torch.tensor([[0, 1, 2], [0, 0, 0]])).sum().backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_whole_model_keeps_its_dtype(dtype: torch.dtype) -> None:
    model = small_transformer().to(dtype)
    logits = model(torch.randint(9, (2, 6)), torch.randint(10, (2, 3)))
    assert (logits.shape, logits.dtype) == ((2, 3, 10), dtype)
    assert logits.isfinite().all()


def test_adamw_agrees_with_pytorch() -> None:
    start, late = torch.randn(3, 4, dtype=F64), torch.randn(4, dtype=F64)
    optimisers = []
    for kind in (AdamW, torch.optim.AdamW):
        parameters = [nn.Parameter(start.clone()), nn.Parameter(late.clone())]
        groups = [{"params": parameters[:1], "lr": 0.1}, {"params": parameters[1:], "eps": 0.1}]
        optimisers.append(kind(groups, lr=0.02, betas=(0.8, 0.9), weight_decay=0.3))
    for step in range(5):
        gradients = torch.randn(3, 4, dtype=F64), torch.randn(4, dtype=F64)
        for optimiser in optimisers:
            optimiser.param_groups[1]["lr"] = 0.02 * (step + 1)
            for group, gradient in zip(optimiser.param_groups, gradients, strict=True):
                # The second parameter has no gradient at first.
                group["params"][0].grad = gradient if step or group["lr"] == 0.1 else None
            optimiser.step()
        for actual, reference in zip(*(item.param_groups for item in optimisers), strict=True):
            same(actual["params"][0], reference["params"][0])


@pytest.mark.parametrize("max_norm", [0.5, 50.0])
def test_gradients_are_clipped_as_by_pytorch(max_norm: float) -> None:
    models = [nn.Linear(3, 4).double() for _ in range(2)]
    for parameters in zip(*(model.parameters() for model in models), strict=True):
        gradient = torch.randn_like(parameters[0])
        for parameter in parameters:
            parameter.grad = gradient.clone()
    actual = clip_gradients(models[0].parameters(), max_norm)
    torch.testing.assert_close(
        actual, nn.utils.clip_grad_norm_(models[1].parameters(), max_norm), rtol=1e-9, atol=0
    )
    for solution, reference in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(solution.grad, reference.grad, rtol=1e-5, atol=0)
