"""Keeps every finished submission at once, so that a run can be stopped at any moment and go on.

One SQLite file a run: it commits atomically, survives `kill -9` and a full disk, and its lock
refuses a second run.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from types import TracebackType

from grader.report.results import SubmissionResult, submission_fields, submission_result


class StoreError(Exception):
    """The store cannot be used. The message says why and what to do."""


class Store:
    """The finished submissions of one run. `plan` is what has to be the same to go on with it."""

    def __init__(self, path: Path, plan: dict[str, object], resume: bool) -> None:
        if path.exists() and not resume:
            raise StoreError(
                f"{path} holds a run that was not finished. Add --resume to go on with it, or "
                "delete the file to begin anew."
            )
        self.path = path
        self.database = sqlite3.connect(path, timeout=0.2, isolation_level=None)
        try:
            self.database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self.database.execute("BEGIN EXCLUSIVE")
            self.database.execute("CREATE TABLE IF NOT EXISTS plan (json TEXT)")
            self.database.execute(
                "CREATE TABLE IF NOT EXISTS results "
                "(name TEXT, digest TEXT, json TEXT, UNIQUE (name, digest))"
            )
            row = self.database.execute("SELECT json FROM plan").fetchone()
            if row is None:
                self.database.execute("INSERT INTO plan VALUES (?)", (json.dumps(plan),))
            self.database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self.database.close()
            raise StoreError(_refusal(path, error)) from None
        except sqlite3.DatabaseError as error:
            self.database.close()
            raise StoreError(f"{path} is no store of results ({error}). Delete it.") from None
        self.plan: dict[str, object] = plan if row is None else json.loads(row[0])

    def results(self) -> dict[tuple[str, str], SubmissionResult]:
        """What is finished, by the submission's name and digest."""
        rows = self.database.execute("SELECT name, digest, json FROM results")
        return {(name, digest): submission_result(json.loads(text)) for name, digest, text in rows}

    def add(self, digest: str, result: SubmissionResult) -> None:
        """Keeps one result; it is on the disk when this returns. Raises `StoreError`."""
        try:
            self.database.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?)",
                (result.submission, digest, json.dumps(submission_fields(result))),
            )
        except sqlite3.OperationalError as error:
            raise StoreError(_refusal(self.path, error)) from None

    def remove(self) -> None:
        """Deletes the store, once its results are safe elsewhere."""
        self.close()
        self.path.unlink()

    def close(self) -> None:
        """Lets go of the file. What was added stays in it."""
        self.database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _refusal(path: Path, error: sqlite3.OperationalError) -> str:
    if "locked" in str(error):
        return f"Another run is writing to {path}. Wait for it, or name another file."
    return f"{path} cannot be written ({error}). Mend that and run the same command with --resume."
