"""The capstone as a process: what is believed of it, Ctrl-C, loops, notebooks, the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.capstone import notebook, report, tasks
from grader.capstone.events import (
    Event,
    Failure,
    ProtocolError,
    Report,
    Trained,
    Translation,
    event_from,
)
from grader.capstone.exam import Progress
from grader.capstone.session import own_process
from grader.capstone.task import Plan
from tests.tools import warm
from tests.tools.capstone_runs import DATES, FEW, right, trial


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        '{"event": "Report"}',
        '{"event": "Report", "step": "1", "seconds": 0, "loss": 0, "rate": 0}',
        '{"event": "Report", "step": true, "seconds": 0, "loss": 0, "rate": 0}',
        '{"event": "Translation", "source": "a", "target": "b", "more": 1}',
    ],
)
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ProtocolError):
        event_from(line)


@pytest.mark.full
def test_a_training_that_is_stopped_keeps_what_it_learnt() -> None:
    noisy = "import os, sys\nprint('{}'); os.write(1, b'{}')\n" + right("training")
    with own_process() as session:
        session.begin(trial({"training": noisy}, steps=0).job)
        first = session.hear()
        assert isinstance(first, Report), first
        session.stop()
        outcome: Event = first
        while isinstance(outcome, Report):
            outcome = session.hear()
        assert isinstance(outcome, Trained), outcome
        assert outcome.stopped
        assert outcome.step < 500
        assert isinstance(session.translate("1 mai 2001"), Translation)


@pytest.mark.full(seconds=8)
def test_a_loop_that_never_ends_is_told_with_its_line() -> None:
    endless = right("training").replace(
        "return tgt[:, :-1]", "while True: pass\n    return tgt[:, :-1]"
    )
    with own_process() as session:
        session.begin(trial({"training": endless}, steps=0).job, seconds=6.0)
        outcome = session.hear()
    assert isinstance(outcome, Failure)
    assert "while True" in outcome.source
    assert "within 6 seconds" in outcome.said


@pytest.mark.full(seconds=3)
def test_code_that_ends_its_process_is_told_so() -> None:
    with own_process() as session:
        session.begin(trial({"masks": "import os\nos._exit(0)"}, steps=0).job)
        outcome = session.hear()
    assert isinstance(outcome, Failure)
    assert "ended its own process" in outcome.said


@pytest.mark.full(seconds=9)
def test_a_notebook_trains_what_its_cells_define(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {"__name__": "cells"}
    for name in ("masks", "training"):
        exec(right(name), namespace)
    rates = []
    real = namespace["noam_rate"]

    def noam_rate(*given: Any) -> float:
        rates.append(given)
        return float(real(*given))

    namespace["noam_rate"] = noam_rate
    translate = notebook.run(namespace, DATES, Plan(60, 1, steps=2, unseen=FEW))
    assert translate is not None
    assert "(it never saw ☃)" in translate("☃")
    assert [step for step, *_ in rates[:2]] == [1, 2]
    output = capsys.readouterr().out
    assert "from the kit: attention, multi_head" in output
    assert "a picture: positions" in output
    del namespace["causal_mask"]
    namespace["teacher_forcing"] = lambda tgt: tgt
    assert notebook.run(namespace, DATES, Plan(60, 1, steps=2, unseen=FEW)) is None
    assert "Look at training" in capsys.readouterr().out


@pytest.mark.full
def test_a_notebook_trains_a_language_model(capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(60, 1, steps=2, unseen=20)
    add = notebook.run({"__name__": "cells"}, tasks.find("sums"), plan)
    assert add is not None
    assert add("345+678").split()[0].isdigit()
    assert "For example" in add("half of seven")
    assert "a picture: exact" in capsys.readouterr().out


# The command `grader`, which translates fewer dates at the end.
QUICKER = f"""
import grader.capstone.date_task
from grader.cli import main
grader.capstone.date_task.UNSEEN = {FEW}
main()
"""


def capstone(*arguments: object, typed: str = "") -> subprocess.CompletedProcess[str]:
    return warm.run("-c", QUICKER, "capstone", *map(str, arguments), typed=typed)


@pytest.mark.full(seconds=10)
def test_the_command_writes_a_result_and_pictures_and_translates_what_is_piped(
    tmp_path: Path,
) -> None:
    (tmp_path / "masks.py").write_text(right("masks"), encoding="utf-8")
    out = tmp_path / "out"
    options = ("--out", out, "--seconds", 1, "--seed", 4)
    done = capstone(tmp_path, *options, typed="1 mai 2001\n")
    assert done.returncode == 0, done.stderr
    assert "1 mai 2001 → " in done.stdout
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["seed"] == 4
    assert result["steps"] == result["history"][-1]["step"]
    assert {"exact_match", "loss", "seconds"} <= set(result)
    assert "masks" not in result["from_the_kit"]
    pictures = {file.name for file in out.glob("*.png")}
    assert {"loss.png", "exact.png", "positions.png", "embedding.png"} <= pictures


@pytest.mark.full(seconds=20)
@pytest.mark.skipif(sys.platform == "win32", reason="pexpect needs a pty")
def test_ctrl_c_ends_the_training_and_then_it_translates_what_is_typed(tmp_path: Path) -> None:
    import pexpect

    from tests.tools.watched import hear_ctrl_c

    (tmp_path / "masks.py").write_text(right("masks"), encoding="utf-8")
    arguments = ["capstone", str(tmp_path), "--out", str(tmp_path / "out"), "--seconds", "900"]
    terminal = pexpect.spawn(
        sys.executable,
        ["-c", QUICKER, *arguments],
        encoding="utf-8",
        timeout=900,
        preexec_fn=hear_ctrl_c,
    )
    terminal.expect("loss")
    terminal.sendintr()
    terminal.expect("stopped early")
    terminal.expect("> ")
    terminal.sendline("21 mai 2003")
    terminal.expect(r"\n[-0-9?]*\r")
    terminal.sendline("")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))["stopped"]


@pytest.mark.full(seconds=4)
def test_the_command_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    nowhere = capstone(tmp_path / "nowhere")
    assert nowhere.returncode == 2
    assert "no such file or folder" in nowhere.stderr
    for name in ("ada", "bela"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "masks.py").write_text(right("masks"), encoding="utf-8")
    two = capstone(tmp_path)
    assert two.returncode == 2
    assert "grader capstone FOLDER" in two.stderr


def test_a_number_that_is_none_is_null_in_the_result() -> None:
    history = [Progress(1, 0.5, float("nan"), 0.1, 0.0)]
    text = report.as_json(Failure("training", "x"), history, [], 1, "process", [])
    assert json.loads(text)["history"][0]["loss"] is None


@pytest.mark.full(seconds=16)
def test_the_command_adds_what_is_piped(tmp_path: Path) -> None:
    (tmp_path / "masks.py").write_text(right("masks"), encoding="utf-8")
    arguments = (tmp_path, "--task", "sums", "--out", tmp_path / "out", "--seconds", 1)
    done = capstone(*arguments, typed="345+678\nhalf of seven\n")
    assert done.returncode == 0, done.stderr
    assert "they are the kit's: attention, rope" in done.stdout
    assert "345+678 → " in done.stdout
    assert "For example: 345+678" in done.stdout
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert result["count"] == 500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "poems"), "dates, sort, sums, prose"),
        (("--temperature", "1"), "--temperature: for --task prose only"),
        (("--task", "prose", "--top-p", "0"), "--top-p is above 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path,
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "masks.py").write_text(right("masks"), encoding="utf-8")
    words = ["grader", "capstone", str(tmp_path), "--out", str(tmp_path / "out"), *arguments]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert message in " ".join(capsys.readouterr().err.split())
