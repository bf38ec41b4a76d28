"""The exam of a model that writes: its bits per character of unseen text.

The model gets the whole text to score. So some tokens, drawn after it has scored them, are asked
again with only the tokens before them: its predictions have to agree, and its probabilities must
not sum to more than one.
"""

from __future__ import annotations

import math
import secrets
import zlib
from collections.abc import Sequence

from grader.capstone.events import Report, Scored, Trained
from grader.capstone.exam import Examinee, Learnt, Progress

WINDOW = 128  # tokens that the model sees at once, no more than in training
STRIDE = 32  # tokens of a window that are scored; the others are their context
SPOT_CHECKS = 64
AGREES = 0.05  # the tolerance between both answers, in nats
SUMS = 0.01  # how far all probabilities may sum to more than one
SAMPLES, SAMPLE = 4, 600  # parts of the text that are scored on the way, and their characters


def context(position: int) -> int:
    """Return where the window begins in which the token at `place` is scored."""
    return max(0, (position // STRIDE + 1) * STRIDE - WINDOW)


def zlib_bits(text: str) -> float:
    """Return the bits that a character of the text costs when zlib compresses it."""
    return 8 * len(zlib.compress(text.encode(), 9)) / len(text)


class ProseExam:
    """The held-out text, and how to judge a model's scores of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        part = max(1, len(text) // SAMPLES)
        starts = range(0, len(text), part)
        self.sample = [text[start : start + min(part, SAMPLE)] for start in starts]

    def progress(self, report: Report, before: Progress | None) -> Progress:
        """Return a report, with the bits of a character of the samples at the last look."""
        bits = before.bits if before else math.nan
        if report.scores:
            bits = _bits(report.scores, "".join(self.sample))
        return Progress(report.step, report.seconds, report.loss, report.rate, bits=bits)

    def hold(self, trained: Trained, examinee: Examinee) -> Learnt:
        """Have the text scored, and check the scores of some of its tokens."""
        scored = examinee.scored(self.text)
        refuted = self._wrong_tokens(scored)
        positions = secrets.SystemRandom().sample(
            range(len(scored.ids)), min(SPOT_CHECKS, len(scored.ids))
        )
        for position in positions:
            refuted = refuted or _wrong_score(scored, position, examinee)
        return Learnt(
            **vars(trained),
            bits=math.nan if refuted else _bits(scored.scores, self.text),
            zlib=zlib_bits(self.text),
            count=len(self.text),
            refuted=refuted,
        )

    def _wrong_tokens(self, scored: Scored) -> str:
        """Return why these are not the tokens of the text, in a sentence; "" if they are."""
        try:
            tokens = [bytes.fromhex(token) for token in scored.vocabulary]
            whole = b"".join(tokens[token] for token in scored.ids)
        except (ValueError, IndexError):
            whole = b""
        if whole != self.text.encode() or len(scored.scores) != len(scored.ids):
            return "The tokens of the unseen text do not decode to that text."
        return ""


def _bits(scores: Sequence[float], text: str) -> float:
    return -sum(scores) / math.log(2) / len(text)


def _wrong_score(scored: Scored, position: int, examinee: Examinee) -> str:
    """Return why a token's score is rejected, in a sentence; "" if it isn't.

    The token is asked again, with only the tokens before it in its window.
    """
    before = scored.ids[context(position) : position]
    expected = examinee.predicted(before).scores
    if len(expected) != len(scored.vocabulary):
        return "It does not give a probability to every token of its vocabulary."
    if math.fsum(map(math.exp, expected)) > 1 + SUMS:
        return "The probabilities of the next token sum to more than one."
    if abs(expected[scored.ids[position]] - scored.scores[position]) > AGREES:
        return (
            "What the model says of a token depends on what comes after it: with the text up to "
            "that token alone, it gives it another probability."
        )
    return ""
