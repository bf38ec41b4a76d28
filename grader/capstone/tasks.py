"""The tasks of the capstone by name; the first is the default."""

from __future__ import annotations

import difflib

from grader.capstone.date_task import DateTask
from grader.capstone.prose_task import ProseTask
from grader.capstone.sort_task import SortTask
from grader.capstone.sum_task import SumTask
from grader.capstone.task import Task

_ALL: tuple[Task, ...] = (DateTask(), SortTask(), SumTask(), ProseTask())
NAMES = tuple(task.name for task in _ALL)
DEFAULT = NAMES[0]


def find(name: str) -> Task:
    """Return the task called `name`. Raises `KeyError` if there is none."""
    return {task.name: task for task in _ALL}[name]


def unknown(name: str) -> str:
    """Return the sentence on a name that no task has: the nearest one, and which there are."""
    near = difflib.get_close_matches(name.lower(), NAMES, 1)
    question = f" Did you mean {near[0]}?" if near else ""
    return f"There is no task {name!r}.{question} There are: {', '.join(NAMES)}."
