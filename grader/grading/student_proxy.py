"""A proxy to a submission's code for one test: what a check calls `student`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from grader.curriculum import reference
from grader.grading.student_process import StudentProcess, references
from grader.remote.budget import Budget
from grader.remote.modules import Modules
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Live, Recorder
from grader.sandbox.host import Host
from grader.submission import Submission

SECONDS, IDLE_SECONDS = 60.0, 10.0


@contextmanager
def in_sandbox(submission: Submission, exercise: str, seed: int, host: Host) -> Iterator[Student]:
    """The code in a sandbox, with the references of what the exercise needs.

    Raises `StudentError`, `Lost` and `ForbiddenUse` for what loading the code does.
    """
    budget = Budget("The test", SECONDS, IDLE_SECONDS)
    layout = submission.layout
    sources = layout.texts() if layout else submission.sources
    notebook = layout.payload() if layout else None
    with StudentProcess(sources, [exercise], host, budget, notebook=notebook) as process:
        yield Student(Live(process.load(exercise)), seed)


@contextmanager
def in_process(submission: Submission, exercise: str, seed: int) -> Iterator[Student]:
    """The code in this process, with nothing between it and the test: for your own code only.

    Raises whatever the code raises while it is imported, and `ValueError` for a notebook.
    """
    if submission.layout is not None:
        raise ValueError("A notebook runs in a sandbox only. Leave out --in-process.")
    modules = Modules(submission.sources)
    try:
        module = modules.load(
            exercise, reference.compiled(references(exercise, submission.sources))
        )
        yield Student(Recorder(Server(module, caught=BaseException)), seed)
    finally:
        modules.remove()
