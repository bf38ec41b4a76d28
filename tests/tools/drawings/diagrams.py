"""The pictures of the exercises' texts, with numbers that the reference computes.

`python -m tests.tools.drawings.diagrams` writes them: each is a file `exercises/pictures/NAME.svg`,
NAME being the exercise that it belongs to, or `architecture` or `path`.
"""

from __future__ import annotations

import math
from types import ModuleType

import torch

from grader.curriculum import EXERCISES, reference
from grader.curriculum.project import ROOT
from grader.curriculum.stubs import PICTURES
from tests.tools.drawings.architecture import architecture
from tests.tools.drawings.attention import attention
from tests.tools.drawings.beam import beam
from tests.tools.drawings.embedding import embedding
from tests.tools.drawings.layers import decoder_layer, encoder_layer
from tests.tools.drawings.normalised import normalised
from tests.tools.drawings.path import path
from tests.tools.drawings.svg import Drawing
from tests.tools.drawings.three_masks import three_masks

FOLDER = ROOT / "exercises" / PICTURES
_SENTENCE = ("the", "cat", "sat", "·", "·")
_IDS = (5, 7, 9, 0, 0)


def drawings() -> dict[str, Drawing]:
    """The pictures by name, drawn from the right answers."""
    load = reference.module
    return {
        "architecture": architecture(),
        "path": path(EXERCISES),
        "masks": masks(load("masks")),
        "attention": attention(load("attention")),
        "multi_head": heads(load("multi_head")),
        "positional": waves(load("positional")),
        "rope": rotation(load("rope")),
        "embedding": embedding(load("embedding")),
        "layer_norm": normalised(load("layer_norm")),
        "sublayer": norms(load("sublayer")),
        "encoder": encoder_layer(),
        "decoder": decoder_layer(),
        "transformer": three_masks(load("masks")),
        "training": teacher_forcing(load("training")),
        "decoding": beam(load("decoding")),
    }


def masks(answer: ModuleType) -> Drawing:
    """Draw three grids of who may attend to whom: padding, causal, both."""
    ids = torch.tensor([_IDS])
    size = len(_IDS)
    drawing = Drawing(
        720,
        290,
        "Three masks: who may attend to whom",
        "Three grids for the sentence “the cat sat” and two paddings. Rows are queries, columns "
        "are keys. Padding: the three columns of words are filled, in every row. Causal: each row "
        "is filled up to its own column, a triangle. Target: filled where both are, so each token "
        "attends to itself and to earlier tokens, and never to padding.",
    )
    grids = (
        ("padding: no column of ·", answer.padding_mask(ids)),
        ("causal: no later token", answer.causal_mask(size)),
        ("target: both combined", answer.target_mask(ids)),
    )
    for number, (name, mask) in enumerate(grids):
        left, top = 60 + 235 * number, 62
        seen = mask.expand(1, 1, size, size)[0, 0].tolist()
        drawing.text(left + 80, 26, name, "middle large")
        for row in range(size):
            large = " large" if _SENTENCE[row] == "·" else ""
            drawing.text(left - 8, top + 32 * row + 21, _SENTENCE[row], f"end{large}")
            drawing.text(left + 32 * row + 16, top - 8, _SENTENCE[row], f"middle{large}")
            for column in range(size):
                kind = "full" if seen[row][column] else "empty"
                drawing.rectangle(left + 32 * column + 2, top + 32 * row + 2, 28, 28, kind, 3)
    drawing.rectangle(60, 246, 16, 16, "full", 2)
    drawing.text(84, 259, "True: may be attended to")
    drawing.rectangle(295, 246, 16, 16, "empty", 2)
    drawing.text(319, 259, "False: must not be attended to")
    drawing.text(60, 281, "A row is a query, the token that attends; a column is a key.", "small")
    return drawing


