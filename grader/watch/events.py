"""What `grader watch` reacts to, one class for each kind of event."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from grader.watch.programs import Message, Program


@dataclass(frozen=True)
class Saved:
    """Files were saved, at this time in seconds since the epoch."""

    paths: list[Path]
    at: float


@dataclass(frozen=True)
class KeyPressed:
    """A key was pressed in the terminal."""

    key: str


@dataclass(frozen=True)
class RunReported:
    """The run of public tests with this number said something, see `runner`."""

    number: int
    message: Message


@dataclass(frozen=True)
class HiddenReported:
    """The program that runs the hidden checks said something, or ended (None)."""

    program: Program
    message: Message | None


Event: TypeAlias = Saved | KeyPressed | RunReported | HiddenReported
