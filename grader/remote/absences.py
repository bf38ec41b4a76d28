"""What a student's code requested but didn't get, because it is absent during grading.

No command is run, and of libraries that are not installed there are only stand-ins. Where something
was made of what they would have given, the student has to hear of it.
"""

from __future__ import annotations

import traceback

from grader.remote.modules import file_of

MOST = 5
# What was absent, and the files and lines being executed, the innermost first.
_told: list[tuple[str, list[tuple[str, int]]]] = []


def tell(message: str) -> None:
    """Record that the running code used something that is absent."""
    if len(_told) < MOST:
        frames = traceback.walk_stack(None)
        _told.append((message, [(file_of(frame), line) for frame, line in frames]))


def take(file: str) -> list[tuple[int, str]]:
    """Return what was recorded since the last `take`, each with the line of this file."""
    recorded = [
        (next((line for name, line in frames if name == file), 1), message)
        for message, frames in _told
    ]
    _told.clear()
    return list(dict.fromkeys(recorded))
