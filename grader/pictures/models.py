"""The panels of the exercises that put pieces together, train a model or write with it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from grader.pictures.bigrams import END, PAD, START, WORDS, Bigrams
from grader.pictures.panels import (
    Answers,
    Kind,
    Panel,
    changed_one_by_one,
    filled,
    floats,
    influence,
    numbered,
    shares,
    wave,
)

_CAUSAL = torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()
_NOT_THE_LAST = torch.tensor([True, True, True, True, False])[None, None, None, :]
_STEPS = floats(range(0, 20001, 400))
_P = floats(step / 20 for step in range(1, 20))
_LONGEST = 6


def _depth(exercise: str, norm_first: bool) -> Panel:
    def compute(get: Answers) -> Any:
        answer = get(exercise)
        x, memory = wave(1, 3, 8), wave(1, 4, 8, seed=2)
        if exercise == "encoder":
            layer = filled(answer.EncoderLayer(8, 2, 16, dropout=0.0, norm_first=norm_first))
        else:
            layer = filled(answer.DecoderLayer(8, 2, 16, dropout=0.0, norm_first=norm_first))
        lengths = [x[0].norm(dim=-1)]
        for _ in range(8):
            x = layer(x) if exercise == "encoder" else layer(x, memory)
            lengths.append(x[0].norm(dim=-1))
        return torch.stack(lengths, dim=1)

    return Panel(
        f"{'Pre' if norm_first else 'Post'}-norm: three tokens through a layer, again and again",
        "lengths of the tokens",
        compute,
        Kind.CURVES,
        numbered("token", 3),
        floats(range(9)),
        "length",
        "layers",
    )


def _moved(title: str, compute: Any, rows: int, columns: int, changed: str) -> Panel:
    return Panel(
        title,
        "output",
        compute,
        rows=numbered("token", rows),
        columns=numbered(changed, columns),
        row_axis="output",
        column_axis="changed",
        view=influence,
    )


def _encoded(get: Answers) -> Any:
    encoder = filled(get("encoder").Encoder(2, 8, 2, 16, dropout=0.0))
    return encoder(changed_one_by_one(wave(5, 8)), _NOT_THE_LAST)


def _decoded(get: Answers) -> Any:
    decoder = filled(get("decoder").Decoder(2, 8, 2, 16, dropout=0.0))
    x = changed_one_by_one(wave(4, 8))
    memory = wave(1, 5, 8, seed=2).expand(len(x), -1, -1)
    return decoder(x, memory, _CAUSAL, _NOT_THE_LAST)


def _crossed(get: Answers) -> Any:
    decoder = filled(get("decoder").Decoder(2, 8, 2, 16, dropout=0.0))
    memory = changed_one_by_one(wave(5, 8, seed=2))
    return decoder(wave(1, 4, 8).expand(len(memory), -1, -1), memory, _CAUSAL, _NOT_THE_LAST)


def _stack(exercise: str, name: str) -> Panel:
    def compute(get: Answers) -> Any:
        stack = getattr(get(exercise), name)(
            2, 8, 2, 16, dropout=0.0, activation="gelu", norm_first=True
        )
        memory = (wave(1, 4, 8, seed=2),) if exercise == "decoder" else ()
        return filled(stack)(wave(1, 3, 8), *memory)

    return Panel(
        f"{name}: two layers, pre-norm, gelu",
        "output",
        compute,
        rows=numbered("token", 3),
        column_axis="feature",
        view=lambda output: output[0],
    )


_SRC, _TGT = torch.tensor([4, 7, 5, 0]), torch.tensor([1, 6, 3, 8])


def _translated(changed: str) -> Any:
    def compute(get: Answers) -> Any:
        model = filled(
            get("transformer").Transformer(
                10, 9, d_model=8, n_heads=2, num_layers=2, d_ff=16, dropout=0.0, max_len=16
            )
        )
        sides = {"source": _SRC, "target": _TGT}
        words = sides[changed]
        batch = words.repeat(len(words) + 1, 1)
        for position in range(int((words != 0).sum())):
            batch[position + 1, position] = 2
        sides = {side: ids.expand(len(batch), -1) for side, ids in sides.items()}
        sides[changed] = batch
        return model(sides["source"], sides["target"])

    return compute


def _by_hand(key: str) -> Any:
    def compute(get: Answers) -> Any:
        layer = filled(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True))
        return get("by_hand").encoder_layer_by_hand(layer, wave(1, 4, 8))[key]

    return compute


def _in_heads(title: str, key: str) -> Panel:
    return Panel(
        title,
        f"`{key}`",
        _by_hand(key),
        rows=tuple(f"head {head}, query {query}" for head in range(2) for query in range(4)),
        columns=numbered("key", 4),
        view=lambda heads: heads[0].flatten(0, 1),
    )


def _rates(get: Answers) -> Tensor:
    rate = get("training").noam_rate
    return torch.tensor(
        [
            [float(rate(int(step), d_model, warmup)) for step in _STEPS]
            for d_model, warmup in ((512, 4000), (512, 8000), (256, 4000))
        ]
    )


def _losses(get: Answers) -> Tensor:
    loss = get("training").label_smoothed_loss
    p = torch.tensor(_P)
    logits = torch.stack([p, *[(1 - p) / 3] * 3], dim=1).log()[:, None, None, :]
    label = torch.zeros(1, 1, dtype=torch.long)
    return torch.stack(
        [
            torch.stack([loss(logit, label, pad_id=9, smoothing=smoothing) for logit in logits])
            for smoothing in (0.0, 0.1, 0.3)
        ]
    )


def _initialised(get: Answers) -> Tensor:
    torch.manual_seed(0)
    model = nn.Linear(400, 200)
    get("training").initialise(model)
    return shares(model.weight, 0.1)


def _shifted(part: int, part_name: str) -> Panel:
    return Panel(
        f"teacher_forcing: the {part_name}",
        part_name,
        lambda get: get("training").teacher_forcing(torch.tensor([[1, 5, 6, 7, 2]])),
        Kind.WHOLE,
        ("sentence 0",),
        column_axis="position",
        parts=("decoder_input", "labels"),
        part=part,
    )


def _written(get: Answers, widths: tuple[int, ...]) -> Tensor:
    """Return what greedy decoding (width 0) and beams find, filled up to six words."""
    answer, src = get("decoding"), torch.tensor([[START]])
    rows = torch.full((len(widths), _LONGEST), PAD)
    for row, width in enumerate(widths):
        if width:
            ids = answer.beam_search(Bigrams(), src, START, END, _LONGEST, width)
        else:
            ids = answer.greedy_decode(Bigrams(), src, START, END, _LONGEST)
        rows[row, : ids.size(1)] = ids[0]
    return rows


def _probabilities(ids: Tensor) -> Tensor:
    """Return the probability of each row of ids, `(1, rows)`, up to its end."""
    src = torch.tensor([[START]])
    logs = Bigrams()(src, ids[:, :-1]).gather(-1, ids[:, 1:, None])[..., 0]
    return torch.where(ids[:, 1:] == PAD, 0.0, logs).sum(dim=1).exp()[None]


PANELS: dict[str, tuple[Panel, ...]] = {
    "encoder": (
        _moved("Token 4 is padding: what moves when one is changed", _encoded, 5, 5, "token"),
        _depth("encoder", False),
        _depth("encoder", True),
        _stack("encoder", "Encoder"),
    ),
    "decoder": (
        _moved("Causal mask: what moves when a target token is changed", _decoded, 4, 4, "token"),
        _moved(
            "Memory 4 is padding: what moves when one is changed",
            _crossed,
            4,
            5,
            "memory",
        ),
        _depth("decoder", False),
        _depth("decoder", True),
        _stack("decoder", "Decoder"),
    ),
    "transformer": (
        Panel(
            "Logits",
            "logits",
            _translated("target"),
            rows=numbered("position", 4),
            column_axis="word",
            view=lambda logits: logits[0],
        ),
        _moved("What moves when a target word is changed", _translated("target"), 4, 4, "word"),
        _moved("What moves when a source word is changed", _translated("source"), 4, 4, "word"),
    ),
    "by_hand": (
        _in_heads("Scores", "scores"),
        _in_heads("Weights", "weights"),
        Panel(
            "Output of the layer",
            "`output`",
            _by_hand("output"),
            rows=numbered("token", 4),
            column_axis="feature",
            view=lambda output: output[0],
        ),
    ),
    "training": (
        _shifted(0, "decoder's input"),
        _shifted(1, "labels"),
        Panel(
            "noam_rate",
            "rates",
            _rates,
            Kind.CURVES,
            ("512 features, warmup 4000", "512 features, warmup 8000", "256 features, warmup 4000"),
            _STEPS,
            "rate",
            "step",
        ),
        Panel(
            "label_smoothed_loss of one word among four",
            "losses",
            _losses,
            Kind.CURVES,
            ("smoothing 0", "smoothing 0.1", "smoothing 0.3"),
            _P,
            "loss",
            "probability of the label",
        ),
        Panel(
            "initialise: even within ±0.1, nothing beyond",
            "share of the weights",
            _initialised,
            Kind.CURVES,
            ("share",),
            floats(0.025 * step - 0.1375 for step in range(12)),
            "share of the numbers",
            "weight",
            tolerance=0.01,
        ),
    ),
    "decoding": (
        Panel(
            "greedy_decode",
            "words",
            lambda get: _written(get, (0,)),
            Kind.WORDS,
            ("greedy",),
            column_axis="position",
            names=WORDS,
        ),
        Panel(
            "beam_search",
            "words",
            lambda get: _written(get, (1, 2, 3)),
            Kind.WORDS,
            ("beam of 1", "beam of 2", "beam of 3"),
            column_axis="position",
            names=WORDS,
        ),
        Panel(
            "How probable what the beam found is",
            "words",
            lambda get: _written(get, (1, 2, 3, 4)),
            Kind.CURVES,
            ("probability",),
            floats(range(1, 5)),
            "probability",
            "beam_size",
            _probabilities,
        ),
    ),
}
