"""Libraries that are not installed where an answer is graded cost nothing, in files too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.grading.student_process import PROGRAM
from grader.remote.standins import LIBRARIES
from grader.sandbox.host import Host
from grader.submission import Submission

MASKS = """
import torch
def padding_mask(ids, pad_id=0):
    return (ids != pad_id)[:, None, None]
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]
def target_mask(ids, pad_id=0):
    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Host(PROGRAM, "process", expected=("matplotlib",)) as host:
        yield Judge(("masks",), Recordings(7), host)


@pytest.mark.parametrize(
    "imports",
    [
        "from tqdm import tqdm\nassert sum(tqdm(range(4), desc='steps')) == 6",
        "from tqdm.auto import trange\nassert [*trange(2)] == [0, 1]",
        "import wandb\nwandb.init(project='masks')\nwandb.log({'loss': 1.0})",
        "from google.colab import drive\ndrive.mount('/content/drive')",
        "import torchinfo, torchviz.dot\nfrom torchsummary import summary",
        "import matplotlib.pyplot as plt\nfig, axes = plt.subplots(1, 3)\nassert len(axes) == 3",
    ],
    ids=lambda imports: imports.split()[1],
)
def test_an_answer_in_a_file_may_show_what_it_does(judge: Judge, imports: str) -> None:
    (result,) = judge.grade(Submission("ada", {"masks": imports + MASKS})).exercises
    assert result.points == 10, result.finding


@pytest.mark.parametrize("module", ["no_such_library", "matplotlib.no_such_part"])
def test_what_nobody_has_is_missing(judge: Judge, module: str) -> None:
    (result,) = judge.grade(Submission("ada", {"masks": f"import {module}\n{MASKS}"})).exercises
    assert result.points == 0
    assert "ModuleNotFoundError" in result.message


def test_what_is_expected_is_imported_once_for_all(judge: Judge) -> None:
    loaded = "import sys\nassert 'matplotlib.pyplot' in sys.modules\n"
    (result,) = judge.grade(Submission("ada", {"masks": loaded + MASKS})).exercises
    assert result.points == 10, result.finding


def test_an_installed_library_is_itself() -> None:
    """In a process of its own: the finder stays."""
    program = (
        "import sys; from grader.remote.standins import Nothing, StandIns; "
        "sys.meta_path.append(StandIns()); import matplotlib, wandb; "
        "assert not isinstance(matplotlib, Nothing) and isinstance(wandb, Nothing)"
    )
    assert {"matplotlib", "wandb"} <= LIBRARIES
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
