"""A beam search, drawn as the tree that it grows."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor, nn

from grader.pictures.svg import Drawing

WORDS = ("<pad>", "<start>", "<end>", "the", "a", "cat", "dog", "sat")
PAD, START, END = range(3)
WIDTH = 2
_SHOWN = 4
# What follows a word, and how probably. Whoever takes the best word at once goes astray.
_NEXT = {
    "<start>": {"the": 0.5, "a": 0.4, "cat": 0.06, "dog": 0.04},
    "the": {"cat": 0.4, "dog": 0.35, "<end>": 0.25},
    "a": {"dog": 0.9, "cat": 0.1},
    "cat": {"sat": 0.6, "<end>": 0.4},
    "dog": {"<end>": 0.7, "sat": 0.3},
    "sat": {"<end>": 1.0},
}
_NEVER = 1e-9


class Bigrams(nn.Module):
    """A model that looks at the last word only, with what `decoding` asks of a Transformer."""

    pad_id = PAD

    def __init__(self) -> None:
        super().__init__()
        table = [[_NEXT.get(a, {}).get(b, _NEVER) for b in WORDS] for a in WORDS]
        self.logs = torch.tensor(table).log()
        self.eval()

    def encode(self, src: Tensor) -> Tensor:
        """Nothing is read: `(B, L)` to `(B, L, 1)` zeros."""
        return torch.zeros(*src.shape, 1)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """The words themselves, one-hot: `(B, Lt)` to `(B, Lt, words)`."""
        del memory, src
        return torch.eye(len(WORDS))[tgt]

    def generator(self, features: Tensor) -> Tensor:
        """The logarithm of every next word's probability."""
        return features @ self.logs

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """The logits of every next word."""
        memory = self.encode(src)
        return self.generator(self.decode(tgt, memory, src))


@dataclass(frozen=True)
class Hypothesis:
    """Words so far and their probability; `parent` is its place in the step before."""

    words: tuple[str, ...]
    probability: float
    parent: int = 0

    @property
    def finished(self) -> bool:
        """Whether it has come to its end."""
        return self.words[-1] == WORDS[END]


def steps(width: int = WIDTH) -> list[list[Hypothesis]]:
    """The candidates of every step, the best first; the first `width` of them are kept."""
    grown = [[Hypothesis((WORDS[START],), 1.0)]]
    while not all(one.finished for one in grown[-1][:width]):
        candidates = []
        for parent, one in enumerate(grown[-1][:width]):
            if one.finished:
                candidates.append(Hypothesis(one.words, one.probability, parent))
                continue
            for word, share in _NEXT[one.words[-1]].items():
                candidates.append(Hypothesis((*one.words, word), one.probability * share, parent))
        grown.append(sorted(candidates, key=lambda one: -one.probability))
    return grown


def found(answer: ModuleType, width: int) -> str:
    """What `beam_search` of the exercise finds, in words; `greedy_decode` for the width 0."""
    src = torch.tensor([[START]])
    if width:
        ids = answer.beam_search(Bigrams(), src, START, END, 6, width)
    else:
        ids = answer.greedy_decode(Bigrams(), src, START, END, 6)
    return " ".join(WORDS[number] for number in ids[0].tolist()[1:])


def beam(answer: ModuleType) -> Drawing:
    """The tree, the hypotheses that were kept in boxes, and what both ways of decoding find."""
    grown = steps()
    drawing = Drawing(
        830,
        330,
        "A beam search with two hypotheses",
        "A tree from left to right. After the start, “the” has the probability 0.5 and “a” 0.4; "
        "these two are kept. In the next step “a dog” with 0.36 and “the cat” with 0.20 are the "
        "best two of all, in the third “a dog” and its end with 0.252 and “the cat sat” with 0.12. "
        "So “a dog” wins. Taking the most probable word in each step leads to “the cat sat” with "
        "0.12.",
    )
    places: list[list[tuple[float, float]]] = []
    for step, candidates in enumerate(grown):
        left = 20 + 162 * step
        places.append([])
        drawing.text(left + 62, 24, f"step {step}" if step else "start", "middle small")
        for place, one in enumerate(candidates[:_SHOWN]):
            top = 44 + 62 * place if step else 75
            kept = place < WIDTH
            if step:
                start = places[step - 1][one.parent]
                drawing.line(
                    [(start[0] + 124, start[1]), (left, top + 20)],
                    "line" if kept else "quiet dashed",
                )
            places[step].append((left, top + 20))
            drawing.rectangle(left, top, 124, 42, "box" if kept else "empty dashed", 4)
            drawing.text(
                left + 62, top + 18, " ".join(one.words[1:]) or WORDS[START], "middle small"
            )
            drawing.text(left + 62, top + 34, f"p = {one.probability:.3f}", "middle small")
    won = grown[-1][0]
    drawing.text(
        20, 302, f"beam search, two wide: {found(answer, WIDTH)}   (p = {won.probability:.3f})"
    )
    greedy = steps(1)[-1][0]
    drawing.text(20, 322, f"greedy: {found(answer, 0)}   (p = {greedy.probability:.3f})")
    drawing.text(400, 302, "boxes: kept; dashed: dropped, and never looked at again", "small")
    return drawing
