"""Unpack an untrusted zip or tar archive, within limits, into a folder.

Only Python files, notebooks and, where they are wanted, archives keep their contents. Of any other
file only the name matters, so it is made empty.
"""

from __future__ import annotations

import errno
import gzip
import io
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from grader.submission import names, plain_file

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")
# Archives all the same, which the student or the instructor has to unpack.
UNREADABLE = (".rar", ".7z", ".gz", ".bz2", ".xz", ".zst")

MAX_DEPTH = 12
MAX_NAME = 200  # bytes of one part of a path
MAX_RATIO = 100
SMALL = 10 << 20  # below this unpacked size no archive is a bomb, whatever its ratio
_CHUNK = 1 << 16
# A record of a tar archive's extended header begins so; its length comes first.
_RECORD = re.compile(rb"(\d{1,9}) [^=]{1,200}=")
_LONG_NUMBER = re.compile(rb"\d{64}")

_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    LookupError,
    ArithmeticError,
    NotImplementedError,
    RuntimeError,  # a RecursionError is one too
)


class ArchiveError(Exception):
    """An archive that is not read. The message says why, for the person who submitted it."""


@dataclass(frozen=True)
class Limits:
    """What an archive may hold. `packed` and `unpacked` are bytes; `nested` keeps its archives."""

    packed: int
    unpacked: int
    files: int
    nested: bool


STUDENT = Limits(packed=64 << 20, unpacked=128 << 20, files=5_000, nested=False)
CLASS = Limits(packed=1 << 30, unpacked=2 << 30, files=100_000, nested=True)


def is_archive(name: str) -> bool:
    """Return whether a file of this name is an archive that can be read."""
    return name.lower().endswith(SUFFIXES)


def is_unreadable(name: str) -> bool:
    """Return whether a file of this name is an archive of a kind that is not read."""
    return name.lower().endswith(UNREADABLE) and not is_archive(name)


def unpack(path: Path, folder: Path, limits: Limits) -> None:
    """Unpack the archive at `path` into the empty `folder`. Raises `ArchiveError`.

    Raises `OSError` where the disk is full.
    """
    try:
        data = plain_file.read(path, limits.packed)
    except ValueError as error:
        raise ArchiveError(str(error)) from None
    except OSError as error:
        raise ArchiveError(f"it could not be opened ({error.strerror})") from None
    if len(data) > limits.packed:
        raise ArchiveError(f"it is larger than {limits.packed >> 20} MB")
    budget = _Budget(limits, len(data))
    members = _zip_members if path.name.lower().endswith(".zip") else _tar_members
    try:
        for name, content in members(data, budget):
            _write(folder, name, content, budget)
    except _DAMAGED as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # not the archive's fault
        raise ArchiveError("it is damaged, or not an archive of the kind its name says") from None


class _Budget:
    """What of the limits is used up."""

    def __init__(self, limits: Limits, packed: int) -> None:
        self.limits = limits
        self.files = 0
        self.unpacked = 0
        self.allowed = min(limits.unpacked, max(SMALL, MAX_RATIO * packed))

    def count_file(self) -> None:
        self.files += 1
        if self.files > self.limits.files:
            raise ArchiveError(f"it holds more than {self.limits.files:,} files")

    def count_bytes(self, count: int) -> None:
        self.unpacked += count
        if self.unpacked <= self.allowed:
            return
        if self.allowed == self.limits.unpacked:
            raise ArchiveError(f"it unpacks to more than {self.allowed >> 20} MB")
        raise ArchiveError(f"it unpacks to more than {MAX_RATIO} times its size")


class _Counted(io.RawIOBase):
    """A stream whose every byte counts."""

    def __init__(self, stream: IO[bytes], budget: _Budget) -> None:
        self.stream = stream
        self.budget = budget

    def read(self, size: int = -1, /) -> bytes:
        """Read at most `size` bytes, in steps, so that the limit ends it before the memory."""
        pieces = []
        while size:
            piece = self.stream.read(min(size, _CHUNK) if size > 0 else _CHUNK)
            if not piece:
                break
            self.budget.count_bytes(len(piece))
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(pieces)


