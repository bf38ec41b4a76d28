"""Plain letters where a console cannot print what the kit says: ✓ on one that knows cp1252 only."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

NAME = "plain-letters"
# What the kit prints itself. Of other characters the accents go, or they become escapes.
_PLAIN = {
    "✓": "+", "✗": "x", "■": "#", "□": ".", "█": "#", "░": ".", "━": "-", "…": "...", "·": "-",
    "–": "-", "—": "-", "−": "-", "×": "x", "÷": "/", "√": "sqrt", "π": "pi", "θ": "theta",
    "ε": "eps", "Φ": "Phi", "ℓ": "l", "β": "beta", "γ": "gamma", "μ": "mean", "σ": "std",
    "Σ": "sum", "∞": "inf",
    "ᵀ": "^T", "²": "^2", "³": "^3", "₀": "_0", "₁": "_1", "₂": "_2", "ₖ": "_k", "≤": "<=",
    "≥": ">=", "≠": "!=", "≈": "~", "→": "->", "←": "<-", "↦": "->", "∈": "in", "“": '"',
    "”": '"', "‘": "'", "’": "'", "\N{REPLACEMENT CHARACTER}": "?",
}  # fmt: skip


def plain_letters(error: UnicodeError) -> tuple[str, int]:
    """Give what to print instead: a handler of errors, as `codecs.register_error` wants them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter) or _nearest(letter) for letter in part), error.end


def _nearest(character: str) -> str:
    """Return the letter without its accents, or an escape."""
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore")
    return (plain or character.encode("ascii", "backslashreplace")).decode("ascii")


def print_plainly() -> None:
    """Let standard output and error print anything, on a console of any encoding."""
    codecs.register_error(NAME, plain_letters)
    for stream in (sys.stdout, sys.stderr, sys.__stdout__):
        # In a notebook, or under a test's capture, they are something else and take all.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=NAME)
