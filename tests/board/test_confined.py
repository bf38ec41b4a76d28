"""Edited copies of a student's code do nothing on the student's machine that the code does not.

An inverted condition could make one delete a file, a wrong number fill the memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.board.confined import limited_memory, watched
from grader.board.search import Runs
from grader.board.workspace import Workspace
from grader.curriculum import stubs
from grader.edits.source import Answer
from tests.tools.copies import copied

_FILE = "<a copy>"
_HELPERS = """
import pathlib
def note(line):
    with open("notes.txt", "a") as notes:
        notes.write(line)
def forget():
    pathlib.Path("precious.txt").unlink()
"""
_DOES = {
    "removes a file": "import os\nos.remove('precious.txt')",
    "removes a file by a helper": "forget()",
    "writes a file": "open('precious.txt', 'w')",
    "starts a program": "import subprocess\nsubprocess.run(['true'])",
    "asks for input": "input()",
}


@pytest.fixture
def helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    Path("precious.txt").write_text("all my work")
    names: dict[str, Any] = {}
    exec(compile(_HELPERS, "helpers.py", "exec"), names)
    return names


@pytest.mark.parametrize("does", _DOES)
def test_what_reaches_out_of_the_process_is_refused(does: str, helpers: dict[str, Any]) -> None:
    with pytest.raises(PermissionError), watched(_FILE, may=False) as watch:
        exec(compile(_DOES[does], _FILE, "exec"), helpers)
    assert watch.out
    assert Path("precious.txt").read_text() == "all my work"


def test_what_others_do_meanwhile_is_not(helpers: dict[str, Any]) -> None:
    with watched(_FILE, may=False) as watch:
        exec(compile("assert open('precious.txt').read()", _FILE, "exec"), {})
        helpers["note"]("the kit's own")
    assert not watch.out
    exec(compile("forget()", _FILE, "exec"), helpers)
    assert not Path("precious.txt").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits memory")
def test_memory_is_limited_while_copies_run() -> None:
    threads = torch.get_num_threads()
    with limited_memory(1 << 28), pytest.raises(RuntimeError, match="memory"):
        torch.empty(1 << 28)
    assert torch.empty(1 << 28).numel()
    assert torch.get_num_threads() == threads


@pytest.fixture
def runs(
    tmp_path: Path, helpers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Runs]]:
    """Run the public tests of masks on an answer that shows the future, with a line added."""
    del helpers
    folder = copied(tmp_path, "exercises") / "exercises"
    (folder / "helpers.py").write_text(_HELPERS)
    kept = {name: sys.modules.pop(name) for name in [*sys.modules] if _is_of_exercises(name)}
    monkeypatch.syspath_prepend(str(folder.parent))

    def run(line: str) -> Runs:
        right = stubs.reference_source("masks")
        was = (
            "    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()\n"
        )
        assert was in right
        wrong = right.replace(was, f"    {line}\n{was.replace('tril', 'triu')}")
        source = f"from exercises.helpers import forget, note\n{wrong}"
        (folder / "masks.py").write_text(source.replace("from solutions.", "from exercises."))
        return Runs(Workspace(folder, tmp_path), "masks")

    yield run
    for name in [name for name in sys.modules if _is_of_exercises(name)]:
        del sys.modules[name]
    sys.modules.update(kept)


def _is_of_exercises(name: str) -> bool:
    return name.split(".")[0] == "exercises"


def test_no_edit_removes_a_file_that_the_code_itself_keeps(runs: Callable[[str], Runs]) -> None:
    found = runs("if length > 1000: forget()").search(["test_the_future_is_hidden"])
    assert found is not None
    assert "all tests pass" in found.told
    assert Path("precious.txt").exists()


def test_nothing_is_tried_on_code_that_writes_files_through_a_helper(
    runs: Callable[[str], Runs],
) -> None:
    tested = runs("note('called\\n')")
    noted = Path("notes.txt").read_text()
    assert noted
    assert tested.search(["test_the_future_is_hidden"]) is None
    assert Path("notes.txt").read_text() == noted


def test_settings_of_torch_are_restored(runs: Callable[[str], Runs]) -> None:
    line = "before = torch.get_default_dtype(); torch.set_default_dtype(torch.float64); "
    runs(f"{line}torch.ones(length)[length:].sum(0); torch.set_default_dtype(before)").search(
        ["test_the_future_is_hidden"]
    )
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(
    "line", ["torch.save(torch.ones(1), 'x.pt')", "from threading import Thread"]
)
def test_code_that_saves_tensors_or_has_threads_has_no_edits(line: str) -> None:
    assert not Answer({"masks": f"import torch\n{line}\n"}).sources
