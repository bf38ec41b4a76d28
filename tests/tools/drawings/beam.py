"""A beam search with the table of the text of `decoding`, drawn as the tree that it grows."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import torch

from grader.pictures.bigrams import END, START, Bigrams
from tests.tools.drawings.svg import Drawing

WIDTH = 2
WORDS = ("<pad>", "start", "end", "a", "b")
NEXT = {
    "start": {"a": 0.6, "b": 0.4},
    "a": {"end": 0.5, "a": 0.3, "b": 0.2},
    "b": {"end": 0.9, "a": 0.05, "b": 0.05},
}
_SHOWN = 6
_ROW = 54


@dataclass(frozen=True)
class Hypothesis:
    """Tokens so far and their probability; `parent` is its index in the step before."""

    words: tuple[str, ...]
    probability: float
    parent: int = 0

    @property
    def finished(self) -> bool:
        """Return whether it has ended."""
        return self.words[-1] == WORDS[END]


def steps(width: int = WIDTH) -> list[list[Hypothesis]]:
    """Return the candidates of every step, the best first; the first `width` are kept."""
    grown = [[Hypothesis((WORDS[START],), 1.0)]]
    while not all(hypothesis.finished for hypothesis in grown[-1][:width]):
        candidates = []
        for parent, hypothesis in enumerate(grown[-1][:width]):
            words, probability = hypothesis.words, hypothesis.probability
            if hypothesis.finished:
                candidates.append(Hypothesis(words, probability, parent))
                continue
            for word, share in NEXT[words[-1]].items():
                candidates.append(Hypothesis((*words, word), probability * share, parent))
        grown.append(sorted(candidates, key=lambda candidate: -candidate.probability))
    return grown


def decoded(answer: ModuleType, width: int) -> str:
    """Return what `beam_search` writes, as words; for the width 0 `greedy_decode`."""
    model, src = Bigrams(WORDS, NEXT), torch.tensor([[START]])
    if width:
        ids = answer.beam_search(model, src, START, END, 6, width)
    else:
        ids = answer.greedy_decode(model, src, START, END, 6)
    return " ".join(WORDS[number] for number in ids[0].tolist()[1:])


def beam(answer: ModuleType) -> Drawing:
    """Draw the tree, the kept hypotheses in boxes, and what both ways of decoding write."""
    grown = steps()
    drawing = Drawing(
        760,
        400,
        "A beam search with two hypotheses, in the text's example",
        "A tree from left to right, with the table of the text. After the start, a has the "
        "probability 0.6 and b 0.4; a beam of two keeps both. In the next step the six candidates "
        "are b end with 0.36, a end with 0.30, a a with 0.18, a b with 0.12, b a and b b with 0.02 "
        "each. The best two are kept; both are finished, so the search ends and b end wins. Greedy "
        "decoding keeps only a after the first step, and ends with a end and 0.30.",
    )
    boxes: list[list[tuple[float, float]]] = []
    for step, candidates in enumerate(grown):
        left = 20 + 200 * step
        boxes.append([])
        drawing.text(left + 62, 24, f"step {step}" if step else "start", "middle small")
        for position, hypothesis in enumerate(candidates[:_SHOWN]):
            top = 40 + _ROW * position if step else 40 + _ROW / 2
            kept = position < WIDTH
            if step:
                start = boxes[step - 1][hypothesis.parent]
                drawing.line(
                    [(start[0] + 124, start[1]), (left, top + 20)],
                    "line" if kept else "quiet dashed",
                )
            boxes[step].append((left, top + 20))
            drawing.rectangle(left, top, 124, 42, "box" if kept else "empty dashed", 4)
            drawing.text(
                left + 62, top + 18, " ".join(hypothesis.words[1:]) or WORDS[START], "middle small"
            )
            drawing.text(left + 62, top + 34, f"p = {hypothesis.probability:.2f}", "middle small")
    best, greedy = grown[-1][0], steps(1)[-1][0]
    drawing.text(560, 66, f"beam search, beam_size={WIDTH}:", "small")
    drawing.text(560, 86, f"{decoded(answer, WIDTH)}   (p = {best.probability:.2f})")
    drawing.text(560, 120, "greedy:", "small")
    drawing.text(560, 140, f"{decoded(answer, 0)}   (p = {greedy.probability:.2f})")
    drawing.text(20, 386, "boxes: kept; dashed: dropped, and never extended", "small")
    return drawing
