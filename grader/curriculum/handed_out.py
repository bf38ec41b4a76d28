"""The form in which an exercise is provided that others need and that is not assigned.

Most are handed out as their solution. The encoder and the decoder are so alike that either shows
how the other is written. They are handed out in another form: torch's own layers, fed from
parameters that have the contract's names.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent / "given"
SHARED = "wrapped"


def source(name: str) -> str | None:
    """Return the module in its other form, as text that stands alone; None if it has none."""
    path = HERE / f"{name}.py"
    if not path.is_file():
        return None
    shared = (HERE / f"{SHARED}.py").read_text(encoding="utf-8")
    own = path.read_text(encoding="utf-8")
    _, _, own = own.partition("# The rest stands alone, below what the other file holds.\n")
    return f"{shared.rstrip()}\n{own}"
