"""The cells of a notebook file, however damaged it is. Nothing in it is run or believed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from grader.submission import plain_file
from grader.submission.outputs import OutputsError, without_outputs

# Of a file without its outputs. A file that is larger with them is read in a limited process.
MAX_BYTES = 16 << 20
MAX_FILE = 256 << 20
SMALL = 2 << 20
MAX_CELLS = 2000
MAX_CODE = 500_000
MAX_TEXT = 500_000
POINTS = "-points"

Kind = Literal["code", "markdown", "raw"]


_NO_JSON = "the file is damaged: a notebook is JSON, and this is not"


class NotebookError(Exception):
    """A file that is not a notebook. The message tells the student why."""


@dataclass(frozen=True)
class Cell:
    """One cell: its kind, its text, and the `grade_id` that nbgrader gave it, or ""."""

    kind: Kind
    source: str
    grade_id: str = ""
    attachments: dict[str, dict[str, str]] = field(default_factory=dict, compare=False)


def read(path: Path) -> list[Cell]:
    """Return the cells of the notebook at `path`, of format 3 or 4.

    Entries that are not cells are left out. Raises `NotebookError` for an unreadable notebook.
    """
    data = _bytes(path)
    if not data.strip():
        raise NotebookError("the file is empty")
    if len(data) > SMALL:
        try:
            data = without_outputs(data)
        except OutputsError:
            raise NotebookError(_NO_JSON) from None
    if len(data) > MAX_BYTES:
        raise NotebookError(f"it is larger than {MAX_BYTES >> 20} MB without its outputs")
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise NotebookError(_NO_JSON) from None
    return _cells(content)


def _bytes(path: Path) -> bytes:
    try:
        data = plain_file.read(path, MAX_FILE)
    except ValueError as error:
        raise NotebookError(str(error)) from None
    except OSError as error:
        raise NotebookError(f"it could not be opened ({error.strerror})") from None
    if len(data) > MAX_FILE:
        raise NotebookError(f"it is larger than {MAX_FILE >> 20} MB; clear its outputs")
    return data


def _cells(content: Any) -> list[Cell]:
    if not isinstance(content, dict):
        raise NotebookError("the file holds something else than a notebook")
    listed = content.get("cells")
    if listed is None and isinstance(content.get("worksheets"), list):
        sheets = [sheet for sheet in content["worksheets"] if isinstance(sheet, dict)]
        listed = [cell for sheet in sheets for cell in _list(sheet.get("cells"))]
    if not isinstance(listed, list):
        raise NotebookError("the file holds no cells")
    if len(listed) > MAX_CELLS:
        raise NotebookError(
            f"it has {len(listed):,} cells, and more than {MAX_CELLS:,} are not read; delete some"
        )
    cells = [_cell(cell) for cell in listed if isinstance(cell, dict)]
    if sum(len(cell.source) for cell in cells if cell.kind != "code") > MAX_TEXT:
        raise NotebookError(f"its cells hold more than {MAX_TEXT:,} characters of text")
    if sum(len(cell.source) for cell in cells if cell.kind == "code") > MAX_CODE:
        raise NotebookError(f"its cells hold more than {MAX_CODE:,} characters of code")
    return cells


def _cell(content: dict[str, Any]) -> Cell:
    kind: Kind = "raw"
    if content.get("cell_type") in ("code", "markdown"):
        kind = content["cell_type"]
    elif content.get("cell_type") == "heading":
        kind = "markdown"
    source = content.get("source", content.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    metadata = content.get("metadata")
    tag = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = tag.get("grade_id") if isinstance(tag, dict) else None
    return Cell(
        kind,
        _text(source) if isinstance(source, str) else "",
        _text(grade_id) if isinstance(grade_id, str) else "",
        _attachments(content.get("attachments")) if kind == "markdown" else {},
    )


def _text(value: str) -> str:
    """Return the text as it can be stored and shown: lone surrogates and NUL bytes cannot."""
    value = value.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "�")
    return value.encode("utf-8", "replace").decode("utf-8")


def _attachments(value: Any) -> dict[str, dict[str, str]]:
    """Return the pictures that a Markdown cell carries, those of a kind that can hold no script."""
    if not isinstance(value, dict):
        return {}
    pictures = {
        _text(name): {
            kind: data
            for kind, data in bundle.items()
            if kind in ("image/png", "image/jpeg", "image/gif") and isinstance(data, str)
        }
        for name, bundle in value.items()
        if isinstance(name, str) and isinstance(bundle, dict)
    }
    return {name: bundle for name, bundle in pictures.items() if bundle}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
