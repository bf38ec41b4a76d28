"""A report as JSON: an interface that other programs read (schema 1: extended, never renamed)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from grader.feedback import files
from grader.feedback.results import Report, submission_fields


def write_json(report: Report, path: Path) -> None:
    """Write the report to `path`, which holds either all of it or what it held before.

    Raises `OSError`.
    """
    fields = {
        "schema": report.schema,
        "seed": report.seed,
        "isolation": report.isolation,
        "submissions": [submission_fields(submission) for submission in report.submissions],
        "passed_over": [asdict(entry) for entry in report.passed_over],
    }
    write_kept(path, json.dumps(fields, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Let one process at a time read `path`, or a file beside it, and write what follows from it.

    The others wait. Raises `OSError`.
    """
    import fcntl  # which Windows lacks, where other commands read reports

    beside = path.with_name(f".{path.name}.lock")
    while True:
        with beside.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.fstat(lock.fileno()).st_nlink:
                continue  # whoever had it before has removed it
            try:
                yield
            finally:
                beside.unlink(missing_ok=True)
            return


def write_kept(path: Path, text: str) -> None:
    """As `write`, for what cannot be made again: it is on the disk when this returns."""
    write(path, text, flush=os.fsync)


def write(path: Path, text: str, flush: Callable[[int], None] | None = None) -> None:
    """Put `text` in the file in one step. Raises `OSError`."""
    files.replace(path, text.encode("utf-8", "backslashreplace"), flush)
