"""The tasks of the capstone by name; the first is the default."""

from __future__ import annotations

from grader.capstone.date_task import DateTask
from grader.capstone.prose_task import ProseTask
from grader.capstone.sort_task import SortTask
from grader.capstone.sum_task import SumTask
from grader.capstone.task import Task

_ALL: tuple[Task, ...] = (DateTask(), SortTask(), SumTask(), ProseTask())
NAMES = tuple(task.name for task in _ALL)
DEFAULT = NAMES[0]


def find(name: str) -> Task:
    """The task called `name`. Raises `KeyError` if there is none."""
    return {task.name: task for task in _ALL}[name]
