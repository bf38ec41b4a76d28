"""The charts: files that a student can look at anywhere, the same ones every time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from grader import pictures
from grader.pictures import charts, style
from tests.tools import warm

CURVE = ([0.0, 1.0, 2.0], [3.0, 2.0, 1.5])


EXAMPLES: dict[str, Callable[[], Figure]] = {
    "attention_heads": lambda: pictures.attention_heads(
        [[torch.eye(3)]], list("abc"), list("x 年"), "Attention"
    ),
    "curves": lambda: pictures.curves({"loss": CURVE, "rate": CURVE}, "Training", x_axis="step"),
    "positions": lambda: pictures.positions(torch.randn(40, 8)),
    "scatter": lambda: pictures.scatter(
        {"digits": {"1": (0.0, 1.0)}, "others": {"年": (2.0, 1.0)}}
    ),
}


@pytest.mark.full(but=("attention_heads",))
@pytest.mark.parametrize("chart", EXAMPLES)
def test_a_chart_is_written_as_its_ending_says_and_is_the_same_every_time(
    chart: str, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    first = EXAMPLES[chart]()
    torch.manual_seed(0)
    second = EXAMPLES[chart]()
    for ending, begin in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        pictures.write(first, tmp_path / f"one{ending}")
        pictures.write(second, tmp_path / f"two{ending}")
        single, two = (tmp_path / f"{name}{ending}" for name in ("one", "two"))
        assert single.read_bytes().startswith(begin)
        assert single.read_bytes() == two.read_bytes()


def test_another_ending_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.png or \.svg"):
        pictures.write(EXAMPLES["curves"](), tmp_path / "one.jpeg")


def test_a_blank_and_a_letter_that_no_font_has_can_be_seen_on_an_axis() -> None:
    (axes, *_) = pictures.attention_heads(
        [[[[1.0, 2.0]]]], ["a"], [" ", "\ue000"], "Attention"
    ).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["␣", "E0\n00"]


def test_numbers_that_are_not_finite_are_written_into_their_cells() -> None:
    axes = style.new_figure(2.0, 2.0).subplots()
    charts.draw_matrix(axes, np.array([[float("nan"), float("inf"), 1.0]]))
    assert [text.get_text() for text in axes.texts] == ["NaN", "inf", "1.00"]


def test_matplotlib_is_imported_when_something_is_drawn_and_pyplot_never() -> None:
    code = (
        "import sys; from grader import pictures; assert 'matplotlib' not in sys.modules;"
        "figure = pictures.curves({'loss': ([0, 1], [1, 0])}); pictures.image(figure, '.png');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = warm.run("-c", code, libraries=warm.ALWAYS)
    assert done.returncode == 0, done.stderr


def test_every_head_of_every_layer_has_its_own_matrix() -> None:
    weights = torch.rand(2, 3, 4, 5).tolist()
    figure = pictures.attention_heads(weights, list("abcd"), list("vwxyz"), "Attention")
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == [f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3)]


def test_letters_that_no_font_has_are_spelled_out_in_a_title(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(style, "_drawable", lambda: frozenset(range(0x20, 0x250)) | {0x2192})
    assert style.spelled("21 mai 2026 → 2026-05-21") == "21 mai 2026 → 2026-05-21"
    words, note = style.spelled("2026年5月21日 か ☃").splitlines()
    assert words == "2026{nen}5{gatsu}21{nichi} ka {U+2603}"
    assert "font" in note
