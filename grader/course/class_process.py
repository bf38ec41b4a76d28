"""A process that grades submissions for nbgrader, which itself may be a server with threads.

It reads a line of JSON from standard input, {"plan": ..., "submissions": [...]}, and writes a line
of JSON for each result, as soon as there is one.
"""

from __future__ import annotations

import json
import os
import sys

from grader.curriculum import CurriculumError
from grader.feedback.results import submission_fields
from grader.grading import workers
from grader.submission import Submission
from grader.submission.cells import Cell


def main() -> None:
    """Grade what standard input asks for."""
    # What a library prints must not get between the results.
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    task = json.loads(sys.stdin.readline())
    plan = workers.Plan(**{**task["plan"], "exercises": tuple(task["plan"]["exercises"])})
    submissions = [
        Submission(**{**submission, "cells": tuple(Cell(**cell) for cell in submission["cells"])})
        for submission in task["submissions"]
    ]
    try:
        for result in workers.grade(submissions, plan):
            results.write(json.dumps(submission_fields(result)) + "\n")
            results.flush()
    except CurriculumError as error:
        sys.exit(str(error))
