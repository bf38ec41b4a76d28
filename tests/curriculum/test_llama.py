"""The language model gives what transformers' Llama gives, which none of us wrote.

Skipped where transformers is not installed: `pip install -c constraints.txt -e .[llama]`.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from solutions.kv_cache import KVCache
from solutions.language_model import LanguageModel

transformers = pytest.importorskip("transformers")

VOCAB, D_MODEL, HEADS, KV_HEADS, LAYERS, D_FF, MAX_LEN = 23, 24, 6, 2, 3, 20, 16
BASE, EPS = 500.0, 1e-5
NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.o_proj": "attn.out_proj",
    "self_attn": "attn",
    "mlp": "ffn",
    "model.layers": "blocks",
    "model.embed_tokens": "embedding",
    "model.norm": "norm",
}


def ours(name: str) -> str:
    """Our name of a parameter of theirs."""
    for llama_name, name_here in NAMES.items():
        name = name.replace(llama_name, name_here)
    return name


def in_pairs(rows: Tensor) -> Tensor:
    """The rows of a projection, head by head, from their layout of the rotation to ours.

    Theirs pairs feature i of a head with feature i + d_head / 2, ours 2i with 2i + 1.
    """
    d_head = D_MODEL // HEADS
    halves = rows.reshape(-1, 2, d_head // 2, rows.size(-1))
    return halves.transpose(1, 2).reshape(rows.shape)


@pytest.fixture(scope="module", params=[False, True], ids=["two matrices", "tied"])
def models(request: pytest.FixtureRequest) -> tuple[Any, LanguageModel]:
    """Their model with random weights, and ours with the same, both in float64."""
    torch.manual_seed(2023)
    config = transformers.LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=D_MODEL,
        intermediate_size=D_FF,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=MAX_LEN,
        rms_norm_eps=EPS,
        rope_parameters={"rope_type": "default", "rope_theta": BASE},
        tie_word_embeddings=request.param,
        attn_implementation="eager",
    )
    llama = transformers.LlamaForCausalLM(config).double().eval()
    for parameter in llama.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    model = LanguageModel(
        VOCAB, D_MODEL, HEADS, KV_HEADS, LAYERS, D_FF, MAX_LEN, BASE, EPS, tie_weights=request.param
    )
    weights = {
        ours(name): in_pairs(value) if "q_proj" in name or "k_proj" in name else value
        for name, value in llama.state_dict().items()
    }
    model.load_state_dict(weights)
    return llama, model.double().eval()


def test_logits_are_theirs(models: tuple[Any, LanguageModel]) -> None:
    llama, model = models
    ids = torch.randint(VOCAB, (3, MAX_LEN))
    with torch.no_grad():
        expected = llama(ids, use_cache=False).logits
        result = model(ids)
    assert expected.std() > 0.3  # so that nothing is alike by being small
    # Their angles are made in float32.
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


def test_gradients_are_theirs(models: tuple[Any, LanguageModel]) -> None:
    llama, model = models
    ids = torch.randint(VOCAB, (2, 7))
    cotangent = torch.randn(2, 7, VOCAB, dtype=torch.float64)
    own = {ours(name): parameter for name, parameter in llama.named_parameters()}
    expected = torch.autograd.grad(llama(ids).logits, list(own.values()), cotangent)
    parameters = dict(model.named_parameters())
    result = torch.autograd.grad(model(ids), [parameters[name] for name in own], cotangent)
    for name, gradient, wanted in zip(own, result, expected, strict=True):
        wanted = in_pairs(wanted) if "q_proj" in name or "k_proj" in name else wanted
        torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-3)


def test_in_pieces_our_caches_give_what_theirs_give(models: tuple[Any, LanguageModel]) -> None:
    llama, model = models
    ids = torch.randint(VOCAB, (2, 9))
    caches, past = [KVCache() for _ in model.blocks], None
    with torch.no_grad():
        for piece in torch.split(ids, [5, 1, 3], dim=1):
            answer = llama(piece, past_key_values=past, use_cache=True)
            past = answer.past_key_values
            result = model(piece, caches)
            torch.testing.assert_close(result, answer.logits, rtol=1e-4, atol=1e-4)
