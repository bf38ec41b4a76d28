"""What tests share: workers, a sample of what takes long, a sandbox, recorded checks.

`pytest` runs on every processor, and of the tests marked `full` a tenth, drawn by the commit: see
`tools/lots.py`. `pytest -m full` runs all of those. `-n 0`, `--pdb` and `-s` stay in one process.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests import ROOT
from tests.tools import lots

if TYPE_CHECKING:
    from grader.grading.recording import Recordings
    from grader.sandbox.host import Host
    from tests.tools.command import Grader

# Workers, sandboxes and commands import the same modules, a hundred times in a run: Python compiles
# each once and keeps it, even where the environment says that it should not.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# With it jsonschema, which nbformat uses, takes two seconds to prepare for checks of addresses.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# Of a file a worker runs all tests, since these share what takes long to make. First come the files
# that take longest, so that no worker is left with one of them at the end.
LONGEST = (
    "course/test_course_class.py",
    "sandbox/test_attacks.py",
    "sandbox/test_sandbox.py",
    "capstone/test_capstone_command.py",
    "watch/test_watch.py",
    "cli/test_killed.py",
    "notebook/test_kernel.py",
    "capstone/test_capstone_advice.py",
    "grading/test_diagnosis.py",
    "grading/test_exercise_run.py",
    "course/test_course_lab.py",
    "cli/test_cli.py",
    "board/test_board_run.py",
    "grading/test_cluster.py",
    "board/test_slips.py",
    "checks/test_fairness.py",
    "quality/test_scorecard.py",
    "grading/test_ordinary_calls.py",
    "grading/test_faults.py",
    "grading/test_own_tests.py",
    "capstone/test_capstone_sort.py",
    "cli/test_platform.py",
    "test_pytest_plugin.py",
    "notebook/test_notebook.py",
    "grading/test_lines.py",
    "board/test_show.py",
    "remote/test_forbidden.py",
    "sandbox/test_jail.py",
)
# Of these, every test is long enough to go to any worker.
APART = (
    "quality/test_scorecard.py",
    "grading/test_ordinary_calls.py",
    "grading/test_faults.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Starts workers, unless the command says how many, or that somebody wants to look.

    One more than there are processors, since some tests wait for what they have started.
    """
    option = config.option
    if (
        hasattr(config, "workerinput")  # a worker, which must not start workers of its own
        or not config.pluginmanager.hasplugin("xdist")
        or option.numprocesses is not None
        or option.usepdb
        or option.capture == "no"
        or all("::" in argument for argument in config.args)
    ):
        return
    option.numprocesses = _processors() + 1


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Sends the tests of a file to one worker, so that it makes what they need once."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return nodeid if file.endswith(APART) else file

        def remove_node(self, node: Any) -> str | None:
            """Takes a worker that has ended off the list; the test that it ended in, if any.

            That one is not run again, or it would end the next worker as well.
            """
            ended_in: str | None = None
            for unit in self.assigned_work[node].values():
                for nodeid, completed in unit.items():
                    if not completed and ended_in is None:
                        unit[nodeid] = True
                        ended_in = nodeid
            super().remove_node(node)
            return ended_in

    config.option.loadscopereorder = False  # the order is that of the collection, see below
    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts first what takes longest, and leaves out of what is marked `full` what is not drawn."""
    ranks = {file: rank for rank, file in enumerate(LONGEST)}

    def rank(item: pytest.Item) -> int:
        file = item.path.relative_to(ROOT / "tests").as_posix()
        return ranks.get(file, len(ranks))

    items.sort(key=rank)
    if config.option.markexpr:
        return
    chosen = tuple(argument for argument in config.args if "::" in argument)
    drawn = lots.drawn(items, int(hashlib.sha256(COMMIT.encode()).hexdigest(), 16))
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        runs = not lots.is_full(item) or item.nodeid.startswith(chosen) or lots.lot(item) in drawn
        (kept if runs else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "no commit"
    return done.stdout.strip()


COMMIT = _commit()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says which of the tests marked `full` run."""
    if config.option.markexpr:
        return None
    return (
        f"of the tests marked full one in {lots.SHARE}, drawn by {COMMIT[:9]}; all: pytest -m full"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in one line that the jail was not tested, and why."""
    from tests.tools.jailed import PROBLEMS

    if PROBLEMS:
        terminalreporter.write_line(f"The jail was not tested: {PROBLEMS}")


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """A sandbox that gives each submission a process."""
    from grader.grading.student_process import WITH_NOTEBOOKS
    from grader.sandbox.host import Host

    with Host(WITH_NOTEBOOKS) as host:
        yield host


@pytest.fixture(scope="session")
def recordings() -> Recordings:
    """The recorded checks of every exercise, each recorded when it is asked for."""
    from tests.tools.recorded import RECORDINGS

    return RECORDINGS


@pytest.fixture(scope="session", autouse=True)
def shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What one worker has recorded, the others read: all have folders in one."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        from tests.tools.recorded import RECORDINGS

        RECORDINGS.folder = tmp_path_factory.getbasetemp().parent


@pytest.fixture
def grader(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Grader:
    """The command, in this process and with the shared sandbox."""
    from tests.tools import command

    return command.here(host, monkeypatch, capsys)


@pytest.fixture
def undiagnosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judges name no mistake, where a test asks for something else: that takes long to learn."""
    from grader.grading.judge import Judge

    monkeypatch.setattr(Judge, "_explained", lambda _, result, *__: result)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Torch computes with one thread: repeatable, and a process that had more cannot be forked."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
