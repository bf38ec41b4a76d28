"""The panels of the exercises around a language model: subwords, sampling."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from grader.pictures.panels import Answers, Kind, Panel, floats

_TEXT = "the cat sat on the mat; the rat that sat on the cat ate the hat"
_MERGES = 8
_LONGEST = 4  # bytes of a token that are shown
# A blank, and every byte as it is drawn.
_BYTES = ("", *("␣" if byte == 32 else chr(byte) for byte in range(128)))
_TOKENS = ("the", "cat", "sat", "on", "mat", "and")
_LOGITS = torch.tensor([2.0, 1.1, 0.7, 0.0, -0.6, -1.5])
_DRAWS = 20_000


def _merges(get: Answers) -> Tensor:
    """Return a merge a row: the bytes of both tokens, each filled up with blanks."""
    rows = [
        [number + 1 for token in pair for number in token[:_LONGEST].ljust(_LONGEST, b"\xff")]
        for pair in get("subwords").train_merges(_TEXT, _MERGES)
    ]
    return torch.tensor(rows) % 256


def _lengths(get: Answers) -> Tensor:
    """Return how many tokens the text has for each number of merges."""
    answer = get("subwords")
    merges = answer.train_merges(_TEXT, 16)
    counts = [len(answer.encode(_TEXT, merges[:count])) for count in range(17)]
    return torch.tensor([counts]).float()


def _temperatures(get: Answers) -> Any:
    answer = get("sampling")
    return torch.stack([answer.with_temperature(_LOGITS, t) for t in (0, 0.5, 1.0, 2.0)])


def _kept(get: Answers) -> Tensor:
    answer = get("sampling")
    options_kept = [
        *(answer.keep_top_k(_LOGITS, k) for k in (1, 3)),
        *(answer.keep_top_p(_LOGITS, p) for p in (0.5, 0.7, 0.9)),
    ]
    return torch.stack(options_kept) > -torch.inf


def _drawn(get: Answers) -> Tensor:
    torch.manual_seed(0)
    rows = _LOGITS.repeat(_DRAWS, 1)
    options: tuple[dict[str, Any], ...] = (
        {},
        {"top_k": 3},
        {"temperature": 0.6, "top_p": 0.8},
    )
    return torch.stack(
        [
            torch.bincount(get("sampling").sample(rows, **option), minlength=len(_LOGITS)) / _DRAWS
            for option in options
        ]
    )


class _Round(nn.Module):
    """A model that is certain of the next token, and has no blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList()

    def forward(self, ids: Tensor, caches: Any = None) -> Tensor:
        """Return logits that rule out all tokens but the next of the list."""
        del caches
        return 1000.0 * torch.eye(len(_TOKENS))[(ids + 1) % len(_TOKENS)]


def _generated(get: Answers) -> Any:
    ids = torch.tensor([[0, 1], [2, 3], [4, 5]])
    return get("sampling").generate(_Round(), ids, 5, eos_id=5)


PANELS: dict[str, tuple[Panel, ...]] = {
    "subwords": (
        Panel(
            f"The first {_MERGES} merges of a text: two tokens each, ␣ is a space",
            "merges",
            _merges,
            Kind.WORDS,
            tuple(f"merge {number}" for number in range(_MERGES)),
            ("left", "", "", "", "right", "", "", ""),
            names=_BYTES,
        ),
        Panel(
            "How many tokens the text has with 0 to 16 merges",
            "numbers of tokens",
            _lengths,
            Kind.CURVES,
            ("tokens",),
            floats(range(17)),
            "tokens",
            "merges",
        ),
    ),
    "sampling": (
        Panel(
            "with_temperature: the same logits at four temperatures",
            "probabilities",
            _temperatures,
            Kind.CURVES,
            ("T = 0", "T = 0.5", "T = 1", "T = 2"),
            floats(range(6)),
            "probability",
            "token",
        ),
        Panel(
            "keep_top_k and keep_top_p: which tokens stay",
            "tokens that stay",
            _kept,
            Kind.MASK,
            ("k = 1", "k = 3", "p = 0.5", "p = 0.7", "p = 0.9"),
            _TOKENS,
        ),
        Panel(
            "sample: how often each token is drawn",
            "shares",
            _drawn,
            Kind.CURVES,
            ("no options", "k = 3", "T = 0.6, p = 0.8"),
            floats(range(6)),
            "share",
            "token",
            tolerance=0.02,
        ),
        Panel(
            "generate: three prompts of two tokens, `and` ends a row",
            "tokens",
            _generated,
            Kind.WORDS,
            ("row 0", "row 1", "row 2"),
            column_axis="position",
            names=_TOKENS,
        ),
    ),
}
