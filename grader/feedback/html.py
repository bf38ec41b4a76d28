"""A finding as HTML: numbers as pictures, for a page, and for the output of a cell in a notebook.

On a page a stylesheet gives every part its look, in light, in dark and on paper. In a notebook the
parts carry their style in themselves, in colours that can be read on white and on black. There is
no script in either. All text that is not ours, a student's above all, is escaped by jinja2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from grader.feedback import text as words
from grader.feedback.finding import Finding, Grid

TEMPLATES = Path(__file__).parent / "templates"
_LEVELS = 5
_MONOSPACE = "font-family:monospace"
_CELL = (
    f"{_MONOSPACE};text-align:right;padding:2px 1.25em 2px 0.5em;white-space:nowrap;"
    "border:1px solid rgba(128,128,128,0.35)"
)
_OFF = (
    f"{_MONOSPACE};text-align:right;padding:2px 0 2px 0.5em;white-space:nowrap;"
    "border:2px solid #d9483b;font-weight:bold"
)


def _shaded(style: str) -> Iterator[tuple[str, str]]:
    """Yield the backgrounds of a cell: stronger away from zero, another colour below it."""
    for side, colour in (("above", "64,128,220"), ("below", "214,130,30")):
        for level in range(1, _LEVELS + 1):
            share = f"{level * 0.09:.2f}"
            yield f"{side}{level}", f"{style};background-color:rgba({colour},{share})"


# Every style that a piece in a notebook may have. A sanitiser can let exactly these pass.
STYLES: dict[str, str] = {
    "box": "border-left:4px solid #8a8a8a;padding:4px 12px;margin:6px 0",
    "right": "border-left:4px solid #2e9e5b;padding:4px 12px;margin:6px 0",
    "wrong": "border-left:4px solid #d9483b;padding:4px 12px;margin:6px 0",
    "head": "font-weight:bold;font-size:115%;margin:2px 0 6px 0",
    "diagnosis": "background-color:rgba(214,158,46,0.18);padding:6px 10px;margin:6px 0;"
    "white-space:pre-line",
    "check": "margin:6px 0 2px 0",
    "tick": "color:#2e9e5b;font-weight:bold",
    "cross": "color:#d9483b;font-weight:bold",
    "quiet": "opacity:0.75;font-weight:normal",
    "finding": "margin:2px 0 8px 20px",
    "headline": "white-space:pre-wrap",
    "help": "font-style:italic;margin-top:4px;white-space:pre-wrap",
    "place": f"{_MONOSPACE};font-size:92%;opacity:0.75;margin-top:4px;white-space:pre-wrap",
    "message": "background-color:rgba(128,128,128,0.12);color:inherit;border:none;"
    f"padding:6px 10px;margin:4px 0 4px 20px;white-space:pre-wrap;{_MONOSPACE};font-size:92%",
    "grid": "margin:6px 0;overflow-x:auto",
    "where": "opacity:0.75;font-size:92%",
    "legend": "opacity:0.75;font-size:88%",
    "half": "display:inline-table;vertical-align:top;border-collapse:separate;border-spacing:3px;"
    "margin:2px 24px 4px 0;color:inherit;width:auto;border:none",
    "side": "caption-side:top;font-weight:bold;text-align:center;padding:2px;color:inherit",
    "corner": "border:none;padding:0;background-color:transparent",
    "axis": "text-align:center;font-weight:normal;opacity:0.75;border:none;padding:0;"
    "background-color:transparent",
    "upright": "writing-mode:vertical-rl;transform:rotate(180deg);text-align:center;"
    "font-weight:normal;opacity:0.75;border:none;padding:0;background-color:transparent",
    "index": "text-align:right;font-weight:normal;opacity:0.75;border:none;padding:0 5px;"
    "background-color:transparent",
    "square": "font-size:130%;line-height:1",
    "sign": "display:inline-block;width:1.25em;text-align:center;color:#d9483b",
    "cell": f"{_CELL};background-color:transparent",
    "cell off": f"{_OFF};background-color:transparent",
    **{f"cell {name}": style for name, style in _shaded(_CELL)},
    **{f"cell off {name}": style for name, style in _shaded(_OFF)},
}
_VALUES = frozenset(STYLES.values())
# fmt: off
TAGS = (
    "a", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt",
    "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "kbd", "li", "ol", "p", "pre", "s",
    "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr",
    "u", "ul",
)
# fmt: on
_SCOPES = ("row", "col", "rowgroup", "colgroup")
_LABELS = ("wrong", "True", "False")


def allowed(tag: str, name: str, value: str) -> bool:
    """Return whether a sanitiser may keep an attribute: of our styles, tables and links."""
    if name == "style":
        return value in _VALUES
    if tag in ("td", "th") and name in ("colspan", "rowspan"):
        return value.isdecimal() and len(value) < 3
    if tag == "th" and name == "scope":
        return value in _SCOPES
    if tag == "span" and name in ("role", "aria-label"):
        return value == "img" or value in _LABELS
    return tag == "a" and name in ("href", "title")


def properties() -> set[str]:
    """Return the CSS properties that the pieces use."""
    return {rule.split(":")[0] for style in STYLES.values() for rule in style.split(";") if rule}


@dataclass(frozen=True)
class Cell:
    """One number of a grid as it is drawn: its text, a square for True and False, its style."""

    text: str
    square: str
    wrong: bool
    style: str


@dataclass(frozen=True)
class Half:
    """One side of a grid: "yours" or "expected", its rows by name."""

    title: str
    rows: list[tuple[str, list[Cell]]]


@dataclass(frozen=True)
class Picture:
    """A grid ready to be drawn, both halves on one scale."""

    where: str
    row_axis: str
    column_axis: str
    columns: list[str]
    halves: list[Half]
    legend: str

    @property
    def lead(self) -> int:
        """How many cells of a row come before its numbers."""
        return 2 if self.row_axis else 1


def picture(grid: Grid) -> Picture:
    """Return the cells of a grid with their shades and signs."""
    row_axis, rows = words.axis_of(grid.rows)
    column_axis, columns = words.axis_of(grid.columns)
    values = [value for row in (*grid.yours, *grid.expected) for value in row]
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    unmarked = ((False,) * len(columns),) * len(rows)
    sides = zip(
        grid.sides,
        (grid.yours, grid.expected),
        words.grid_texts(grid),
        (grid.differs, unmarked),
        strict=True,
    )
    halves = []
    for title, numbers, texts, marks in sides:
        if numbers:
            lines = [
                [_cell(*cell, grid.kind, largest) for cell in zip(*line, strict=True)]
                for line in zip(numbers, texts, marks, strict=True)
            ]
            halves.append(Half(title, list(zip(rows, lines, strict=True))))
    return Picture(grid.where, row_axis, column_axis, columns, halves, _legend(grid.kind, values))


def _cell(value: float, text: str, wrong: bool, kind: str, largest: float) -> Cell:
    shade = "" if kind == "bool" else _shade(value, largest)
    style = " ".join(filter(None, ("cell", "off" if wrong else "", shade)))
    return Cell(text, ("■" if value else "□") if kind == "bool" else "", wrong, style)


def _shade(value: float, largest: float) -> str:
    share = abs(value) / largest if largest and math.isfinite(value) else 0.0
    level = math.ceil(_LEVELS * min(share, 1.0) - 0.5)
    return f"{'above' if value > 0 else 'below'}{level}" if level else ""


def _legend(kind: str, values: list[float]) -> str:
    if kind == "bool":
        return "■ True, □ False; ✗ marks what is wrong."
    scale = "The stronger the colour, the further from zero"
    sides = ": blue above, amber below" if min(values) < 0 < max(values) else ""
    return f"✗ marks what is wrong. {scale}{sides}."


def printable(value: Any) -> Any:
    """Return text without the control characters that HTML forbids or that turn text around."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return words.printable(value)


