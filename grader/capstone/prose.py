"""The data of the task `prose`: the language reference that comes with every Python.

`pydoc` shows these texts as help. They differ a little from one version of Python to the next.
"""

from __future__ import annotations

import importlib

HELD_OUT = 20  # the last one of this many parts
TELLING = 25  # characters: a longer line doesn't occur twice by chance


class NoProseError(Exception):
    """This Python comes without the text. The message says what to do."""


def whole() -> str:
    """Return all topics in alphabetical order. Raises `NoProseError` where there are none."""
    try:
        topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    except ImportError:
        raise NoProseError(
            "This Python has no pydoc_data.topics to learn from; the Python of python.org and of "
            "uv has. Use another Python, or another task: grader capstone --task sums"
        ) from None
    return "\n\n".join(topics[name] for name in sorted(topics))


def parts(text: str) -> tuple[str, str]:
    """Return the text to learn from, and the last part, which is held out.

    Python's reference repeats itself. So paragraphs that share a line with the held-out part are
    left out of the text to learn from.
    """
    cut = len(text) - len(text) // HELD_OUT
    held_out = text[cut:]
    known = set(_telling(held_out))
    paragraphs = text[:cut].split("\n\n")
    kept = [paragraph for paragraph in paragraphs if known.isdisjoint(_telling(paragraph))]
    return "\n\n".join(kept), held_out


def _telling(text: str) -> list[str]:
    """Return the stripped lines of a text that are long enough to be recognised."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if len(line) >= TELLING]
