"""Save every finished submission at once, so that a run can be stopped and resumed at any moment.

One SQLite file a run: it commits atomically, survives `kill -9` and a full disk, and its lock
refuses a second run.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from types import TracebackType

from grader.feedback import records
from grader.feedback.results import SubmissionResult, kept_result, submission_fields


class StoreError(Exception):
    """The store cannot be used. The message says why and what to do."""


class Store:
    """The finished submissions of one run. `plan` has to be the same for the run to resume."""

    def __init__(self, path: Path, plan: dict[str, object], resume: bool) -> None:
        if path.exists() and not resume:
            raise StoreError(
                f"{path} holds a run that was not finished. Add --resume to continue it, or "
                "delete the file to start over."
            )
        self.path = path
        try:
            self.database = sqlite3.connect(path, timeout=0.2, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise StoreError(_refusal(path, error)) from None
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
            raise StoreError(_damaged(path, error)) from None
        self.plan: dict[str, object] = plan if row is None else self._plan(row[0])

    def results(self) -> dict[tuple[str, str], SubmissionResult]:
        """Return what is finished, by the submission's name and digest."""
        try:
            rows = self.database.execute("SELECT name, digest, json FROM results")
            return {(name, digest): kept_result(text) for name, digest, text in rows}
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            self.close()
            raise StoreError(_damaged(self.path, error)) from None

    def _plan(self, text: object) -> dict[str, object]:
        """Return the plan of the run that is continued. Raises `StoreError`."""
        try:
            plan = records.loaded(str(text))
            if type(plan) is dict and type(plan.get("seed")) is int:
                return plan
            raise ValueError("it has no plan")
        except ValueError as error:
            self.close()
            raise StoreError(_damaged(self.path, error)) from None

    def add(self, digest: str, result: SubmissionResult) -> None:
        """Keep one result; it is on the disk when this returns. Raises `StoreError`."""
        try:
            self.database.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?)",
                (result.submission, digest, json.dumps(submission_fields(result))),
            )
        except sqlite3.OperationalError as error:
            raise StoreError(_refusal(self.path, error)) from None
        except sqlite3.DatabaseError as error:
            raise StoreError(_damaged(self.path, error)) from None

    def remove(self) -> None:
        """Delete the store, once its results are safe elsewhere."""
        self.close()
        self.path.unlink()

    def close(self) -> None:
        """Close the file. What was added stays in it."""
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


def _damaged(path: Path, error: Exception) -> str:
    return (
        f"{path} is damaged, or no store of results ({str(error)[:200]}). Move it elsewhere, and "
        "run the same command without --resume: what was graded is graded again."
    )


def _refusal(path: Path, error: sqlite3.OperationalError) -> str:
    if "locked" in str(error):
        return f"Another run is writing to {path}. Wait for it, or name another file."
    if "no such column" in str(error):
        return _damaged(path, error)
    return f"{path} cannot be written ({error}). Fix that and run the same command with --resume."
