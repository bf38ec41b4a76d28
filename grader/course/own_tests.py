"""The instructor's own tests in a notebook of the kit's: run in the jail, read by nbgrader."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_output

from grader.course.classwork import GraderFailureError
from grader.sandbox.program import Program, command


class OwnTests:
    """The process that runs them. nbgrader itself may be a server with threads, and never does."""

    def __init__(self, isolation: str) -> None:
        self.isolation = isolation
        self.program = Program(command("grader.course.own_tests_process"))
        weakref.finalize(self, self.program.terminate)

    def outcomes(
        self, cells: Sequence[NotebookNode], tests: Iterable[str], released: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        """Return what the tests of these names came to, by name; other graded tests are not run.

        Raises `GraderFailureError`.
        """
        wanted = set(tests)
        sources: list[str | None] = []
        listed = []
        for index, cell in enumerate(cells):
            tag = cell.metadata.get("nbgrader", {})
            if tag.get("grade_id") in wanted:
                listed.append([tag["grade_id"], cell.source, index, float(tag["points"])])
            graded = tag.get("grade") and not tag.get("solution")
            sources.append(cell.source if cell.cell_type == "code" and not graded else None)
        task = {
            "isolation": self.isolation,
            "cells": sources,
            "tests": listed,
            "released": list(released),
        }
        self.program.send(task)
        try:
            reply = json.loads(self.program.replies.readline())
        except ValueError:
            message = self.program.last_words()
            raise GraderFailureError(
                f"The process that runs your own tests has ended.\n{message}"
            ) from None
        if "error" in reply:
            raise GraderFailureError(f"Your own tests could not be run: {reply['error']}")
        outcomes: dict[str, dict[str, Any]] = reply["outcomes"]
        return outcomes


def output(outcome: dict[str, Any]) -> NotebookNode:
    """Return the output of such a test: the points, or the reason for a failure as an error.

    nbgrader takes the points from there.
    """
    if outcome["failure"]:
        text = outcome["failure"]
        kind, _, message = text.partition(": ")
        return new_output("error", ename=kind, evalue=message, traceback=[text])
    data = {"text/plain": repr(round(outcome["points"], 4))}
    return new_output("execute_result", data, execution_count=None)
