"""The probes of what is made of the parts: the stacks, the model, its training and decoding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.capstone import oracles
from grader.capstone.probing import (
    FF,
    LK,
    LQ,
    B,
    D,
    H,
    V,
    cut_off,
    differ,
    probe,
    unreached,
)


@probe("encoder")
def encoder_stack(module: Any) -> Iterator[str]:
    """Two layers against torch's with the same weights."""
    stack = oracles.scatter(module.Encoder(2, D, H, FF, dropout=0.0))
    x = torch.randn(B, LK, D, requires_grad=True)
    mask = torch.ones(B, 1, 1, LK, dtype=torch.bool)
    mask[0, ..., -2:] = False
    see = torch.ones_like(mask)
    yield from _stack(stack, nn.TransformerEncoderLayer, (x,), (see,), (mask,))


@probe("decoder")
def decoder_stack(module: Any) -> Iterator[str]:
    """Two layers against torch's with the same weights."""
    stack = oracles.scatter(module.Decoder(2, D, H, FF, dropout=0.0))
    x = torch.randn(B, LQ, D, requires_grad=True)
    memory = torch.randn(B, LK, D, requires_grad=True)
    back = torch.ones(1, 1, LQ, LQ, dtype=torch.bool).tril()
    padding = torch.ones(B, 1, 1, LK, dtype=torch.bool)
    padding[0, ..., -2:] = False
    see = (torch.ones_like(back), torch.ones_like(padding))
    masks = (back, padding)
    yield from _stack(stack, nn.TransformerDecoderLayer, (x, memory), see, masks)


def _stack(
    stack: nn.Module,
    kind: type[nn.Module],
    inputs: tuple[Tensor, ...],
    see: tuple[Tensor, ...],
    masks: tuple[Tensor, ...],
) -> Iterator[str]:
    names = ("src_mask",) if len(inputs) == 1 else ("tgt_mask", "memory_mask")
    keys = [inputs[0].size(1), inputs[-1].size(1)]

    def theirs(given: tuple[Tensor, ...]) -> Tensor:
        shapes = [(B, H, inputs[0].size(1), length) for length in keys]
        known = zip(names, given, shapes, strict=False)
        additive = {name: oracles.hidden(one, *shape) for name, one, shape in known}
        return oracles.stack(oracles.parameters(stack), kind, (D, H, FF), inputs, additive)

    output = stack(*inputs, *see)
    if differ(output, theirs(see)):
        yield "without masks, two layers do not compute what torch's compute with the same weights"
    yield from cut_off(output, stack)
    if unreached(output, dict(zip(("x", "memory"), inputs, strict=False))):
        yield "no gradient flows back to what came in"
    else:
        cotangent = torch.randn_like(output)
        yours = torch.autograd.grad(output, inputs, cotangent, retain_graph=True)
        wanted = torch.autograd.grad(theirs(see), inputs, cotangent)
        if any(map(differ, yours, wanted)):
            yield "the numbers are right, the gradient that flows back is not"
    for number, name in enumerate(names):
        one = tuple(masks[place] if place == number else see[place] for place in range(len(see)))
        if differ(stack(*inputs, *one), theirs(one)):
            told = "the mask" if len(names) == 1 else name
            yield f"without masks it is right; with {told}, the wrong words are seen"


