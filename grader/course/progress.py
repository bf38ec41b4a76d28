"""A bar for nbgrader's long commands, in place of a line for each thing it does.

It is shown in a terminal, and not where somebody asked nbgrader for more words with --debug.
Warnings and errors are written above it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def show_progress(converter: Any, does: str) -> None:
    """Make this converter of nbgrader's, which is about to start, show its progress.

    `does` says what it does with a submission: "grading".
    """
    convert = converter.convert_notebooks

    def converted() -> None:
        with _bar(converter, does):
            convert()

    converter.convert_notebooks = converted


@contextmanager
def _bar(converter: Any, does: str) -> Iterator[None]:
    console = Console(stderr=True)
    if not console.is_terminal or converter.log.getEffectiveLevel() < logging.INFO:
        yield
        return
    columns = (TextColumn(does), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    begin = converter.init_destination
    with Progress(*columns, console=console, transient=True) as progress, _quiet(converter.log):
        task = progress.add_task(does, total=len(converter.assignments))
        begun = iter(range(len(converter.assignments)))

        def counted(assignment: str, student: str) -> bool:
            progress.update(task, completed=next(begun, 0))
            answer: bool = begin(assignment, student)
            return answer

        converter.init_destination = counted
        try:
            yield
        finally:
            converter.init_destination = begin


@contextmanager
def _quiet(log: logging.Logger | logging.LoggerAdapter[Any]) -> Iterator[None]:
    """Warnings only, and they do not break the bar."""
    logger = log.logger if isinstance(log, logging.LoggerAdapter) else log
    handlers = [
        handler for handler in logger.handlers if isinstance(handler, logging.StreamHandler)
    ]
    streams, level = [handler.stream for handler in handlers], logger.level
    logger.setLevel(logging.WARNING)
    for handler in handlers:
        handler.setStream(sys.stderr)  # which the bar has taken hold of
    try:
        yield
    finally:
        logger.setLevel(level)
        for changed, stream in zip(handlers, streams, strict=True):
            changed.setStream(stream)
