"""What all charts share: colours, fonts, writing to a file.

Everything is drawn on white paper, so that a picture reads the same in a dark window. No colour
carries a meaning alone: lines differ in their dashes and marks as well, numbers are shaded by
cividis, which grows lighter for every eye, and what is wrong has a frame and a cross.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.feedback import files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, PAPER, QUIET = "#1b1f24", "#ffffff", "#7a828c"
# From the palette of Okabe and Ito, which differ for all kinds of colour vision.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKS = ("o", "s", "^", "D", "v", "P")
YOURS, EXPECTED, WRONG = COLOURS[0], INK, COLOURS[1]
SHADES = "cividis"
ENDINGS = (".png", ".svg")
_DOTS_PER_INCH = 150

_LOOK: dict[Any, Any] = {
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.unicode_minus": False,
    "figure.facecolor": PAPER,
    "font.size": 9,
    "legend.fontsize": 8.5,
    "legend.edgecolor": PAPER,
    "legend.framealpha": 0.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "transformer-by-hand",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8,
}
# Looked through in this order for letters that DejaVu, matplotlib's own, does not have.
_FAMILIES = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "Hiragino Sans",
    "Hiragino Sans GB",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "MS Gothic",
    "WenQuanYi Zen Hei",
    "IPAexGothic",
    "Arial Unicode MS",
)


# How the characters of Japanese and Chinese dates are read.
_ROMAJI = {
    "年": "nen", "月": "gatsu", "日": "nichi", "曜": "yō", "火": "ka", "水": "sui", "木": "moku",
    "金": "kin", "土": "do",
}  # fmt: skip


@contextmanager
def look() -> Iterator[None]:
    """Apply the style of all charts in the block, without changing matplotlib's settings."""
    import matplotlib

    with matplotlib.rc_context({**_LOOK, "font.family": _families()}), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches that no window and no pyplot knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=_DOTS_PER_INCH)


def image(figure: Figure, ending: str) -> bytes:
    """Return the figure as a file with this suffix, ".png" or ".svg", reproducible byte by byte.

    Raises ValueError for another ending.
    """
    if ending not in ENDINGS:
        raise ValueError(f"A picture ends in {' or '.join(ENDINGS)}, not in {ending!r}.")
    file = BytesIO()
    metadata = {"Date": None} if ending == ".svg" else {"Software": None}
    with look():
        figure.savefig(file, format=ending[1:], metadata=metadata)
    return file.getvalue()


def write(figure: Figure, file: Path) -> None:
    """Write the figure to a file, as PNG or SVG by its ending.

    Raises ValueError for another ending and OSError where nothing can be written.
    """
    files.replace(file, image(figure, file.suffix.lower()))


def readable(labels: Sequence[str]) -> list[str]:
    """Return labels with every character visible: a lone blank as ␣, unprintable ones as codes.

    So an axis may have the characters of a text for its names, in any language.
    """
    drawable = _drawable()
    return ["␣" if label == " " else "".join(_seen(c, drawable) for c in label) for label in labels]


def spelled(title: str) -> str:
    """Return a title in which every character can be seen, with a note if some are spelled out.

    Kana and the characters of Japanese dates are transliterated, others shown by their codes.
    """
    drawable = _drawable()
    if all(character.isspace() or ord(character) in drawable for character in title):
        return title
    words = "".join(
        character if character.isspace() or ord(character) in drawable else _spelling(character)
        for character in title
    )
    return f"{words}\n(No font of this machine has all letters of this title.)"


def _spelling(character: str) -> str:
    name = unicodedata.name(character, "")
    for kana in ("HIRAGANA LETTER ", "KATAKANA LETTER "):
        if name.startswith(kana):
            return name.removeprefix(kana).removeprefix("SMALL ").lower()
    return f"{{{_ROMAJI.get(character, f'U+{ord(character):04X}')}}}"


def _seen(character: str, drawable: frozenset[int]) -> str:
    if ord(character) in drawable:
        return character
    code = f"{ord(character):04X}"
    # In two lines it takes no more room than a letter, as in the boxes that browsers draw.
    return f"{code[:-2]}\n{code[-2:]}"


@cache
def _families() -> list[str]:
    """Return those of the families that this machine has."""
    from matplotlib.font_manager import fontManager

    there = set(fontManager.get_font_names())
    return [family for family in _FAMILIES if family in there]


@cache
def _drawable() -> frozenset[int]:
    """Return the characters that one of the families has a letter for."""
    from matplotlib.font_manager import findfont, get_font

    fonts = (get_font(findfont(family)) for family in _families())
    return frozenset(code for font in fonts for code in font.get_charmap())
