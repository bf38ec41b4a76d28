"""A console that prints texts as they are seen: whatever they hold, no terminal obeys it.

Names, lines of code and what code printed are a student's, and a kept report may be anybody's. So
nothing is read as markup, and what cannot be seen is replaced wherever it stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from grader.feedback.text import printable


def console(**options: Any) -> Console:
    """Return a console of rich with these options, which prints nothing that a terminal obeys."""
    made = Console(highlight=False, emoji=False, markup=False, **options)
    made.push_render_hook(_Hook())
    return made


class _Hook(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Seen(renderable) for renderable in renderables]


@dataclass(frozen=True)
class _Seen:
    """What is to be printed; the codes in it are rich's own, none a text's."""

    renderable: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(_ENCODED.sub(_seen, segment.text), segment.style)


# The others are bytes of a name that is not UTF-8; the stream itself makes escapes of them.
_ENCODED = re.compile("[^\ud800-\udfff]+")


def _seen(match: re.Match[str]) -> str:
    return printable(match[0])
