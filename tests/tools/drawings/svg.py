"""Small SVG drawings, written by hand: the same bytes on every machine, and legible in any window.

A drawing has a sheet of its own below it, light or dark as the reader's system is, so that it can
be read on whatever page it lies. There is no script in it and nothing that it loads. What it shows
is said in words as well, in `title` and `desc`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape

# Letters that stand in the fonts of every system; the widths of others differ, so leave room.
_STYLE = """
text{font:13px Helvetica,Arial,"DejaVu Sans",sans-serif;fill:#1b1f24}
.sheet{fill:#fff}.small{font-size:11px}.large{font-size:15px;font-weight:bold}
.middle{text-anchor:middle}.end{text-anchor:end}
.line{stroke:#1b1f24;stroke-width:1.4;fill:none}.quiet{stroke:#8a939d;stroke-width:1;fill:none}
.dashed{stroke-dasharray:5 3}.thick{stroke-width:3}
.box{fill:#eaf1f8;stroke:#1b1f24;stroke-width:1.2}.other{fill:#fdf3dc;stroke:#1b1f24;stroke-width:1.2}
.empty{fill:#fff;stroke:#8a939d;stroke-width:1}.full{fill:#0b4a7d;stroke:#0b4a7d;stroke-width:1}
.tip{fill:#1b1f24}.onfull{fill:#fff}
"""
_DARK = """
text{fill:#e8ebee}.sheet{fill:#15181c}.line{stroke:#e8ebee}.quiet{stroke:#77808a}
.box{fill:#1d3144;stroke:#e8ebee}.other{fill:#3d3218;stroke:#e8ebee}
.empty{fill:#15181c;stroke:#77808a}.full{fill:#7cc0f5;stroke:#7cc0f5}.tip{fill:#e8ebee}
.onfull{fill:#0c1116}
"""


class Drawing:
    """An SVG of this size in pixels, to which shapes are added; later ones lie on top.

    `kinds` of shapes and text are classes of the style sheet above, one or several: "line dashed".
    """

    def __init__(
        self, width: int, height: int, title: str, description: str, style: str = ""
    ) -> None:
        self.width, self.height = width, height
        self.title, self.description = title, description
        self._own_style = style
        self._shapes: list[str] = []

    @contextmanager
    def group(self, exercises: str) -> Iterator[None]:
        """Put what is drawn inside into a group that names these exercises."""
        names = " ".join(exercises.split(", "))
        self._shapes.append(f'<g data-exercises="{names}">')
        yield
        self._shapes.append("</g>")

    def rectangle(
        self, x: float, y: float, width: float, height: float, kind: str, round_by: float = 0
    ) -> None:
        """A rectangle, (x, y) its upper left corner."""
        rounded = f' rx="{_short(round_by)}"' if round_by else ""
        self._shapes.append(
            f'<rect x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" '
            f'height="{_short(height)}"{rounded} class="{kind}"/>'
        )

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """A line of text that begins at (x, y), or has its middle or end there."""
        named = f' class="{kind}"' if kind else ""
        self._shapes.append(f'<text x="{_short(x)}" y="{_short(y)}"{named}>{escape(text)}</text>')

    def box(
        self, x: float, y: float, width: float, height: float, text: str, kind: str = "box"
    ) -> None:
        """A box with text in its middle."""
        self.rectangle(x, y, width, height, kind, round_by=4)
        self.text(x + width / 2, y + height / 2 + 4.5, text, "middle")

    def line(self, points: Sequence[tuple[float, float]], kind: str = "line") -> None:
        """A line through these points."""
        steps = "L".join(f"{_short(x)} {_short(y)}" for x, y in points)
        self._shapes.append(f'<path d="M{steps}" class="{kind}"/>')

    def arrow(self, points: Sequence[tuple[float, float]], kind: str = "line") -> None:
        """A line with a tip at its last point."""
        self.line(points, kind)
        (x, y), (tip_x, tip_y) = points[-2:]
        length = ((tip_x - x) ** 2 + (tip_y - y) ** 2) ** 0.5
        along_x, along_y = 7 * (tip_x - x) / length, 7 * (tip_y - y) / length
        base_x, base_y = tip_x - along_x, tip_y - along_y
        corners = [
            (tip_x, tip_y),
            (base_x - along_y / 2, base_y + along_x / 2),
            (base_x + along_y / 2, base_y - along_x / 2),
        ]
        steps = "L".join(f"{_short(a)} {_short(b)}" for a, b in corners)
        self._shapes.append(f'<path d="M{steps}z" class="tip"/>')

    def circle(self, x: float, y: float, radius: float, kind: str) -> None:
        """A circle around (x, y)."""
        self._shapes.append(
            f'<circle cx="{_short(x)}" cy="{_short(y)}" r="{_short(radius)}" class="{kind}"/>'
        )

    def cells(
        self,
        x: float,
        y: float,
        size: tuple[float, float],
        places: Sequence[tuple[int, int]],
        colour: str,
    ) -> None:
        """Cells of a grid that have one colour, by row and column, as a single shape."""
        width, height = size
        steps = "".join(
            f"M{_short(x + column * width)} {_short(y + row * height)}"
            f"h{_short(width)}v{_short(height)}h-{_short(width)}z"
            for row, column in places
        )
        self._shapes.append(f'<path fill="{colour}" d="{steps}"/>')

    def svg(self) -> str:
        """The text of the file."""
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" '
                f'height="{self.height}" viewBox="0 0 {self.width} {self.height}" role="img" '
                'aria-labelledby="title desc">',
                f'<title id="title">{escape(self.title)}</title>',
                f'<desc id="desc">{escape(self.description)}</desc>',
                f"<style>{_STYLE}@media (prefers-color-scheme:dark){{{_DARK}}}"
                f"{self._own_style}</style>",
                f'<rect width="{self.width}" height="{self.height}" class="sheet"/>',
                *self._shapes,
                "</svg>\n",
            ]
        )


def _short(number: float) -> str:
    # Adding zero makes -0.0 a 0.0.
    return f"{round(number, 1) + 0.0:.1f}".removesuffix(".0")
