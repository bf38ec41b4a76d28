"""What is written into a student's folder: links that lie there lead nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.capstone import report
from grader.pictures import curves, write
from grader.report import data

NEW = "what is new"


def _picture(file: Path) -> None:
    write(curves({"loss": ([0.0, 1.0], [1.0, 0.5])}), file)


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("result.json", lambda file: report.write(file.parent, NEW)),
        ("grades.csv", lambda file: data.write(file, NEW)),
        ("loss.png", _picture),
    ],
)
def test_a_link_in_a_folder_is_replaced_and_not_followed(
    tmp_path: Path, name: str, put: Callable[[Path], object]
) -> None:
    own = tmp_path / "the instructor's"
    own.write_text("of the instructor's", encoding="utf-8")
    ada = tmp_path / "ada"
    ada.mkdir()
    for planted in (name, f"{name}.new", f".{name}.{os.getpid()}"):
        (ada / planted).symlink_to(own)
    put(ada / name)
    assert own.read_text(encoding="utf-8") == "of the instructor's"
    assert not (ada / name).is_symlink()
    assert (ada / name).stat().st_size > 0
    assert not (ada / f".{name}.{os.getpid()}").is_symlink()
