"""Formulas in answers and comments are MathML; nothing in them runs."""

from __future__ import annotations

import re

import pytest

from grader.course.cleaning import markdown
from grader.course.mathml import mathml

pytest.importorskip("latex2mathml")


def test_formulas_are_laid_out_in_text_and_on_lines_of_their_own() -> None:
    shown = markdown("Let $\\sqrt{d_k}$ be it:\n\n$$\\frac{QK^\\top}{\\sqrt{d_k}}$$\n\n`$code$`")
    assert shown.count("<math") == 2
    assert "<msqrt>" in shown
    assert 'display="block"' in shown
    assert "<code>$code$</code>" in shown


def test_what_cannot_be_read_stays_as_it_was_typed() -> None:
    assert mathml("{" * 3000, False) is None
    assert "$" in markdown("$" + "x" * 3000 + "$")


@pytest.mark.parametrize(
    "source",
    [
        r"$\href{javascript:alert(1)}{x}$",
        r"$\text{<img src=x onerror=alert(1)>}$",
        r"$<script>alert(1)</script>$",
        r"$\style{background:url(//x)}{x}$",
        r"$\color{red;background:url(//x)}{x}$",
        "<math><mtext><script>alert(1)</script></mtext></math>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        r"$\unicode{x3c}script\unicode{x3e}$",
    ],
)
def test_nothing_in_a_formula_runs_or_loads(source: str) -> None:
    shown = markdown(source)
    assert not re.search(r"<(?:script|img|style|a|mglyph)\b", shown)
    assert not re.search(r"<[^>]*\b(?:on\w+|href|src|style|class)\s*=", shown)
