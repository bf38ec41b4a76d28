"""What is written and drawn of a training: `result.json`, and the pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from grader.capstone.advice import Advice
from grader.capstone.events import Failure, Learnt, Progress, Translation
from grader.capstone.training import LOOK_EVERY

SCHEMA = 1


class Drawing(Protocol):
    """What draws: `grader.pictures`."""

    def heat_map(
        self,
        matrix: Any,
        rows: Sequence[str] = (),
        columns: Sequence[str] = (),
        title: str = "",
        *,
        row_axis: str = "",
        column_axis: str = "",
        limits: tuple[float, float] | None = None,
    ) -> Any:
        """A matrix as shades, with names on its axes."""

    def curves(
        self,
        lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
        title: str = "",
        *,
        x_axis: str = "",
        y_axis: str = "",
    ) -> Any:
        """Lines by name."""

    def positions(self, table: Any, title: str = "") -> Any:
        """A table of positions."""


def as_json(
    outcome: Learnt | Failure,
    history: Sequence[Progress],
    advice: Sequence[Advice],
    seed: int,
    isolation: str,
    from_the_kit: Sequence[str],
) -> str:
    """The whole report. It grows; nothing in it is renamed. A number that is none is null."""
    learnt = isinstance(outcome, Learnt)
    last = history[-1] if history else None
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "status": "learnt" if learnt else "failed",
        "exact_match": outcome.exact if isinstance(outcome, Learnt) else None,
        "loss": outcome.loss if isinstance(outcome, Learnt) else last and last.loss,
        "seconds": outcome.seconds if isinstance(outcome, Learnt) else last and last.seconds,
        "steps": outcome.step if isinstance(outcome, Learnt) else last.step if last else 0,
        "seed": seed,
        "isolation": isolation,
        "from_the_kit": list(from_the_kit),
        "advice": [asdict(one) for one in advice],
        "history": [asdict(one) for one in history],
    }
    if isinstance(outcome, Learnt):
        details = asdict(outcome)
        for name in ("count", "languages", "wrong", "translations", "behaviour", "stopped"):
            told[name] = details[name]
    else:
        told["failure"] = asdict(outcome)
    return json.dumps(_jsonable(told), ensure_ascii=False, indent=1) + "\n"


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _jsonable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def figures(learnt: Learnt, history: Sequence[Progress], draw: Drawing) -> dict[str, Any]:
    """The pictures by file name, drawn by `draw`."""
    steps = [one.step for one in history]
    looks = [one for one in history if one.step % LOOK_EVERY == 0] or list(history[-1:])
    drawn = {
        "loss": draw.curves(
            {"loss": (steps, [one.loss for one in history])},
            "Loss while learning",
            x_axis="step",
            y_axis="label-smoothed loss",
        ),
        "exact": draw.curves(
            {"unseen dates": ([one.step for one in looks], [one.exact for one in looks])},
            "Dates translated without a fault",
            x_axis="step",
            y_axis="share",
        ),
        "positions": draw.positions(learnt.positions, "Your positions"),
    }
    for number, one in enumerate(learnt.translations, 1):
        if one.attention:
            drawn[f"attention-{number}"] = attention(one, draw)
    return drawn


def attention(translation: Translation, draw: Drawing) -> Any:
    """How the last layer looked at the source: a row for each character that was written."""
    rows = list(translation.target)[: len(translation.attention)]
    return draw.heat_map(
        translation.attention,
        rows,
        list(translation.source),
        f"{translation.source} → {translation.target}",
        row_axis="written",
        column_axis="read",
        limits=(0.0, 1.0),
    )


def write(folder: Path, text: str) -> Path:
    """Writes `result.json` into the folder, whole or not at all. Raises OSError."""
    file = folder / "result.json"
    new = folder / "result.json.new"
    new.write_text(text, encoding="utf-8")
    new.replace(file)
    return file
