"""Pictures of what a student's code computes for an exercise, and what is wrong in words.

The code runs in a process of its own (`show`), or where a notebook's names are (`drawn`).
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from torch import Tensor

from grader.board.failure import failure
from grader.board.time_limit import TookTooLong, time_limit
from grader.board.workspace import PublicTest, Workspace
from grader.feedback.comparison import assert_matches, assert_parts
from grader.feedback.mismatch import Mismatch
from grader.feedback.tensors import as_tensor
from grader.pictures import gallery, image
from grader.pictures.panels import Answers, Panel
from grader.pictures.side_by_side import Shown, side_by_side
from grader.sandbox import program

# Seconds on the clock for the whole of it, `import torch` on a busy machine included. Endless loops
# in Python are noticed much sooner; this is for calls into C that do not come back.
LIMIT = 180.0
_PACKAGE = "exercises"


@dataclass(frozen=True)
class Told:
    """The text for one panel: its title, and what is wrong with it; "" for nothing."""

    title: str
    words: str


class NotDrawnError(Exception):
    """The student's code left nothing to draw. The message says why."""


def show(exercise: str, folder: Path, file: Path, seen_from: Path) -> list[Told]:
    """Draw the code of an exercise in `folder` into `file`, a PNG or SVG by its ending.

    It runs in a separate process with a time limit, on every system. Paths in the
    result are relative to `seen_from`. Raises `NotDrawnError`, and OSError where no process can be
    made.
    """
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch) / "result.json"
        paths = [str(path.resolve()) for path in (folder, file, seen_from, result)]
        try:
            ended = program.run("grader.board.showing", exercise, *paths, seconds=LIMIT)
        except subprocess.TimeoutExpired:
            raise NotDrawnError(
                f"Your code didn't finish within {LIMIT:.0f} seconds and was stopped. "
                "Is there an infinite loop?"
            ) from None
        if not result.exists():
            raise NotDrawnError(_ended(ended))
        saved = json.loads(result.read_text(encoding="utf-8"))
    if "error" in saved:
        raise NotDrawnError(saved["error"])
    return [Told(**panel) for panel in saved["panels"]]


def of_names(names: Mapping[str, Any]) -> Answers:
    """Return the names of a notebook as the modules that its cells would be."""
    return lambda _: SimpleNamespace(**names)


def drawn(
    exercise: str, answers: Answers, workspace: Workspace, ending: str = ".png"
) -> tuple[bytes, list[Told]]:
    """Return the picture of an exercise as a file with this suffix, and the text for each panel."""
    shown = _shown(exercise, answers, workspace)
    picture = image(side_by_side(exercise, shown), ending)
    return picture, [Told(panel.panel.title, panel.words) for panel in shown]


def told(exercise: str, answers: Answers, workspace: Workspace) -> list[Told]:
    """Return the same without a picture."""
    return [Told(panel.panel.title, panel.words) for panel in _shown(exercise, answers, workspace)]


def sentences(exercise: str, told: list[Told]) -> list[str]:
    """Return the texts line by line; what several panels share is said once."""
    right = sum(not panel.words for panel in told)
    panels = "panel is" if len(told) == 1 else "panels are"
    lines = [f"{exercise}: {right} of {len(told)} {panels} as expected."]
    titles: dict[str, list[str]] = {}
    for panel in told:
        if panel.words:
            titles.setdefault(panel.words, []).append(panel.title)
    for words, noted in titles.items():
        lines += ["", *noted, *(f"  {line}".rstrip() for line in words.splitlines())]
    return lines


def _ended(process: subprocess.CompletedProcess[str]) -> str:
    words = f"Python ended while your code ran, with the exit status {process.returncode}. "
    last = process.stderr.strip().rpartition("\n")[2]
    return words + (f"Its last output: {last}" if last else "Does your code call `os._exit`?")


def _shown(exercise: str, answers: Answers, workspace: Workspace) -> list[Shown]:
    panels = zip(gallery.PANELS[exercise], gallery.expected(exercise), strict=True)
    return [_one(panel, right, exercise, answers, workspace) for panel, right in panels]


def _one(
    panel: Panel, expected: Tensor, exercise: str, answers: Answers, workspace: Workspace
) -> Shown:
    drawn_tensor: Tensor | None = None
    try:
        with (
            redirect_stdout(StringIO()),
            redirect_stderr(StringIO()),
            warnings.catch_warnings(),
            time_limit(),
        ):
            warnings.simplefilter("ignore")
            result = gallery.computed(panel, answers)
        if panel.parts:
            assert_parts(result, panel.parts, exercise)
            result = result[panel.part]
        tensor = as_tensor(result, panel.what, "")
        if tensor.shape == expected.shape and not tensor.is_complex():
            drawn_tensor = tensor
        assert_matches(
            tensor,
            expected,
            panel.what,
            rtol=None if panel.tolerance is None else 0.0,
            atol=panel.tolerance,
        )
    except (Exception, SystemExit, TookTooLong) as error:
        return Shown(panel, expected, drawn_tensor, _words(error, panel, exercise, workspace))
    return Shown(panel, expected, drawn_tensor)


def _words(error: BaseException, panel: Panel, exercise: str, workspace: Workspace) -> str:
    """Return what is wrong, in the words of the board; the picture shows the numbers."""
    if isinstance(error, Mismatch):
        finding = error.finding
        return "\n".join(filter(None, (finding.headline, finding.help)))
    result = failure(error, exercise, PublicTest(panel.what, panel.title, 0, ()), workspace)
    return result.text()


def _of_folder(folder: Path) -> Answers:
    """Return a folder's files as the modules that they call themselves, whatever its name."""
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(folder)]
    sys.modules[_PACKAGE] = package
    return lambda exercise: importlib.import_module(f"{_PACKAGE}.{exercise}")


def main(exercise: str, folder: str, file: str, seen_from: str, result: str) -> None:
    """Draw what `show` asks for, and write what it shows as JSON into the file `result`."""
    workspace = Workspace(Path(folder), Path(seen_from))
    shown: dict[str, Any]
    try:
        target = Path(file)
        picture, panels = drawn(
            exercise, _of_folder(workspace.folder), workspace, target.suffix.lower()
        )
        target.write_bytes(picture)
        shown = {"panels": [asdict(panel) for panel in panels]}
    except OSError as error:
        shown = {"error": f"{file} cannot be written ({error.strerror}). Name another with --out."}
    Path(result).write_text(json.dumps(shown), encoding="utf-8")