def heads(answer: ModuleType) -> Drawing:
    """Draw projected features split into heads, and merged again."""
    length, n_heads, d_head = 3, 2, 3
    x = torch.tensor([[[10 * t + f for f in range(n_heads * d_head)] for t in range(length)]])
    split = answer.split_heads(x, n_heads)
    merged = answer.merge_heads(split)
    drawing = Drawing(
        860,
        260,
        "Projected features are split among the heads, and merged again",
        "On the left a table of three tokens with six features each, as q_proj returns them, "
        "every cell numbered by token and feature. An arrow leads to two smaller tables: head 0 "
        "holds the features 0 to 2 of all three tokens, head 1 the features 3 to 5. A second "
        "arrow leads to a table in the order of the first.",
    )

    def table(left: float, top: float, rows: list[list[int]], first_head: int) -> None:
        for row, numbers in enumerate(rows):
            drawing.text(left - 6, top + 30 * row + 20, f"token {row}", "end small")
            for column, number in enumerate(numbers):
                kind = "other" if (first_head + column // d_head) % 2 else "box"
                drawing.rectangle(left + 34 * column, top + 30 * row, 34, 30, kind)
                drawing.text(left + 34 * column + 17, top + 30 * row + 20, f"{number:02}", "middle")

    drawing.text(160, 58, "q_proj(x)  (3, 6)", "middle large")
    table(58, 90, x[0].tolist(), 0)
    drawing.arrow([(274, 135), (346, 135)])
    drawing.text(310, 123, "split", "middle")
    for head in range(n_heads):
        top = 34 + 124 * head
        drawing.text(451, top - 9, f"head {head}  (3, 3)", "middle large")
        table(400, top, split[0, head].tolist(), head)
    drawing.arrow([(514, 135), (586, 135)])
    drawing.text(550, 123, "merge", "middle")
    drawing.text(738, 58, "same order  (3, 6)", "middle large")
    table(636, 90, merged[0].tolist(), 0)
    drawing.text(20, 248, "A cell's number: token, then feature.", "small")
    return drawing


def waves(answer: ModuleType) -> Drawing:
    """Draw the sinusoidal table as shades, and four of its columns as waves."""
    positions, features = 36, 24
    table = answer.sinusoidal_table(positions, features, base=100.0)
    drawing = Drawing(
        760,
        330,
        "The sinusoidal table, and some of its columns",
        "On the left the table: a row for each of 36 positions, a column for each of 24 "
        "features, dark for -1 and light for +1. The stripes are narrow in the left columns and "
        "grow wider to the right. On the right the columns 0, 4, 8 and 12 as curves over the "
        "position: all are waves between -1 and 1, and each oscillates more slowly than the one "
        "before.",
    )
    drawing.text(60 + 144, 24, "feature", "middle")
    drawing.text(12, 36, "position", "small")
    left, top, width, height = 70, 48, 12, 7
    levels: dict[int, list[tuple[int, int]]] = {}
    for row, numbers in enumerate(table.tolist()):
        for column, number in enumerate(numbers):
            level = round((number + 1) / 2 * (len(_CIVIDIS) - 1))
            levels.setdefault(level, []).append((row, column))
    for level, cells in sorted(levels.items()):
        drawing.cells(left, top, (width, height), cells, _CIVIDIS[level])
    for column in range(0, features, 4):
        drawing.text(left + width * column + 6, top - 6, str(column), "middle small")
    for row in range(0, positions, 5):
        drawing.text(left - 6, top + height * row + 8, str(row), "end small")
    for level, colour in enumerate(_CIVIDIS):
        drawing.cells(left + 30 + 24 * level, 308, (24, 10), [(0, 0)], colour)
    drawing.text(left + 24, 317, "-1", "end small")
    drawing.text(left + 36 + 24 * len(_CIVIDIS), 317, "+1", "small")
    for index, column in enumerate((0, 4, 8, 12)):
        middle = 78 + 66 * index
        drawing.text(440, middle - 28, f"column {column}", "small")
        drawing.line([(440, middle), (730, middle)], "quiet")
        numbers = table[:, column].tolist()
        points = [(440 + 290 * i / (positions - 1), middle - 22 * v) for i, v in enumerate(numbers)]
        drawing.line(points)
        for point in points:
            drawing.circle(*point, 2, "tip")
    drawing.text(440, 24, "a column is a wave over the positions")
    drawing.text(440, 317, "position 0", "small")
    drawing.text(730, 317, f"position {positions - 1}", "end small")
    return drawing


_CIVIDIS = (
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369",
    "#e1cc55", "#fee838",
)  # fmt: skip


def rotation(answer: ModuleType) -> Drawing:
    """Draw two pairs of features rotated by their position, and why only distance counts."""
    angles = answer.rotary_angles(4, 7, base=100.0)
    turned = answer.apply_rotary(torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(7, 4), angles.float())
    drawing = Drawing(
        760,
        300,
        "Each pair of features is rotated by an angle that belongs to the token's position",
        "Three circles. In the first, the pair of features 0 and 1 of the same token at the "
        "positions 0 to 6: its arrow rotates counter-clockwise by one radian per position. In the "
        "second, the pair 2 and 3 rotates by a tenth of that. In the third, a query and a key two "
        "positions apart, once at 1 and 3 and once at 4 and 6: both arrows point elsewhere, but "
        "the angle between them is the same, and so is their dot product.",
    )

    def circle(middle: float, name: str) -> None:
        drawing.text(middle, 28, name, "middle")
        drawing.circle(middle, 155, 84, "quiet")
        drawing.line([(middle - 98, 155), (middle + 98, 155)], "quiet")
        drawing.line([(middle, 57), (middle, 253)], "quiet")

    def hand(middle: float, point: list[float], label: str, kind: str) -> None:
        across, up = point
        drawing.arrow([(middle, 155), (middle + 84 * across, 155 - 84 * up)], kind)
        drawing.text(middle + 99 * across, 159.5 - 99 * up, label, "middle small")

    circle(130, "features 0 and 1: quickly")
    circle(380, "features 2 and 3: slowly")
    for position in range(7):
        hand(130, turned[position, :2].tolist(), str(position), "line")
        if position in (0, 3, 6):
            hand(380, turned[position, 2:].tolist(), str(position), "line")
    circle(630, "two positions apart")
    pairs = ((1, 3, "line"), (4, 6, "line dashed"))
    for query, key, kind in pairs:
        hand(630, turned[query, :2].tolist(), f"q{query}", kind)
        hand(630, turned[key, :2].tolist(), f"k{key}", kind)
    drawing.text(130, 284, "one radian per position", "middle small")
    drawing.text(380, 284, "a tenth of that (positions 0, 3, 6)", "middle small")
    products = [float(turned[q, :2] @ turned[k, :2]) for q, k, _ in pairs]
    drawing.text(
        630, 284, f"q1 · k3 = {products[0]:.3f},  q4 · k6 = {products[1]:.3f}", "middle small"
    )
    return drawing


def norms(answer: ModuleType) -> Drawing:
    """Draw post-norm and pre-norm, and how long a token becomes in each."""
    drawing = Drawing(
        820,
        330,
        "Post-norm and pre-norm: where the norm stands",
        "Two flow charts from the bottom to the top. Post-norm, the paper's: x goes through the "
        "sublayer and along the residual path past it, the two are added, and the sum goes "
        "through the norm. Pre-norm: x goes through norm and sublayer, and along the residual "
        "path past both; the two are added, and nothing follows. Beside each, the length of a "
        "token after 1, 4 and 16 such connections: in post-norm it stays the same, in pre-norm it "
        "grows.",
    )

    def lengths(norm_first: bool) -> str:
        length = 64
        connection = answer.SublayerConnection(length, dropout=0.0, norm_first=norm_first)
        x = torch.tensor([[[math.sin(1.7 * i) * math.sqrt(2) for i in range(length)]]])
        words = []
        for depth in range(1, 17):
            with torch.no_grad():
                x = connection(x, lambda y: 0.5 * y.roll(1, -1))
            if depth in (1, 4, 16):
                words.append(f"{x.norm().item():.1f}")
        return ", ".join(words)

    def chart(left: float, name: str, norm_first: bool) -> None:
        middle = left + 80
        drawing.text(middle, 26, name, "middle large")
        drawing.text(middle, 312, "x", "middle")
        boxes = ((206, "norm", "other"), (146, "sublayer", "box")) if norm_first else (
            (206, "sublayer", "box"), (86, "norm", "other"),
        )  # fmt: skip
        plus = 100 if norm_first else 160
        drawing.arrow([(middle, 298), (middle, 238)])
        drawing.line([(middle, 274), (left - 30, 274), (left - 30, plus)], "line thick")
        drawing.arrow([(left - 30, plus), (middle - 13, plus)], "line thick")
        for top, text, kind in boxes:
            drawing.box(left + 20, top, 120, 32, text, kind)
        if norm_first:
            drawing.arrow([(middle, 206), (middle, 178)])
            drawing.arrow([(middle, 146), (middle, plus + 13)])
            drawing.arrow([(middle, plus - 13), (middle, 46)])
        else:
            drawing.arrow([(middle, 206), (middle, plus + 13)])
            drawing.arrow([(middle, plus - 13), (middle, 118)])
            drawing.arrow([(middle, 86), (middle, 46)])
        drawing.circle(middle, plus, 13, "empty")
        drawing.text(middle, plus + 5, "+", "middle")
        drawing.text(left + 160, 190, "length of a token after", "small")
        drawing.text(left + 160, 207, "1, 4, 16 connections:", "small")
        drawing.text(left + 160, 226, lengths(norm_first))

    chart(90, "post-norm: norm(x + sublayer(x))", norm_first=False)
    chart(480, "pre-norm: x + sublayer(norm(x))", norm_first=True)
    return drawing


def teacher_forcing(answer: ModuleType) -> Drawing:
    """Draw the target, what the decoder reads of it, and what it should predict."""
    words = {1: "<start>", 5: "the", 6: "cat", 7: "sat", 2: "<end>"}
    target = torch.tensor([list(words)])
    read, labels = answer.teacher_forcing(target)
    drawing = Drawing(
        700,
        270,
        "Teacher forcing: the same tokens, one position apart",
        "Three rows of tokens with their ids. The target: start, the, cat, sat, end. The "
        "decoder's input is the target without its last token, the labels are the target without "
        "its first. They stand below one another, so that an arrow leads from each token that is "
        "read to the token that should be predicted next.",
    )
    rows = (("target", target, 40, "empty"), ("decoder's input", read, 120, "box"),
            ("labels", labels, 210, "other"))  # fmt: skip
    for name, ids, top, kind in rows:
        drawing.text(120, top + 23, name, "end")
        for position, number in enumerate(ids[0].tolist()):
            drawing.box(140 + 108 * position, top, 94, 36, f"{words[number]}  {number}", kind)
    for position in range(read.size(1)):
        drawing.arrow([(187 + 108 * position, 157), (187 + 108 * position, 209)])
    drawing.text(580, 188, "what comes next?", "small")
    drawing.text(140, 26, "a token and its id", "small")
    return drawing


if __name__ == "__main__":
    for name, drawing in drawings().items():
        (FOLDER / f"{name}.svg").write_text(drawing.svg(), encoding="utf-8", newline="\n")
