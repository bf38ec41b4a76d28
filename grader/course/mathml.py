"""LaTeX as MathML, which every browser shows without a script.

What the converter makes is read again and taken over element by element: only MathML's own elements
and harmless attributes get through, so that no formula can smuggle in anything that runs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree import ElementTree

MAX_LENGTH = 2_000
MAX_ELEMENTS = 2_000
_SPACE = "http://www.w3.org/1998/Math/MathML"
_ELEMENTS = frozenset(
    f"{{{_SPACE}}}{name}"
    for name in (
        "math", "menclose", "merror", "mfenced", "mfrac", "mi", "mmultiscripts", "mn", "mo",
        "mover", "mpadded", "mphantom", "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt",
        "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder",
        "munderover", "none",
    )
)  # fmt: skip
_ATTRIBUTES = frozenset({
    "accent", "accentunder", "close", "columnalign", "columnlines", "columnspacing", "depth",
    "display", "displaystyle", "fence", "form", "height", "largeop", "linebreak", "linethickness",
    "lspace", "mathcolor", "mathsize", "mathvariant", "maxsize", "minsize", "movablelimits",
    "notation", "open", "rowlines", "rowspacing", "rspace", "scriptlevel", "separator",
    "stretchy", "symmetric", "voffset", "width",
})  # fmt: skip
_VALUE = re.compile(r"[\w .%#()\[\]{}|+-]{0,60}")


@lru_cache(maxsize=2048)
def mathml(tex: str, block: bool) -> str | None:
    """Return the formula as MathML, or None where it is too long or cannot be read."""
    if len(tex) > MAX_LENGTH:
        return None
    try:
        from latex2mathml.converter import convert

        made = convert(tex, display="block" if block else "inline")
        tree = ElementTree.fromstring(made)
    except Exception:  # the converter raises whatever its tables raise
        return None
    elements = list(tree.iter())
    if len(elements) > MAX_ELEMENTS or any(element.tag not in _ELEMENTS for element in elements):
        return None
    for element in elements:
        for name, value in list(element.attrib.items()):
            if name not in _ATTRIBUTES or not _VALUE.fullmatch(value):
                del element.attrib[name]
    ElementTree.register_namespace("", _SPACE)
    return ElementTree.tostring(tree, encoding="unicode")
