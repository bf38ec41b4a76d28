"""What is kept on disk is used only if it is what was written, by this user, for these files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.curriculum.project import SOLUTIONS
from grader.grading.diagnosis import fingerprints
from grader.recognition import cache


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    file = tmp_path / "masks-1f.fingerprints"
    cache.write(file, cache.sealed(b"the library"))
    return file


def test_what_was_written_is_read(kept: Path) -> None:
    assert cache.unsealed(kept) == b"the library"


def linked(file: Path) -> None:
    file.symlink_to(file.rename(file.with_suffix(".moved")))


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut short": lambda file: file.write_bytes(file.read_bytes()[:-3]),
    "one bit": lambda file: file.write_bytes(file.read_bytes()[:-1] + b"\0"),
    "empty": lambda file: file.write_bytes(b""),
    "another's content": lambda file: file.write_bytes(b"junk" * 20),
    "gone": Path.unlink,
    "for all to write": lambda file: file.chmod(0o666),
    "a link": linked,
    "a folder": folder,
    "a pipe": pipe,
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has other owners and no pipes")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_not_used(kept: Path, damage: str) -> None:
    DAMAGES[damage](kept)
    assert cache.unsealed(kept) is None


def test_a_file_that_was_sealed_and_is_no_library_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = cache.file("masks", "fingerprints")
    cache.write(file, cache.sealed(b"sealed by somebody, and no library"))
    made: list[str] = []

    class Made:
        def encoded(self) -> bytes:
            return b"made anew"

    def make(exercise: str) -> Made:
        made.append(exercise)
        return Made()

    monkeypatch.setattr(fingerprints.Library, "make", make)
    fingerprints.load("masks")
    assert made == ["masks"]
    assert cache.unsealed(file) == b"made anew"


def test_every_input_changes_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer, those it builds on, the mistakes, their forms, the kit's code, torch, Python."""
    kit, solutions = tmp_path / "grader", tmp_path / "solutions"
    for room in cache.ROOMS:
        shutil.copytree(cache._KIT / room, kit / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(SOLUTIONS, solutions, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "_KIT", kit)
    monkeypatch.setattr("grader.recognition.cache.SOLUTIONS", solutions)

    def key() -> str:
        cache._kit_digest.cache_clear()
        return cache._version("multi_head")

    seen = {key()}
    forms = sorted((kit / "curriculum" / "mistakes" / "forms" / "multi_head").glob("*.txt"))
    files = [
        solutions / "multi_head.py",
        solutions / "attention.py",
        kit / "curriculum" / "mistakes" / "multi_head.toml",
        *forms[:1],
        *(next((kit / room).rglob("*.py")) for room in cache.ROOMS),
    ]
    for file in files:
        file.write_bytes(file.read_bytes() + b"\n# changed\n")
        assert key() not in seen, file
        seen.add(key())
    monkeypatch.setattr(cache, "version", lambda _: "another")
    assert key() not in seen
    seen.add(key())
    monkeypatch.setattr(sys, "version", "another")
    assert key() not in seen
    cache._kit_digest.cache_clear()
