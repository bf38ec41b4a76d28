"""The slow way, to measure against: the core eight's hidden checks as a pytest run of their own.

`pytest tests/tools/fresh_pytest.py --submission=DIR` imports the student's files into the test
process, which is what the kit never does with work that it grades.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from grader import curriculum
from grader.checks import framework
from grader.checks.framework import Check
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Recorder

CHECKS = [
    check
    for exercise in curriculum.EXERCISES
    if exercise.core
    for check in framework.load(exercise.name)
]


@pytest.fixture(scope="session")
def package(request: pytest.FixtureRequest) -> str:
    folder = Path(request.config.getoption("--submission"))
    exercises = ModuleType("exercises")
    exercises.__path__ = [str(folder)]
    sys.modules["exercises"] = exercises
    return "exercises"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.exercise}-{check.name}")
def test_check(check: Check, package: str) -> None:
    module = import_module(f"{package}.{check.exercise}")

    def body(student: None, **arguments: object) -> None:  # noqa: ARG001 - hypothesis passes it
        check.body(Student(Recorder(Server(module))), **arguments)

    test = check.explore(body, seed=1) if check.inputs else body
    test(None)
