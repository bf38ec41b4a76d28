"""What IPython remembers of a notebook's cells: `In`, `Out`, `_` and their kin.

Page: https://ipython.readthedocs.io/en/stable/interactive/reference.html#input-caching-system
"""

from __future__ import annotations

import io
import tokenize
from typing import Any

_UNSEEN = {tokenize.COMMENT, tokenize.ENDMARKER, tokenize.NEWLINE, tokenize.NL}
_LAST = ("_", "__", "___")


class History:
    """Keeps these names up to date among the names of a notebook."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.count = 0
        self.inputs = [""]
        self.outputs: dict[int, Any] = {}
        self.last: tuple[Any, ...] = ("", "", "")
        names.update(zip(_LAST, self.last, strict=True))
        names.update(In=self.inputs, _ih=self.inputs, Out=self.outputs, _oh=self.outputs)
        names.update(_i="", _ii="", _iii="", _i00="")

    def begin(self, source: str) -> None:
        """Counts a cell that is about to run."""
        if not source.strip():
            return
        self.count += 1
        self.inputs.append(source)
        older = zip(("_iii", "_ii", "_i"), ("_ii", "_i", "_i00"), strict=True)
        before = {name: self.names.get(other) for name, other in older}
        self.names.update({**before, "_i00": source, f"_i{self.count}": source})

    def shown(self, value: Any, source: str) -> None:
        """Remembers what the last line of a cell gave, unless that shows nothing."""
        if value is None or value is self.outputs or _is_quiet(source):
            return
        # Who gives `_` a meaning of their own keeps it.
        untouched = all(
            self.names.get(name, one) is one for name, one in zip(_LAST, self.last, strict=True)
        )
        self.last = (value, *self.last[:2])
        if untouched:
            self.names.update(zip(_LAST, self.last, strict=True))
        self.names[f"_{self.count}"] = self.outputs[self.count] = value


def _is_quiet(source: str) -> bool:
    """Whether a cell ends with a semicolon, whatever comment follows it."""
    if ";" not in source:
        return False
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    except (SyntaxError, tokenize.TokenError):  # it has a magic in it
        return source.rstrip().endswith(";")
    return next((one.string for one in tokens[::-1] if one.type not in _UNSEEN), "") == ";"
