"""The map of the exercises says what the curriculum says."""

from __future__ import annotations

import re

from grader.curriculum import EXERCISES, Exercise, find
from tests import ROOT

TEXT = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| \[(\w+)\]\(\1\.py\)( ★)? \| (\d+) \| .+? \| ([\w, ]*) ?"
    r"\| [1-5] \| [1-5] \| (\d+) min \|$",
    TEXT,
    re.M,
)


def test_every_exercise_is_on_the_map_with_its_points_needs_and_time() -> None:
    rows = [
        Exercise(
            name,
            int(points),
            find(name).entries,
            tuple(needs.strip().split(", ")) if needs.strip() else (),
            bool(core),
            int(minutes),
        )
        for name, core, points, needs, minutes in ROWS
    ]
    assert tuple(rows) == EXERCISES


def test_the_map_adds_the_times_up() -> None:
    core = sum(exercise.minutes for exercise in EXERCISES if exercise.core)
    whole = sum(exercise.minutes for exercise in EXERCISES)
    assert core == 5.5 * 60
    assert 20.5 * 60 <= whole <= 21.5 * 60
    assert "add up to five and a half hours, the whole path to twenty-one" in " ".join(TEXT.split())


def test_the_lessons_name_exercises_that_there_are() -> None:
    names = {exercise.name for exercise in EXERCISES}
    lessons = TEXT.partition("## Five lessons")[2]
    practised = re.findall(r"^\| [^|]+ \| ([\w, ]+) \| ?[^|]*\|$", lessons, re.M)
    named = {name for cell in practised for name in cell.split(", ")} - {"practised in"}
    assert named
    assert named <= names