def prose(text: str) -> Markup:
    """Return text of ours, in which `backticks` mark code, escaped."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(printable(text)))))


def inline(name: str) -> Markup:
    """Return the look of a part in a notebook."""
    return Markup(f' style="{STYLES[name]}"')


def by_class(name: str) -> Markup:
    """Return the look of a part on a page."""
    return Markup(f' class="{name}"')


@cache
def environment(look: Callable[[str], Markup], *folders: Path) -> Environment:
    """Return the templates here and in these folders, for a notebook (`inline`) or a page."""
    made = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["look"] = look
    made.filters.update(prose=prose, picture=picture, in_words=words.place)
    return made


def _macro(name: str, *arguments: Any) -> Markup:
    module: Any = environment(inline).get_template("finding.html.j2").module
    piece: Markup = getattr(module, name)(*arguments)
    return piece


def finding(shown: Finding) -> Markup:
    """Return a finding for a notebook: headline, numbers as a picture, help, lines of code."""
    return _macro("finding", shown)


def panel(style: str, title: str, *parts: Markup) -> Markup:
    """For a notebook: a framed piece with a heading; `style` is right, wrong or box."""
    return _macro("panel", style, title, Markup("\n").join(parts))


def line(mark: str, text: str) -> Markup:
    """For a notebook: one line with a tick or a cross; `mark` is tick, cross or quiet."""
    return _macro("line", mark, text)


def verbatim(text: str) -> Markup:
    """For a notebook: text as it is, such as what code printed."""
    return _macro("verbatim", text)
