"""A text that takes a parser minutes is shown as it was typed, and holds nobody up."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

pytest.importorskip("nbgrader", reason="nbgrader is not installed")

from nbconvert.exporters import HTMLExporter
from nbformat import v4
from nbformat.notebooknode import NotebookNode
from traitlets.config import Config

from grader.course import cleaning, configure, limits
from grader.course.limits import Allowance, TooMuchError

# Each of them takes a parser many seconds, and the last two many gigabytes' worth of steps.
HOSTILE = {
    "quotations in quotations": ">" * 300_000,
    "formulas that do not end": "\\begin{a}" * 30_000,
    "boxes in boxes": "<div>" * 60_000,
    "code with open strings": "```python\n" + "f'{" * 60_000 + "\n```",
    "stars": "*a **b" * 50_000,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_text_is_refused_in_words(source: str) -> None:
    with pytest.raises(TooMuchError, match="to be laid out"):
        limits.laid_out(cleaning.markdown, source, seconds=0.2)


def test_a_text_that_asks_for_memory_is_refused() -> None:
    def greedy(source: str) -> str:
        return str(len(source * (1 << 20)))

    with pytest.raises(TooMuchError):
        limits.laid_out(greedy, "a" * 20_000)


def test_a_text_that_becomes_very_long_is_refused() -> None:
    with pytest.raises(TooMuchError):
        limits.laid_out(lambda _: ":" + chr(0xD800) * (limits._MAX_LAID_OUT + 1), "a" * 20_000)


def test_a_long_text_is_laid_out_as_a_short_one() -> None:
    words = "A *long* text.\n\n"
    assert limits.laid_out(cleaning.markdown, words * 700).count("<em>long</em>") == 700
    assert limits.laid_out(cleaning.markdown, words).count("<em>long</em>") == 1


def slow(source: str) -> str:
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    return source


def test_the_texts_of_a_page_share_their_time() -> None:
    allowance = Allowance(0.1)
    assert allowance.laid_out(slow, "first") == "first"
    with pytest.raises(TooMuchError, match="this notebook take too long"):
        allowance.laid_out(slow, "second")


def test_a_long_text_uses_up_nothing_of_what_sentences_may_take() -> None:
    allowance = Allowance(0.1)
    for _ in range(2):
        with pytest.raises(TooMuchError):
            allowance.laid_out(slow, "a" * 20_000)
    assert allowance.laid_out(str.upper, "my last words") == "MY LAST WORDS"


@pytest.fixture
def shown() -> Callable[[NotebookNode], str]:
    """What formgrader shows an instructor of a cell."""
    config = Config()
    configure(config)
    exporter = HTMLExporter(config=config)
    return lambda cell: str(exporter.from_notebook_node(v4.new_notebook(cells=[cell]), {})[0])


def test_the_instructors_page_shows_it_as_it_was_typed_too(
    shown: Callable[[NotebookNode], str],
) -> None:
    page = shown(v4.new_markdown_cell(HOSTILE["quotations in quotations"]))
    assert "to be laid out" in page
    assert "&gt;" * 1_000 in page


@pytest.mark.parametrize(
    "output",
    [
        v4.new_output("display_data", {"text/html": HOSTILE["boxes in boxes"]}),
        v4.new_output("stream", text="\x1b[31ma" * 40_000),
    ],
    ids=["HTML", "colours"],
)
def test_the_instructors_page_has_limits_for_outputs(
    shown: Callable[[NotebookNode], str], output: NotebookNode
) -> None:
    page = shown(v4.new_code_cell("1", outputs=[output]))
    assert "to be laid out" in page


def test_the_instructors_page_has_limits_for_code(shown: Callable[[NotebookNode], str]) -> None:
    assert '<span class="k">return</span>' in shown(v4.new_code_cell("return 1"))
    assert "to be laid out" in shown(v4.new_code_cell("x+" * (limits.PAGE_TAGS // 3)))
