"""The map of the exercises says what the curriculum says."""

from __future__ import annotations

import re
from pathlib import Path

from grader.curriculum import EXERCISES

TEXT = (Path(__file__).parent.parent / "exercises" / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| \[(\w+)\]\(\1\.py\)( ★)? \| (\d+) \| .+? \| ([\w, ]*) ?\| \d+ min \|$", TEXT, re.M
)


def test_every_exercise_is_on_the_map_with_its_points_and_needs() -> None:
    said = [
        (name, bool(core), int(points), tuple(needs.strip().split(", ")) if needs.strip() else ())
        for name, core, points, needs in ROWS
    ]
    assert said == [(one.name, one.core, one.points, one.needs) for one in EXERCISES]


def test_the_lessons_name_exercises_that_there_are() -> None:
    names = {one.name for one in EXERCISES}
    lessons = TEXT.partition("## Five lessons")[2]
    practised = re.findall(r"^\| [^|]+ \| ([\w, ]+) \| ?[^|]*\|$", lessons, re.M)
    found = {name for cell in practised for name in cell.split(", ")} - {"practised in"}
    assert found
    assert found <= names
