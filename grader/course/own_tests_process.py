"""A process that runs the instructor's own tests for nbgrader, in a jail of its own.

It reads a line of JSON for each notebook from standard input, {"isolation": ..., "cells": [...],
"tests": [[name, source, above, worth], ...], "released": [...]}, and answers it with a line: by
test what it came to, or {"error": ...} where the sandbox failed.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from grader.grading import own_tests
from grader.grading.own_tests import OwnTest
from grader.grading.student_process import WITH_OWN_TESTS
from grader.sandbox.host import Host, HostError


def main() -> None:
    """Serve until standard input is closed."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    hosts: dict[str, Host] = {}
    try:
        for line in sys.stdin:
            replies.write(json.dumps(_answer(json.loads(line), hosts)) + "\n")
            replies.flush()
    finally:
        for host in hosts.values():
            host.close()


def _answer(task: dict[str, Any], hosts: dict[str, Host]) -> dict[str, Any]:
    isolation = task["isolation"]
    try:
        host = hosts.get(isolation) or Host(WITH_OWN_TESTS, isolation)
        hosts[isolation] = host
        tests = [OwnTest(*test) for test in task["tests"]]
        outcomes = own_tests.run(task["cells"], tests, task["released"], host)
    except (HostError, ValueError) as error:
        return {"error": str(error)}
    return {"outcomes": {name: asdict(outcome) for name, outcome in outcomes.items()}}