@probe("transformer")
def wiring(module: Any) -> Iterator[str]:
    """The model against torch's layers with the same weights, put together here."""
    src = torch.tensor([[3, 4, 5, 6, 9], [7, 8, 9, 9, 9]])
    tgt = torch.tensor([[1, 5, 6, 7], [1, 4, 3, 9]])
    model = module.Transformer(V, V + 2, D, H, 2, FF, 0.0, 20, pad_id=9)
    oracles.scatter(model)
    sizes = (D, H, FF)
    seen, places = (src != 9)[:, None, None], torch.arange(tgt.size(1))
    back = (tgt != 9)[:, None, None] & (places <= places[:, None])
    inner = {"src_mask": oracles.hidden(seen, B, H, LK, LK)}
    outer = {
        "tgt_mask": oracles.hidden(back, B, H, LQ, LQ),
        "memory_mask": oracles.hidden(seen, B, H, LQ, LK),
    }
    x = oracles.embedded(model, "src_embedding.", src)
    layers = oracles.parameters(model, "encoder.")
    memory = oracles.stack(layers, nn.TransformerEncoderLayer, sizes, (x,), inner)
    if differ(model.encode(src)[seen[:, 0, 0]], memory[seen[:, 0, 0]]):
        plain = {"src_mask": torch.zeros(H, 4, 4, dtype=torch.bool)}
        alone = oracles.stack(layers, nn.TransformerEncoderLayer, sizes, (x[:1, :4],), plain)
        yield _encoding(differ(model.encode(src[:1, :4]), alone))
    y = oracles.embedded(model, "tgt_embedding.", tgt)
    layers = oracles.parameters(model, "decoder.")
    states = oracles.stack(layers, nn.TransformerDecoderLayer, sizes, (y, memory), outer)
    if differ(model.decode(tgt, memory, src), states):
        yield _decoding(model, tgt, memory, src)
    if not differ(model.decode(tgt, memory.roll(1, -1), src), states):
        yield "`decode` does not use the memory that it gets"
    logits = model(src, tgt)
    last = oracles.parameters(model, "generator.")
    if differ(logits, F.linear(states, last["weight"], last["bias"])):
        for shown, kind in ((logits, "probabilities"), (logits.exp(), "log-probabilities")):
            if not differ(shown.sum(-1), torch.ones_like(shown[..., 0])):
                yield f"the model returns {kind}; logits, not normalised, are asked for"
        yield "forward(src, tgt) is not generator(decode(tgt, encode(src), src))"
    yield from cut_off(logits, model)


def _encoding(without_padding: bool) -> str:
    if without_padding:
        return "`encode` does not give what the encoder makes of the embedded source"
    return "`encode` is right without padding; with it, the words of the source see the wrong words"


def _decoding(model: Any, tgt: Tensor, memory: Tensor, src: Tensor) -> str:
    before = model.decode(tgt[:1], memory[:1], src[:1])
    changed = tgt[:1].clone()
    changed[0, -1] = 2
    if differ(model.decode(changed, memory[:1], src[:1])[:, :-1], before[:, :-1]):
        return "`decode` lets the words of the target see what comes after them"
    again = torch.full((1, 4), 5)
    states = model.decode(again, memory[:1], src[:1])
    if not differ(states, states[:, :1].expand_as(states)):
        return "`decode` gives the same word the same vector wherever it stands in the target"
    spoiled = memory.detach().clone()
    spoiled[src == 9] += 1
    if differ(model.decode(tgt, spoiled, src), model.decode(tgt, memory, src)):
        return "`decode` lets the target see the padding of the source"
    return "`decode` does not give what the decoder makes of target and memory with their masks"


@probe("training")
def drawn(module: Any) -> Iterator[str]:
    """What `initialise` does to a small model."""
    model = nn.Sequential(nn.Embedding(30, 20), nn.Linear(20, 40), nn.LayerNorm(40))
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    held = dict(model.named_parameters())
    module.initialise(model)
    for name, one in held.items():
        if one.dim() < 2:
            if not torch.equal(one, before[name]):
                yield f"initialise changes {name}, which has one axis only"
            continue
        if torch.equal(one, before[name]):
            yield f"initialise leaves the {tuple(one.shape)} numbers of {name} as they were"
        bound = math.sqrt(6 / sum(one.shape))
        largest = one.detach().abs().max().item()
        if not 0.9 * bound < largest <= 1.001 * bound:
            yield (
                f"initialise draws numbers up to {largest:.2f} for a matrix of shape "
                f"{tuple(one.shape)}; Xavier's uniform distribution ends at {bound:.2f}"
            )


