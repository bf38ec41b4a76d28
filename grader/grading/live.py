"""The hidden checks of one folder, again and again.

Reads lines such as `{"number": 3, "exercise": "attention", "folder": DIR}` and answers each with
the result as the JSON of `grader grade` has it; without a folder it only gets ready for that
exercise. All cases are drawn from one seed, so that what changes after a save is the student's
doing. It is for one's own code on one's own machine: isolation `process`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Any

from grader import submission
from grader.feedback.results import exercise_fields
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.grading.student_process import PROGRAM
from grader.sandbox.host import Host, HostError


def main() -> None:
    """Serve until its standard input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    os.nice(5)  # the public tests' verdict comes first
    out = os.dup(1)
    os.dup2(2, 1)
    host = Host(PROGRAM, "process")
    try:
        recordings = Recordings(secrets.randbelow(2**31))
        judges: dict[str, Judge] = {}
        for line in sys.stdin:
            job = json.loads(line)
            name = job["exercise"]
            judge = judges.setdefault(name, Judge([name], recordings, host))
            if job["folder"]:
                result = _result(judge, Path(job["folder"]))
                _say(out, {"number": job["number"], "result": result})
            else:
                judge.prepare()
    finally:
        host.close()


def _result(judge: Judge, folder: Path) -> dict[str, Any] | None:
    with contextlib.suppress(HostError, submission.SubmissionError):
        (work,) = submission.find(folder, submission.Reading.ONE)
        return exercise_fields(judge.grade(work).exercises[0])
    return None


def _say(out: int, message: dict[str, Any]) -> None:
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(out, line) :]
