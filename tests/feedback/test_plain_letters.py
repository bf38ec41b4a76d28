"""A console that cannot print a check mark gets plain letters, and no command ends over it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.feedback.plain_letters import print_plainly
from grader.feedback.results import Report
from grader.report.data import write_json
from grader.report.terminal import Terminal
from tests import ROOT
from tests.report.test_store import RESULT
from tests.tools.copies import copied

WORDS = "✓ ✗ … √ ² · é ■ 日 \udcff"


@pytest.mark.parametrize(
    ("encoding", "printed"),
    [
        ("utf-8", "✓ ✗ … √ ² · é ■ 日 \\udcff"),
        ("cp1252", "+ x … sqrt ² · é # \\u65e5 \\udcff"),
        ("ascii", "+ x ... sqrt ^2 - e # \\u65e5 \\udcff"),
    ],
)
def test_what_a_console_cannot_print_becomes_plain_letters(
    monkeypatch: pytest.MonkeyPatch, encoding: str, printed: str
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    print_plainly()
    Terminal().say(WORDS)
    sys.stdout.flush()
    assert written.getvalue().decode(encoding).rstrip() == printed


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[bytes]:
    """A command in a console of Windows."""
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )


@pytest.mark.full
def test_a_report_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "grades.json"
    write_json(Report(7, "jail", (RESULT,)), file)
    done = run(ROOT, "grader", "report", file, "--html", tmp_path / "✓ pages")
    assert done.returncode == 0, done.stderr
    assert b"+ pages" in done.stdout


@pytest.mark.full
def test_the_board_is_printed(tmp_path: Path) -> None:
    copied(tmp_path, "exercises")
    file = tmp_path / "exercises" / "masks.py"
    stub = file.read_text(encoding="utf-8")
    file.write_text(
        f"{stub}\n\ndef causal_mask(*_):\n    raise KeyError('✓ √')\n", encoding="utf-8"
    )
    done = run(tmp_path, "pytest", "exercises/test_masks.py", "-p", "no:cacheprovider")
    assert b"+ sqrt" in done.stdout, done.stdout + done.stderr
