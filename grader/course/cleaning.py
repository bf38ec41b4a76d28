"""Keep what a student wrote from running in the reader's browser.

nbgrader shows Markdown cells and outputs as they are, in feedback pages and in formgrader. Here the
Markdown is rendered first and cleaned then, so that code in it stays legible.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from html import escape, unescape
from typing import Any

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from nbconvert.filters import ansi
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat.notebooknode import NotebookNode
from traitlets import default

from grader.course import limits
from grader.course.mathml import mathml
from grader.feedback import html

# MathJax makes links, ids and styles of these.
_TEX_COMMANDS = re.compile(r"\\(?=(?:href|url|require|cssId|class|style|data|unicode)\b)")
# In an `img`, no script of an SVG runs and nothing is loaded by it.
_PICTURE = re.compile(r"data:image/(?:png|jpe?g|gif|svg\+xml);base64,[A-Za-z0-9+/=\s]*")
# What bleach overlooks in an address before it looks for the scheme, as browsers do.
_OVERLOOKED = re.compile(r"[`\x00-\x20\x7f-\xa0\s\ufffd]+")
_PROTOCOLS = ("http", "https", "mailto", "data")
MAX_TYPED = 20_000
# The key in nbconvert's resources of the time that is left for the current page.
ALLOWANCE = "transformer-by-hand-allowance"
_HIGHLIGHTED = re.compile(r"highlight|[a-z]{1,2}\d?")


class SafeOutputs(SanitizeHTML):
    """Cleans the outputs of code cells, and raw cells, which nbconvert shows as they are."""

    @default("tags")
    def _our_tags(self) -> list[str]:
        return list(html.TAGS)

    @default("attributes")
    def _our_attributes(self) -> Any:
        return html.allowed

    @default("styles")
    def _our_styles(self) -> list[str]:
        return sorted(html.properties())

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Clean a notebook; all that is laid out for its page shares an allowance of time."""
        self.allowance = resources[ALLOWANCE] = limits.Allowance()
        return super().preprocess(nb, resources)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Clean one cell; Markdown is for `markdown2html` to clean."""
        if cell.cell_type == "markdown":
            return cell, resources
        return super().preprocess_cell(cell, resources, index)

    def sanitize_html_tags(self, html_str: str) -> str:
        """Return the HTML without active content; as plain text if cleaning takes too long."""
        try:
            return self.allowance.laid_out(super().sanitize_html_tags, html_str)
        except limits.TooMuchError as error:
            return as_typed(html_str, error)


@pass_context
def markdown2html(context: Any, source: str) -> str:
    """For nbconvert's templates: `markdown` of the cell that is being shown."""
    attachments = context.get("cell", {}).get("attachments", {})
    render = partial(markdown, attachments=attachments) if attachments else usual_markdown
    return _of_page(context, render, source)


@pass_context
def highlight_code(
    context: Any,
    source: str,
    language: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> str:
    """For nbconvert's templates: its own colours of code, if they do not take too long."""
    colour = partial(_highlight(), language=language, metadata=metadata)
    return _of_page(context, colour, source)


@pass_context
def ansi2html(context: Any, source: str) -> str:
    """For nbconvert's templates: its own colours of what a cell printed, if in time."""
    return _of_page(context, ansi.ansi2html, source)


def _of_page(context: Any, render: Callable[[str], str], source: str) -> str:
    """Return what `render` makes of the source, or the source itself if the page's time is up."""
    allowance = context.get("resources", {}).get(ALLOWANCE) or limits.Allowance()
    try:
        return str(allowance.laid_out(render, source))
    except limits.TooMuchError as error:
        return as_typed(source, error)


@cache
def _highlight() -> Highlight2HTML:
    return Highlight2HTML()


def as_typed(source: str, reason: Exception) -> str:
    """Return the source itself, and why it is not laid out."""
    shown = html.printable(source[:MAX_TYPED])
    if len(source) > MAX_TYPED:
        shown += f"\n… and {len(source) - MAX_TYPED:,} characters more"
    return f"<p><em>{escape(str(reason))}</em></p><pre>{escape(shown)}</pre>"


def markdown(source: str, attachments: Mapping[str, Any] | None = None) -> str:
    """Return Markdown as HTML without scripts, styles of its own and pictures from elsewhere."""
    renderer = _Renderer(escape=False, attachments=attachments or {}, exclude_anchor_links=True)
    rendered = MarkdownWithMath(renderer=renderer).render(_TEX_COMMANDS.sub(r"\\ ", source))
    return renderer.with_formulas(_clean(rendered, [*html.TAGS, "img"], _allowed))


class _Renderer(IPythonRenderer):
    """Lays out formulas as MathML. They are put in when all that surrounds them is clean."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._mark = secrets.token_hex(12)
        self._formulas: list[str] = []

    def inline_math(self, body: str) -> str:
        """Return a formula in a line of text."""
        return self._kept(body, block=False) or str(super().inline_math(body))

    def block_math(self, body: str) -> str:
        """Return a formula on lines of its own."""
        return self._kept(body, block=True) or str(super().block_math(body))

    def _kept(self, body: str, block: bool) -> str:
        made = mathml(body.strip(), block)
        if made is None:
            return ""
        self._formulas.append(made)
        return f"{self._mark}-{len(self._formulas) - 1}-"

    def with_formulas(self, text: str) -> str:
        """Return the text with the formulas in their places."""
        return re.sub(rf"{self._mark}-(\d+)-", lambda match: self._formulas[int(match[1])], text)


@lru_cache(maxsize=512)
def usual_markdown(source: str) -> str:
    """`markdown` of a text without attachments: most of them are the same for a whole class."""
    return markdown(source)


def piece(source: str) -> str:
    """Return HTML that a cell put out, with our own styles and nothing that runs or loads."""
    return _clean(source, list(html.TAGS), _allowed_in_output)


def _clean(source: str, tags: list[str], attributes: Callable[[str, str, str], bool]) -> str:
    return bleach.clean(
        source,
        tags=tags,
        attributes=attributes,
        # `data` for pictures; what else has an address may not begin so.
        protocols=_PROTOCOLS,
        css_sanitizer=CSSSanitizer(allowed_css_properties=html.properties()),
    )


def _allowed(tag: str, name: str, value: str) -> bool:
    if name == "class":
        return _HIGHLIGHTED.fullmatch(value) is not None
    if tag == "img":
        return name == "alt" or (name == "src" and _PICTURE.fullmatch(value) is not None)
    return _allowed_in_output(tag, name, value)


def _allowed_in_output(tag: str, name: str, value: str) -> bool:
    if name == "href" and _OVERLOOKED.sub("", unescape(value)).lower().startswith("data:"):
        return False
    return html.allowed(tag, name, value)
