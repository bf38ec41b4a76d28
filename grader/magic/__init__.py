"""`%load_ext grader`: the public tests inside a notebook.

%check attention        tests what the notebook defines, now
%%check attention       the same with the tests that stand below it in the cell
%check attention --hint    and a hint on what is wrong; once more for the next hint
%show attention         draws what it computes beside what is expected
"""

from __future__ import annotations

import os
import tempfile
from base64 import b64encode
from functools import cache
from typing import Any

from grader import curriculum
from grader.curriculum.stubs import SOLUTIONS
from grader.feedback.finding import Status
from grader.magic.rendering import as_html, as_text
from grader.magic.running import Outcome, hinted, run
from grader.magic.workspace import NotebookWorkspace

__all__ = ["ChecksFailedError", "check", "register", "show"]

_HINT = "--hint"
_TESTS = SOLUTIONS.parent / "exercises"
# Of a picture in a notebook, in pixels; it is drawn with twice as many.
_WIDTH = 780
# What `%%check` was given last, so that `%check` can repeat it where the kit's files are not.
_given: dict[str, str] = {}
# The hints of this session: how many were shown of each exercise, and on which code.
_hinted: dict[str, Any] = {}


class ChecksFailedError(Exception):
    """Public tests failed. It marks the cell as failed, for nbgrader's Validate."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.headline)
        self.outcome = outcome

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback, and Validate in its dialog."""
        return as_text(self.outcome).splitlines()


def check(exercise: str, namespace: dict[str, Any] | None = None, hint: bool = False) -> None:
    """Runs the public tests of an exercise on what the notebook defines, and shows the result.

    With `hint`, a hint on what is wrong, too; called again, the next one.
    """
    outcome = _outcome(exercise.strip(), "", namespace)
    _show(_hinting(outcome, namespace) if hint else outcome)


def register(shell: Any) -> None:
    """Gives the IPython shell the magics `check`, for a line and for a cell, and `show`."""

    def magic(line: str, cell: str | None = None) -> None:
        words = line.split()
        hint = _HINT in words
        exercise = " ".join(word for word in words if word != _HINT)
        outcome = _outcome(exercise, cell or "", shell.user_ns)
        if hint:
            outcome = _hinting(outcome, shell.user_ns)
        # An exception would stop "Run all" at the first exercise that is not right yet.
        if "NBGRADER_EXECUTION" not in os.environ:
            _show(outcome)
        elif not outcome.right:
            raise ChecksFailedError(outcome)

    def picture(line: str) -> None:
        show(line, shell.user_ns)

    shell.register_magic_function(magic, magic_kind="line_cell", magic_name="check")
    shell.register_magic_function(picture, magic_kind="line", magic_name="show")


def _hinting(outcome: Outcome, namespace: dict[str, Any] | None) -> Outcome:
    """The outcome with one hint more than last time, if something is wrong."""
    if outcome.status is not Status.FAILED:
        return outcome
    return hinted(outcome, _names(namespace), _hinted)


def _names(namespace: dict[str, Any] | None) -> dict[str, Any]:
    if namespace is not None:
        return namespace
    from IPython import get_ipython

    found: dict[str, Any] = get_ipython().user_ns
    return found


def show(exercise: str, namespace: dict[str, Any] | None = None) -> None:
    """Draws what the notebook's code of an exercise computes beside what is expected."""
    from IPython.display import display

    # Imported here: who only checks needs no charts.
    from grader.board import showing

    exercise, names = exercise.strip(), _names(namespace)
    _check_name(exercise)
    missing = [name for name in curriculum.find(exercise).entries if name not in names]
    if missing:
        words = f"{exercise}: {', '.join(missing)} is not defined. Run its cell first."
        display({"text/plain": words}, raw=True)
        return
    workspace = NotebookWorkspace(names)
    picture, told = showing.drawn(exercise, showing.of_names(names), workspace)
    words = "\n".join(showing.sentences(exercise, told))
    display({"text/plain": words}, raw=True)
    data = {"image/png": b64encode(picture).decode(), "text/plain": f"A picture of {exercise}"}
    display(data, metadata={"image/png": {"width": _WIDTH}}, raw=True)


@cache
def _keep_folder_tidy() -> tempfile.TemporaryDirectory[str] | None:
    """Lets hypothesis write its files elsewhere: beside the notebook, they are handed in with it.

    The folder goes with what is returned, at the end of the session.
    """
    asked = "HYPOTHESIS_STORAGE_DIRECTORY"
    if asked in os.environ:
        return None
    folder = tempfile.TemporaryDirectory(prefix="hypothesis-")
    os.environ[asked] = folder.name
    return folder


def _check_name(exercise: str) -> None:
    if exercise not in curriculum.NAMES:
        there_are = ", ".join(curriculum.NAMES)
        raise ValueError(f"There is no exercise {exercise!r}. There are: {there_are}.")


def _outcome(exercise: str, tests: str, namespace: dict[str, Any] | None) -> Outcome:
    _check_name(exercise)
    _keep_folder_tidy()
    if tests:
        _given[exercise] = tests
    path = _TESTS / f"test_{exercise}.py"
    if not tests and path.exists():
        tests = path.read_text(encoding="utf-8")
    tests = tests or _given.get(exercise, "")
    if not tests:
        raise ValueError(f"There are no tests of {exercise} here. Run their cell first.")
    return run(exercise, tests, _names(namespace))


def _show(outcome: Outcome) -> None:
    from IPython.display import display

    data = {"text/html": as_html(outcome), "text/plain": as_text(outcome)}
    display(data, raw=True)
