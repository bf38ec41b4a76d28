"""The structure of a student's code: what stays when names, texts and layout are changed.

Words that a student chooses all count as one, comments and layout as nothing. Of the rest, short
runs are hashed and a few of the hashes kept, as in Schleimer, Wilkerson and Aiken, "Winnowing:
local algorithms for document fingerprinting", SIGMOD 2003: two answers that share a longer run
share a hash. Nothing is parsed, so any text takes time in proportion to its length.
"""

from __future__ import annotations

import keyword
import re
import zlib
from functools import cache
from itertools import accumulate

from grader.curriculum import stubs

RUN = 10  # tokens that are hashed together
WINDOW = 6  # of this many consecutive hashes, one is kept
MAX_KEPT = 400

_KEYWORDS = {word: word for word in keyword.kwlist}
_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
    | (?P<text>[rbfuRBFU]{0,2}(?:
        '{3}(?:\\.|(?!'{3})[^\\])*+(?:'{3}|\Z) | "{3}(?:\\.|(?!"{3})[^\\])*+(?:"{3}|\Z)
        | '(?:\\.|[^'\\\n])*+'? | "(?:\\.|[^"\\\n])*+"?))
    | (?P<attribute>\.\s*[^\W\d]\w*)
    | (?P<word>[^\W\d]\w*)
    | (?P<number>\d[\w.]*)
    | (?P<sign>[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)


def structure(exercise: str, source: str) -> tuple[int, ...]:
    """Return the hashes kept of an answer, in order, without those of the stub."""
    stub = _handed_out(exercise)
    runs = [run for run in _runs(source) if run not in stub]
    marks = {min(runs[start : start + WINDOW]) for start in range(max(len(runs) - WINDOW + 1, 0))}
    return tuple(sorted(marks)[:MAX_KEPT])


def names(source: str) -> frozenset[str]:
    """Return the words of some code that may be variables: none of its texts and comments."""
    return frozenset(match[0] for match in _TOKEN.finditer(source) if match.lastgroup == "word")


def _runs(source: str) -> list[int]:
    words = [f"{token} ".encode() for token in _tokens(source)]
    text = b"".join(words)
    # Where each token begins, and after the last.
    starts = [0, *accumulate(map(len, words))]
    return [
        zlib.crc32(text[start : end - 1]) for start, end in zip(starts, starts[RUN:], strict=False)
    ]


def _tokens(source: str) -> list[str]:
    tokens = []
    for match in _TOKEN.finditer(source):
        kind = match.lastgroup
        if kind == "word":
            tokens.append(_KEYWORDS.get(match[0], "name"))
        elif kind == "text":
            tokens.append("text")
        elif kind != "comment":
            tokens.append(match[0])
    return tokens


@cache
def _handed_out(exercise: str) -> frozenset[int]:
    return frozenset(_runs(stubs.stub(stubs.solution(exercise), exercise)))