@probe("training")
def shift(module: Any) -> Iterator[str]:
    """What the decoder reads and what it should say."""
    read, said = module.teacher_forcing(torch.tensor([[1, 5, 6, 2], [1, 7, 2, 0]]))
    if read.tolist() != [[1, 5, 6], [1, 7, 2]] or said.tolist() != [[5, 6, 2], [7, 2, 0]]:
        yield (
            f"teacher_forcing of [1, 5, 6, 2] lets the decoder read {read.tolist()[0]} and wants "
            f"{said.tolist()[0]} of it"
        )


@probe("training")
def schedule(module: Any) -> Iterator[str]:
    """The rate at a few steps, worked out by hand for d_model = 64."""
    for step, warmup, rate in ((0, 4, 0.0), (1, 4, 1 / 64), (4, 4, 1 / 16), (16, 4, 1 / 32)):
        given = float(module.noam_rate(step, 64, warmup))
        if abs(given - rate) > 1e-6:
            yield f"noam_rate({step}, 64, {warmup}) is {given:.4g}; the formula gives {rate:.4g}"


@probe("training")
def loss(module: Any) -> Iterator[str]:
    """Value and gradient against F.cross_entropy."""
    for smoothing, pad in ((0.0, 0), (0.3, 0), (0.3, -100)):
        logits = torch.randn(2, 4, V, requires_grad=True)
        labels = torch.tensor([[3, 5, 1, 2], [7, 6, pad, pad]])
        given = module.label_smoothed_loss(logits, labels, pad, smoothing)
        expected = F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=pad, label_smoothing=smoothing
        )
        if differ(given.reshape(()), expected):
            yield (
                f"label_smoothed_loss with smoothing={smoothing} gives {given.item():.3f} where "
                f"F.cross_entropy gives {expected.item():.3f}"
            )
        if unreached(given, {"logits": logits}):
            yield "no gradient flows back from label_smoothed_loss to the logits"
        (yours,) = torch.autograd.grad(given, logits)
        (wanted,) = torch.autograd.grad(expected, logits)
        if differ(100 * yours, 100 * wanted):
            yield "label_smoothed_loss is right, its gradient is not"


class _Speller(nn.Module):
    """A model that spells a word a row: the first id of the source says which."""

    pad_id = 9
    words = ((4, 5, 6, 7, 2), (8, 2, 3, 3, 3), (5, 0, 5, 2, 3))

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))  # by which some find the device

    def encode(self, src: Tensor) -> Tensor:
        return src[:, :1, None] + 0.0

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        del src
        rows = [self.words[int(one)] for one in memory[:, 0, 0]]
        after = [
            [row[min(place, 4)] if prefix[0] == 1 else 3 for place in range(tgt.size(1))]
            for row, prefix in zip(rows, tgt.tolist(), strict=True)
        ]
        return torch.tensor(after)

    def generator(self, states: Tensor) -> Tensor:
        return F.one_hot(states, V).float() * 9

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory = self.encode(src)
        return self.generator(self.decode(tgt, memory, src))


@probe("decoding")
def spelling(module: Any) -> Iterator[str]:
    """What greedy_decode writes with a model that spells three words."""
    src = torch.tensor([[0, 7], [1, 7], [2, 7]])
    wanted = [[1, 4, 5, 6, 7, 2], [1, 8, 2, 9, 9, 9], [1, 5, 0, 5, 2, 9]]
    for longest in (8, 4):
        made = module.greedy_decode(_Speller().eval(), src, 1, 2, longest).tolist()
        while longest > 6 and made and all(row[-1:] == [9] for row in made):
            made = [row[:-1] for row in made]  # that it goes on for longer does no harm
        expected = [row[:longest] for row in wanted]
        for yours, row in zip(made, expected, strict=False):
            if yours != row:
                yield (
                    f"with a model that spells {row}, greedy_decode(…, bos_id=1, eos_id=2, "
                    f"max_len={longest}) writes {yours}"
                )
        if len(made) != len(expected):
            yield f"greedy_decode writes {len(made)} rows for {len(expected)} sources"