Members = Iterator[tuple[str, IO[bytes]]]


def _zip_members(data: bytes, budget: _Budget) -> Members:
    # Every entry of the table of contents begins so: too many are refused before they are parsed.
    if data.count(b"PK\x01\x02") > budget.limits.files:
        raise ArchiveError(f"it holds more than {budget.limits.files:,} files")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            budget.count_file()
            name = member.filename.replace("\\", "/")  # as older tools on Windows write it
            kind = stat.S_IFMT(member.external_attr >> 16)
            _require_plain(name, kind in (0, stat.S_IFREG, stat.S_IFDIR))
            if name.endswith("/"):
                continue
            if member.flag_bits & 1:
                raise ArchiveError("it is protected by a password")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ArchiveError("it is compressed in an unusual way; make an ordinary zip")
            with archive.open(member) as content:
                yield name, _Counted(content, budget)  # type: ignore[misc]


def _tar_members(data: bytes, budget: _Budget) -> Members:
    stream: IO[bytes] = io.BytesIO(data)
    if data.startswith(b"\x1f\x8b"):
        stream = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
    counted = _Counted(stream, budget)
    # As a stream: skipped members are unpacked too, and count.
    with tarfile.open(fileobj=counted, mode="r|", tarinfo=_Member) as archive:
        for member in archive:
            budget.count_file()
            plain = member.isdir() or (member.isreg() and not member.issparse())
            _require_plain(member.name, plain)
            content = None if member.isdir() else archive.extractfile(member)
            if content is not None:
                yield member.name, content


class _Member(tarfile.TarInfo):
    """A member whose extended header is looked at before tarfile reads it.

    Before Python 3.11.10, one can take the square of its length: CVE-2024-6232.
    """

    def _proc_pax(self, archive: Any) -> Any:
        stream = archive.fileobj
        header: bytes = stream.read(self._block(self.size))  # type: ignore[attr-defined]
        if not _is_quickly_read(header):
            raise tarfile.HeaderError

        def read(_size: int) -> bytes:
            archive.fileobj = stream
            return header

        archive.fileobj = SimpleNamespace(read=read)
        return super()._proc_pax(archive)  # type: ignore[misc]


def _is_quickly_read(header: bytes) -> bool:
    position = 0
    while header[position : position + 1].strip(b"\0"):
        record = _RECORD.match(header, position)
        if record is None or int(record[1]) == 0:
            return False
        position += int(record[1])
    return _LONG_NUMBER.search(header) is None


def _require_plain(name: str, plain: bool) -> None:
    if not plain:
        shown = ascii(name)[1:-1][:80]
        raise ArchiveError(f"it holds a link or a device ({shown}); pack the files themselves")


def _write(folder: Path, name: str, content: IO[bytes], budget: _Budget) -> None:
    parts = _parts(name)
    if not parts or not names.BY_PRODUCTS.isdisjoint(parts[:-1]):
        return
    target = folder.joinpath(*parts)
    if target.exists():
        raise ArchiveError(f"it holds {'/'.join(parts)} twice")
    target.parent.mkdir(parents=True, exist_ok=True)
    keep = target.suffix in (".py", ".ipynb") or (budget.limits.nested and is_archive(target.name))
    with target.open("xb") as file:
        while keep and (piece := content.read(_CHUNK)):
            file.write(piece)


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    shown = ascii(name)[1:-1][:80]
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in parts:
        raise ArchiveError(f"it holds a file with a path that leads out of it ({shown})")
    if len(parts) > MAX_DEPTH:
        raise ArchiveError(f"its folders are more than {MAX_DEPTH} deep ({shown})")
    if any("\0" in part or len(part.encode("utf-8", "replace")) > MAX_NAME for part in parts):
        raise ArchiveError(f"it holds a file with a name that cannot be stored ({shown})")
    return parts
