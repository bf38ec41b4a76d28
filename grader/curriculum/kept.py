"""Where the kit keeps what it has made once of its own files, for as long as these are the same.

    file = kept.file("attention", "hints")      # ~/.cache/transformer-by-hand/attention-1f…9.hints

Another version of the answers, the checks, the known mistakes or torch has another name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from grader.curriculum import stubs
from grader.curriculum.exercises import closure

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_KIT = Path(__file__).resolve().parents[1]
# What only the search for a wrong line is made of.
_SEARCH = {"call_edits", "edits", "slips", "source", "statement_edits", "trace"}


def file(exercise: str, kind: str) -> Path:
    """The file of this kind for an exercise, whether it is there or not."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "transformer-by-hand" / f"{exercise}-{_version(exercise)}.{kind}"


def write(path: Path, content: bytes) -> None:
    """Puts the content there at once or not at all; files of earlier versions go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(content)
    Path(part.name).replace(path)
    exercise = path.name.rpartition("-")[0]
    for old in path.parent.glob(f"{exercise}-*{path.suffix}"):
        if old != path:
            old.unlink(missing_ok=True)


@contextmanager
def made_once(path: Path) -> Iterator[None]:
    """Lets one process at a time make this file; the others wait, and then find it there."""
    locked = path.with_name(f"{path.name}.lock")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(locked.open("wb"))
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                locked.unlink(missing_ok=True)


def _version(exercise: str) -> str:
    """What is kept is made of answers, checks, known mistakes and torch."""
    known = _KIT / "curriculum" / "mistakes"
    files = [
        *(stubs.SOLUTIONS / f"{name}.py" for name in (exercise, *closure(exercise))),
        *sorted((_KIT / "checks").rglob("*.py")),
        *sorted(one for one in (_KIT / "remote").glob("*.py") if one.stem not in _SEARCH),
        *(_KIT / "judging" / f"{name}.py" for name in ("fingerprints", "recording")),
        *(_KIT / "judging" / f"{name}.py" for name in ("hints", "own_words")),
        *(_KIT / "feedback" / f"{name}.py" for name in ("likeness", "normal_form", "prints")),
        known / f"{exercise}.toml",
        *sorted((known / "forms" / exercise).glob("*.txt")),
    ]
    digest = hashlib.sha256(version("torch").encode())
    for one in files:
        digest.update(hashlib.sha256(one.read_bytes()).digest())
    return digest.hexdigest()[:16]
