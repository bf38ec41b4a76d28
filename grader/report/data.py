"""A report as JSON: an interface that other programs read (schema 1: extended, never renamed)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from grader.report.results import Report, submission_fields


def write_json(report: Report, path: Path) -> None:
    """Writes the report to `path`, which holds either all of it or what it held before."""
    fields = {
        "schema": report.schema,
        "seed": report.seed,
        "isolation": report.isolation,
        "submissions": [submission_fields(one) for one in report.submissions],
    }
    write(path, json.dumps(fields, indent=1, ensure_ascii=False) + "\n")


def write(path: Path, text: str) -> None:
    """Puts `text` in the file in one step. Raises `OSError`."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
