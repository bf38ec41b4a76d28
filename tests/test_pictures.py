"""The charts: files that a student can look at anywhere, the same ones every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure

from grader import pictures

CURVE = ([0.0, 1.0, 2.0], [3.0, 2.0, 1.5])


def charts() -> dict[str, Figure]:
    return {
        "heat_map": pictures.heat_map(torch.eye(3), list("abc"), list("x 年"), "Attention"),
        "curves": pictures.curves({"loss": CURVE, "rate": CURVE}, "Training", x_axis="step"),
        "positions": pictures.positions(torch.randn(40, 8)),
    }


@pytest.mark.parametrize("chart", charts())
def test_a_chart_is_written_as_its_ending_says_and_is_the_same_every_time(
    chart: str, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    first = charts()[chart]
    torch.manual_seed(0)
    second = charts()[chart]
    for ending, begin in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        pictures.write(first, tmp_path / f"one{ending}")
        pictures.write(second, tmp_path / f"two{ending}")
        one, two = (tmp_path / f"{name}{ending}" for name in ("one", "two"))
        assert one.read_bytes().startswith(begin)
        assert one.read_bytes() == two.read_bytes()


def test_another_ending_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.png or \.svg"):
        pictures.write(charts()["curves"], tmp_path / "one.jpeg")


def test_a_blank_and_a_letter_that_no_font_has_can_be_seen_on_an_axis() -> None:
    (axes, *_) = pictures.heat_map([[1.0, 2.0]], ["a"], [" ", "\ue000"]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["␣", "E0\n00"]


def test_numbers_that_are_not_finite_are_written_into_their_cells() -> None:
    (axes, *_) = pictures.heat_map([[float("nan"), float("inf"), 1.0]]).axes
    assert [text.get_text() for text in axes.texts] == ["NaN", "inf", "1.00"]


def test_matplotlib_is_imported_when_something_is_drawn_and_pyplot_never() -> None:
    code = (
        "import sys; from grader import pictures; assert 'matplotlib' not in sys.modules;"
        "figure = pictures.curves({'loss': ([0, 1], [1, 0])}); pictures.image(figure, '.png');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
