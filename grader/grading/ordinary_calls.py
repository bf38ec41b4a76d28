"""Remarks on what an answer calls of torch that no right answer that is known calls.

They cost nothing. They are for the instructor: a way around the rules that nobody has thought of
yet shows here.
"""

from __future__ import annotations

import ast
import builtins
import pkgutil
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch

from grader import curriculum
from grader.curriculum import ordinary, stubs
from grader.remote.session import TorchCall

MOST = 6
_PUBLIC = (
    "torch.distributions",
    "torch.linalg",
    "torch.masked",
    "torch.nested",
    "torch.nn",
    "torch.optim",
    "torch.sparse",
    "torch.special",
)
# Torch loads this module at its first use, and with it its compiler, which takes a second.
_UNLOADED = "torch.nn.attention.bias"
_WORD = re.compile(r"\w+")
# What finds functions by names that are made of text, or without any name: these builtins, and what
# is in modules, or under special names, that right answers do not use.
_MAKERS = re.compile(
    r"\b(?:_getframe|attrgetter|get_type_hints|make_dataclass|methodcaller|ForwardRef)\b|"
    r"(?<![.\w])(?:compile|dir|eval|exec|getattr|globals|locals|vars)\b|"
    r"import[\s\\(]*\*|"
    # What is in another file than the stub imports from is not read here.
    r"\bexercises\b|\bfrom[\s\\]*\."
)
_CONTINUED = re.compile(r"\\\r?\n")
_DERIVATIVES = ("_backward_data", "_backward")


def remarks(exercise: str, calls: Iterable[TorchCall]) -> list[str]:
    """Return the remarks on these calls, those that came most often first."""
    times: Counter[tuple[str, str | None, int | None]] = Counter()
    for call in unusual(exercise, calls):
        times[call.name, call.file, call.line] += call.times
    sentences = []
    for (name, file, line), number in times.most_common(MOST):
        often = "once" if number == 1 else f"{number} times"
        where = f"{file.rpartition('/')[2]}, line {line}: " if file else ""
        sentences.append(f"{where}calls {name}, which no known right answer uses ({often})")
    return sentences


def needs_watching(exercise: str, texts: Iterable[str]) -> bool:
    """Return whether an answer may call what is not ordinary, by the words in its texts.

    A call needs a name: one of torch's that does not stand in right answers, or a way to make names
    out of text. Most answers have neither, and need not be run once more to be watched.
    """
    handed_out = _handed_out(exercise)
    own = {exercise, *curriculum.find(exercise).entries}
    for text in texts:
        written = "\n".join(line for line in text.split("\n") if line.strip() not in handed_out)
        written = written if written.isascii() else "".join(map(_as_name, written))
        written = _CONTINUED.sub(" ", written)
        if _MAKERS.search(written) or not ordinary.is_ordinary_text(written):
            return True
        for word in words_of(written):
            if word not in names_of_torch() or ordinary.is_ordinary_word(word, exercise):
                continue
            if word not in own or len(_own(word).findall(written)) < len(
                re.findall(rf"\b{word}\b", written)
            ):
                return True
    return False


@cache
def _as_name(character: str) -> str:
    """Return a character as Python reads it in a name.

    One by one, since a text of combining marks takes time that grows with the square of its length,
    and no two characters that are not ASCII become one that is.
    """
    return unicodedata.normalize("NFKC", character)


@cache
def _own(word: str) -> re.Pattern[str]:
    """Find a word where it cannot be the name of something in a module: not behind a dot."""
    before = r"\b(?:class|def|return|in|is|not|and|or)[ ]+|[(=\[{*:\"'`+\-/<>@][ ]*"
    return re.compile(rf"(?:{before}){word}\b")


def words_of(text: str) -> set[str]:
    """Return the words of a source, as Python reads them."""
    return set(_WORD.findall(text))


@cache
def names_of_torch() -> frozenset[str]:
    """Return the names of what torch has in public: modules, functions, methods, operators."""
    names = {info.name for info in pkgutil.iter_modules(torch.__path__)}
    names |= _defined_in(_UNLOADED)
    names |= {
        part.partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        for part in name.split("::")
    }
    for holder in (torch, torch.Tensor):
        names.update(dir(holder))
    for module, holder in list(sys.modules.items()):
        names.update(module.split(".")[1:] if module.startswith("torch.") else ())
        if module.startswith(_PUBLIC):
            names.update(name for name in vars(holder) if not name.startswith("_"))
            for kind in vars(holder).values():
                if isinstance(kind, type) and kind.__module__ == module:
                    names.update(name for name in vars(kind) if not name.startswith("_"))
    return frozenset(names - set(dir(builtins)))


def _defined_in(module: str) -> set[str]:
    """Return the name of a module, and of each function and class in it, which is not imported."""
    spec = find_spec(module)
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else "")
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {*module.split(".")[1:], *(n.name for n in ast.walk(tree) if isinstance(n, kinds))}


@cache
def _handed_out(exercise: str) -> frozenset[str]:
    """Return the lines of the stub, whose text names what may not be used."""
    return frozenset(line.strip() for line in stubs.as_handed_out(exercise).split("\n"))


def unusual(exercise: str, calls: Iterable[TorchCall]) -> list[TorchCall]:
    """Return the calls that are not ordinary in an exercise. A derivative is as its function is."""
    return [
        call
        for call in calls
        if not ordinary.is_ordinary(call.name, exercise)
        and not ordinary.is_ordinary(_function(call.name), exercise)
    ]


def _function(name: str) -> str:
    for ending in _DERIVATIVES:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name
