"""How long a person works on each exercise, measured by `grader watch` and kept on this machine."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.board.rendering import Line
from grader.curriculum import NAMES, find
from grader.report.data import write

# Seconds between two saves or keys that count at most: longer ones are breaks.
LONGEST_GAP = 600.0


class Times:
    """Active seconds by exercise; `file` keeps them from one start of watch to the next."""

    def __init__(self, file: Path, now: float) -> None:
        """Begin to measure at the time `now`, in seconds."""
        self.file = file
        self.seconds = _read(file)
        self._last = now

    def work(self, exercise: str, now: float) -> None:
        """Count the time since the last call for this exercise, or for none if it is ""."""
        gap, self._last = now - self._last, now
        if exercise:
            self.seconds[exercise] = self.seconds.get(exercise, 0.0) + min(gap, LONGEST_GAP)
            # What cannot be written is only not there next time.
            with contextlib.suppress(OSError):
                self.file.parent.mkdir(parents=True, exist_ok=True)
                write(self.file, json.dumps(self.seconds))


def comparison(seconds: Mapping[str, float]) -> Iterator[Line]:
    """Show the minutes of each exercise beside what the lesson expects."""
    if not seconds:
        yield [("No times have been measured yet.", "")]
        return
    yield [("Your time", "title"), (f"{'you':>14}{'the lesson says':>20}", "quiet")]
    for name in NAMES:
        if name in seconds:
            yield [(f"  {name:<15}", ""), (_minutes(seconds[name] / 60), "title"), _expected(name)]
    whole = sum(seconds.values()) / 60
    yield [(f"  {'together':<15}", ""), (_minutes(whole), "title")]
    yield [
        (f"A gap of more than {LONGEST_GAP / 60:.0f} minutes counts as a break. ", "quiet"),
        ("These numbers stay on your machine.", "quiet"),
    ]


def _expected(name: str) -> tuple[str, str]:
    minutes = find(name).minutes
    return (f"{minutes:>16} min" if minutes else "", "quiet")


def _minutes(minutes: float) -> str:
    return f"{math.ceil(minutes):>4} min"


def _read(file: Path) -> dict[str, float]:
    """Return what a file holds, as far as it can be used."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): max(float(content[name]), 0.0) for name in content if name in NAMES}
    except (OSError, ValueError, TypeError):
        return {}
