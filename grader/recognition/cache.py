"""The user's cache of what is computed from the kit's files.

    file = cache.file("attention", "hints")      # ~/.cache/transformer-by-hand/attention-1f…9.hints

The file name depends on the version of the answers, the checks, the known mistakes and torch.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from grader.curriculum.exercises import closure
from grader.curriculum.project import SOLUTIONS

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_KIT = Path(__file__).resolve().parents[1]
_DIGEST = hashlib.sha256().digest_size
# The rooms whose code decides what a fingerprint is.
ROOMS = ("checks", "curriculum", "feedback", "grading", "recognition", "remote")


def file(exercise: str, kind: str) -> Path:
    """Return the file of this kind for an exercise, whether it is there or not."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "transformer-by-hand" / f"{exercise}-{_version(exercise)}.{kind}"


def write(path: Path, content: bytes) -> None:
    """Write the content atomically, and remove files of earlier versions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        try:
            part.write(content)
            part.flush()
        except OSError:  # a full disk, say
            Path(part.name).unlink(missing_ok=True)
            raise
    Path(part.name).replace(path)
    exercise = path.name.rpartition("-")[0]
    for old in path.parent.glob(f"{exercise}-*{path.suffix}"):
        if old != path:
            old.unlink(missing_ok=True)


def sealed(content: bytes) -> bytes:
    """Return the content with its digest in front, as `unsealed` expects it."""
    return hashlib.sha256(content).digest() + content


def unsealed(path: Path) -> bytes | None:
    """Return the content of a sealed file, None if it is missing or can't be trusted.

    It has to be unchanged, and a plain file of this user that nobody else can write.
    """
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return None
        owner = getattr(os, "getuid", lambda: status.st_uid)()
        if status.st_uid != owner or (os.name == "posix" and status.st_mode & 0o022):
            return None
        data = path.read_bytes()
    except OSError:
        return None
    digest, content = data[:_DIGEST], data[_DIGEST:]
    return content if hashlib.sha256(content).digest() == digest else None


@contextmanager
def made_once(path: Path) -> Iterator[None]:
    """Let one process at a time make this file; the others wait and then find it made."""
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
    """Return a digest of all that fingerprints depend on: whole rooms, the answers and torch.

    A list of modules would go out of date unnoticed, so every file of these rooms counts.
    """
    solutions = [SOLUTIONS / f"{name}.py" for name in (exercise, *closure(exercise))]
    digest = hashlib.sha256(_kit_digest().encode())
    for path in solutions:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    for path in mistake_files(exercise):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def mistake_files(exercise: str) -> list[Path]:
    """Return the files that hold the known mistakes of an exercise."""
    known = _KIT / "curriculum" / "mistakes"
    return [known / f"{exercise}.toml", *sorted((known / "forms" / exercise).glob("*.txt"))]


@functools.cache
def _kit_digest() -> str:
    """Return a digest of the Python files of `ROOMS`, by name and content, of torch and Python."""
    digest = hashlib.sha256(f"{version('torch')} {sys.version}\n".encode())
    for path in sorted(path for room in ROOMS for path in (_KIT / room).rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(_KIT).as_posix()} {content}\n".encode())
    return digest.hexdigest()
