"""The pictures of the exercises' texts, with numbers that the reference computes.

Each is a file `exercises/pictures/NAME.svg`, NAME being the exercise that it belongs to, or `path`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import torch

from grader.pictures.beam import beam
from grader.pictures.path import Piece, path
from grader.pictures.svg import Drawing

Load = Callable[[str], ModuleType]
_SENTENCE = ("the", "cat", "sat", "·", "·")
_IDS = (5, 7, 9, 0, 0)


def drawings(load: Load, pieces: Sequence[Piece]) -> dict[str, Drawing]:
    """The pictures by name; `load` gives the module of an exercise's right answer."""
    return {
        "path": path(pieces),
        "masks": masks(load("masks")),
        "multi_head": heads(load("multi_head")),
        "positional": waves(load("positional")),
        "rope": rotation(load("rope")),
        "sublayer": norms(load("sublayer")),
        "training": teacher_forcing(load("training")),
        "decoding": beam(load("decoding")),
    }


def masks(answer: ModuleType) -> Drawing:
    """Three grids of who may look at whom: padding, causal, both."""
    ids = torch.tensor([_IDS])
    size = len(_IDS)
    drawing = Drawing(
        720,
        290,
        "Three masks: who may look at whom",
        "Three grids for the sentence “the cat sat” and two paddings. Rows are the words that "
        "look, columns those looked at. Padding: the three columns of words are filled, whoever "
        "looks. Causal: each row is filled up to its own column, a triangle. Target: filled where "
        "both are, so each word sees itself and the words before it, and no padding.",
    )
    grids = (
        ("padding: no column of ·", answer.padding_mask(ids)),
        ("causal: never ahead", answer.causal_mask(size)),
        ("target: both at once", answer.target_mask(ids)),
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
    drawing.text(84, 259, "True: may be looked at")
    drawing.rectangle(295, 246, 16, 16, "empty", 2)
    drawing.text(319, 259, "False: must not be looked at")
    drawing.text(
        60, 281, "A row is the word that looks, a column the word that is looked at.", "small"
    )
    return drawing


def heads(answer: ModuleType) -> Drawing:
    """Features cut into heads, and put side by side again."""
    length, n_heads, d_head = 3, 2, 3
    x = torch.tensor([[[10 * t + f for f in range(n_heads * d_head)] for t in range(length)]])
    split = answer.split_heads(x, n_heads)
    merged = answer.merge_heads(split)
    drawing = Drawing(
        860,
        260,
        "Features are split among the heads, and merged again",
        "On the left a table of three tokens with six features each, every cell numbered by "
        "token and feature. An arrow leads to two smaller tables: head 0 holds the features 0 "
        "to 2 of all three tokens, head 1 the features 3 to 5. A second arrow leads back to the "
        "first table.",
    )

    def table(left: float, top: float, rows: list[list[int]], first_head: int) -> None:
        for row, numbers in enumerate(rows):
            drawing.text(left - 6, top + 30 * row + 20, f"token {row}", "end small")
            for column, number in enumerate(numbers):
                kind = "other" if (first_head + column // d_head) % 2 else "box"
                drawing.rectangle(left + 34 * column, top + 30 * row, 34, 30, kind)
                drawing.text(left + 34 * column + 17, top + 30 * row + 20, f"{number:02}", "middle")

    drawing.text(160, 58, "x  (3, 6)", "middle large")
    table(58, 90, x[0].tolist(), 0)
    drawing.arrow([(274, 135), (346, 135)])
    drawing.text(310, 123, "split", "middle")
    for head in range(n_heads):
        top = 34 + 124 * head
        drawing.text(451, top - 9, f"head {head}  (3, 3)", "middle large")
        table(400, top, split[0, head].tolist(), head)
    drawing.arrow([(514, 135), (586, 135)])
    drawing.text(550, 123, "merge", "middle")
    drawing.text(738, 58, "as it was", "middle large")
    table(636, 90, merged[0].tolist(), 0)
    drawing.text(20, 248, "A cell's number: token, then feature.", "small")
    return drawing


def waves(answer: ModuleType) -> Drawing:
    """The sinusoidal table as shades, and four of its columns as waves."""
    positions, features = 36, 24
    table = answer.sinusoidal_table(positions, features, base=100.0)
    drawing = Drawing(
        760,
        330,
        "The sinusoidal table, and some of its columns",
        "On the left the table: a row for each of 36 positions, a column for each of 24 "
        "features, dark for -1 and light for +1. The stripes are narrow in the left columns and "
        "grow wider to the right. On the right the columns 0, 4, 8 and 12 as curves over the "
        "position: all are waves between -1 and 1, and each swings more slowly than the one "
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
    for level, places in sorted(levels.items()):
        drawing.cells(left, top, (width, height), places, _CIVIDIS[level])
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
    """Two pairs of features turned by the place of their word, and why only distance counts."""
    angles = answer.rotary_angles(4, 7, base=100.0)
    turned = answer.apply_rotary(torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(7, 4), angles.float())
    drawing = Drawing(
        760,
        300,
        "Each pair of features is turned by an angle that belongs to the word's place",
        "Three circles. In the first, the pair of features 0 and 1 of the same word at the "
        "places 0 to 6: its arrow turns counter-clockwise by one radian a place. In the second, "
        "the pair 2 and 3: it turns by a tenth of that. In the third, a query and a key two "
        "places apart, once at 1 and 3 and once at 4 and 6: both arrows stand elsewhere, and "
        "the angle between them is the same, so that their dot product is the same as well.",
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
    for place in range(7):
        hand(130, turned[place, :2].tolist(), str(place), "line")
        if place in (0, 3, 6):
            hand(380, turned[place, 2:].tolist(), str(place), "line")
    circle(630, "two places apart")
    pairs = ((1, 3, "line"), (4, 6, "line dashed"))
    for query, key, kind in pairs:
        hand(630, turned[query, :2].tolist(), f"q{query}", kind)
        hand(630, turned[key, :2].tolist(), f"k{key}", kind)
    drawing.text(130, 284, "one radian a place", "middle small")
    drawing.text(380, 284, "a tenth of that (places 0, 3, 6)", "middle small")
    products = [float(turned[q, :2] @ turned[k, :2]) for q, k, _ in pairs]
    drawing.text(
        630, 284, f"q1 · k3 = {products[0]:.3f},  q4 · k6 = {products[1]:.3f}", "middle small"
    )
    return drawing


def norms(answer: ModuleType) -> Drawing:
    """Post-norm and pre-norm as two ways for a token, and how long it becomes on each."""
    drawing = Drawing(
        760,
        330,
        "Post-norm and pre-norm: where the norm stands",
        "Two flow charts from the bottom to the top. Post-norm, the paper's: x goes into the "
        "sublayer and round it, both are added, and the sum goes through the norm. Pre-norm: x "
        "goes through the norm into the sublayer, and round both; the two are added, and "
        "nothing comes after. Beside each, the length of a token after 1, 4 and 16 such "
        "connections: in post-norm it stays the same, in pre-norm it grows.",
    )

    def lengths(norm_first: bool) -> str:
        length = 64
        connection = answer.SublayerConnection(length, dropout=0.0, norm_first=norm_first)
        x = torch.tensor([[[math.sin(1.7 * i) * math.sqrt(2) for i in range(length)]]])
        told = []
        for depth in range(1, 17):
            with torch.no_grad():
                x = connection(x, lambda y: 0.5 * y.roll(1, -1))
            if depth in (1, 4, 16):
                told.append(f"{x.norm().item():.1f}")
        return ", ".join(told)

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

    chart(60, "post-norm: norm(x + sublayer(x))", norm_first=False)
    chart(430, "pre-norm: x + sublayer(norm(x))", norm_first=True)
    return drawing


def teacher_forcing(answer: ModuleType) -> Drawing:
    """The target, what the decoder reads of it, and what it should say."""
    words = {1: "<start>", 5: "the", 6: "cat", 7: "sat", 2: "<end>"}
    target = torch.tensor([list(words)])
    read, labels = answer.teacher_forcing(target)
    drawing = Drawing(
        700,
        270,
        "Teacher forcing: the same words, one place apart",
        "Three rows of words with their ids. The target: start, the, cat, sat, end. The "
        "decoder's input is the target without its last word, the labels are the target without "
        "its first. They stand below one another, so that an arrow leads from each word that is "
        "read to the word that should be said next.",
    )
    rows = (("target", target, 40, "empty"), ("decoder's input", read, 120, "box"),
            ("labels", labels, 210, "other"))  # fmt: skip
    for name, ids, top, kind in rows:
        drawing.text(120, top + 23, name, "end")
        for place, number in enumerate(ids[0].tolist()):
            drawing.box(140 + 108 * place, top, 94, 36, f"{words[number]}  {number}", kind)
    for place in range(read.size(1)):
        drawing.arrow([(187 + 108 * place, 157), (187 + 108 * place, 209)])
    drawing.text(580, 188, "what comes next?", "small")
    drawing.text(140, 26, "a word and its id", "small")
    return drawing


def drift(folder: Path, drawn: Mapping[str, Drawing]) -> list[str]:
    """The names of the files in `folder` that are missing or not what is drawn today."""
    files = {f"{name}.svg": drawing.svg() for name, drawing in drawn.items()}
    return [name for name, text in files.items() if _read(folder / name) != text]


def write(folder: Path, drawn: Mapping[str, Drawing]) -> list[str]:
    """Brings the pictures in `folder` up to date; the names of the files that were not."""
    outdated = drift(folder, drawn)
    folder.mkdir(parents=True, exist_ok=True)
    for file in outdated:
        text = drawn[file.removesuffix(".svg")].svg()
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    return outdated


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
