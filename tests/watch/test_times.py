"""`grader watch` measures how long an exercise takes, and shows it beside the lesson's time."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.curriculum import find
from grader.watch.times import LONGEST_GAP, Times, comparison


def words(times: Times) -> str:
    return "\n".join("".join(text for text, _ in line) for line in comparison(times.seconds))


def test_time_counts_from_save_to_save_without_breaks_and_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "times.json"
    times = Times(file, 0.0)
    times.work("masks", 300.0)
    times.work("masks", 300.0 + 3 * LONGEST_GAP)
    times.work("", 5000.0)
    times.work("attention", 5060.0)
    assert times.seconds == {"masks": 300.0 + LONGEST_GAP, "attention": 60.0}
    again = Times(file, 0.0)
    again.work("attention", 30.0)
    assert again.seconds == {"masks": 300.0 + LONGEST_GAP, "attention": 90.0}


def test_it_is_shown_beside_the_time_of_the_lesson(tmp_path: Path) -> None:
    times = Times(tmp_path / "times.json", 0.0)
    assert "No times have been measured yet" in words(times)
    times.work("masks", 130.0)
    shown = words(times).splitlines()
    assert shown[1].split() == ["masks", "3", "min", str(find("masks").minutes), "min"]
    assert shown[2].split() == ["together", "3", "min"]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"masks": "x"}', '{"other": 3}', "3"])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, content: str) -> None:
    file = tmp_path / "times.json"
    file.write_text(content)
    times = Times(file, 0.0)
    times.work("masks", 60.0)
    assert times.seconds == {"masks": 60.0}


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("")
    times = Times(file / "times.json", 0.0)
    times.work("masks", 60.0)
    assert times.seconds == {"masks": 60.0}
