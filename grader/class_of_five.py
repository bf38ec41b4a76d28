"""The made-up class that `grader demo` grades: one way to hand work in after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from grader import curriculum, mistakes, reference, stubs

EXPLAINED = "bela"
_HANGS = '''"""A loop without an end."""


def attention(query, key, value, mask=None, dropout=None):
    while True:
        pass
'''
Sources = dict[str, str]


def introduction() -> str:
    """Who is in the class."""
    return "\n".join(f"{name:<8} {story}" for name, (story, _) in _CLASS.items())


def write(folder: Path) -> None:
    """Writes a folder for each of them, as they would hand it in."""
    for name, (_, change) in _CLASS.items():
        (folder / name).mkdir()
        for exercise, source in change(_right()).items():
            (folder / name / f"{exercise}.py").write_text(source, encoding="utf-8")


def _right() -> Sources:
    return {name: stubs.reference_source(name) for name in curriculum.NAMES}


def _with_mistakes(sources: Sources) -> Sources:
    for exercise, name in (("attention", "scaled-by-d-k"), ("layer_norm", "unbiased-variance")):
        mistake = next(one for one in mistakes.load(exercise) if one.name == name)
        sources[exercise] = mistake.apply(sources[exercise])
    return sources


def _half_done(sources: Sources) -> Sources:
    todo = ("encoder", "decoder", "transformer")
    return sources | {name: stubs.stub(reference.solution(name), name) for name in todo}


def _hanging(sources: Sources) -> Sources:
    return sources | {"attention": _HANGS}


def _broken(sources: Sources) -> Sources:
    return sources | {"masks": sources["masks"].replace("def padding_mask(", "def padding_mask(:")}


_CLASS: Mapping[str, tuple[str, Callable[[Sources], Sources]]] = {
    "ada": ("has everything right", lambda sources: sources),
    "bela": ("divides the scores by d_k and takes an unbiased variance", _with_mistakes),
    "carl": ("has not begun the last three exercises", _half_done),
    "dora": ("wrote a loop that never ends", _hanging),
    "emil": ("handed in a file that is no Python", _broken),
}
