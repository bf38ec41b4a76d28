"""The file on a training, `result.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.capstone.advice import Advice
from grader.capstone.events import Failure
from grader.capstone.exam import Learnt, Progress
from grader.feedback import files

SCHEMA = 1


def as_json(
    outcome: Learnt | Failure,
    history: Sequence[Progress],
    advice: Sequence[Advice],
    seed: int,
    isolation: str,
    from_the_kit: Sequence[str],
) -> str:
    """Return the whole report. Keys are added, never renamed; NaN is null."""
    learnt = isinstance(outcome, Learnt)
    last = history[-1] if history else None
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "status": "learnt" if learnt else "failed",
        "exact_match": outcome.exact if isinstance(outcome, Learnt) else None,
        "loss": outcome.loss if isinstance(outcome, Learnt) else last and last.loss,
        "seconds": outcome.seconds if isinstance(outcome, Learnt) else last and last.seconds,
        "steps": outcome.step if isinstance(outcome, Learnt) else last.step if last else 0,
        "seed": seed,
        "isolation": isolation,
        "from_the_kit": list(from_the_kit),
        "advice": [asdict(item) for item in advice],
        "history": [asdict(event) for event in history],
    }
    if isinstance(outcome, Learnt):
        details = asdict(outcome)
        for name in (
            *("count", "languages", "wrong", "translations", "behaviour", "stopped"),
            *("reshuffled", "bits", "zlib", "refuted", "notes"),
        ):
            report[name] = details[name]
    else:
        report["failure"] = asdict(outcome)
    return json.dumps(jsonable(report), ensure_ascii=False, indent=1) + "\n"


def jsonable(value: Any) -> Any:
    """Return data as JSON has it: a number that is not finite is null."""
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(folder: Path, text: str) -> Path:
    """Write `result.json` into the folder, whole or not at all. Raises OSError."""
    file = folder / "result.json"
    files.replace(file, text.encode())
    return file
