"""A call that no right answer makes is remarked on, and one that right answers make is not."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import get_args

import pytest

from grader import curriculum
from grader.curriculum import ordinary, stubs
from grader.feedback.finding import Status
from grader.grading.judge import Judge
from grader.grading.ordinary_calls import needs_watching, remarks, unusual
from grader.grading.recording import Recordings
from grader.grading.student_process import StudentProcess
from grader.quality import ordinary as quality
from grader.remote.budget import Budget
from grader.remote.operators import View
from grader.remote.session import Interrupted, StudentError, TorchCall
from grader.sandbox.host import Host
from grader.submission import Submission
from grader.submission.cells import Cell
from grader.submission.notebook import layout
from tests import DATA
from tests.sandbox.test_attacks import ATTACKS, Attack

# Attacks that die where the rule does not stop them, those that call compiled code by address, and
# one whose text a jail withholds: it is in this process's torch, and of ordinary calls.
ENDED = {
    "cffi_native",
    "ctypes_native",
    "function_pointer",
    "reference_of_tests",
    "tensor_expressions",
    "text_of_torchs_tests",
}
BYPASSES = [
    attack
    for attack in ATTACKS
    if attack.name.startswith("delegation-")
    and attack.expect == "loses"
    and attack.name.removeprefix("delegation-") not in ENDED
]
PARTS = 4  # of the right answers to an exercise, to draw from


def is_seen(attack: Attack, host: Host, recordings: Recordings) -> bool:
    """Whether an attack is reported though no rule is enforced: by a remark or an unusual call."""
    exercise, sources = attack.exercise, {attack.exercise: attack.source}
    for view in get_args(View):
        budget = Budget("The answer", 60.0, 20.0)
        with StudentProcess(sources, (), host, budget) as process:
            channel = process.load(exercise)
            channel.watch(exercise, sources, view, ordinary.known(exercise))
            for frame, count in (each for item in recordings.of(exercise) for each in item.frames):
                if process.remarks.get(exercise) or unusual(exercise, channel.seen()):
                    return True
                channel.gather(frame, count)
            if unusual(exercise, channel.seen()):
                return True
    return False


def names(calls: Iterable[TorchCall]) -> set[str]:
    return {call.name for call in calls}


@pytest.mark.full
@pytest.mark.parametrize("attack", BYPASSES, ids=attrgetter("name"))
def test_a_bypass_is_seen_where_its_rule_is_switched_off(
    attack: Attack, host: Host, recordings: Recordings
) -> None:
    assert needs_watching(attack.exercise, [attack.source])
    try:
        assert is_seen(attack, host, recordings)
    except (Interrupted, StudentError):
        return  # it earns nothing then


@pytest.mark.full(seconds=4, share=40)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_the_list_covers_every_right_answer_that_is_known(
    exercise: str, part: int, host: Host, recordings: Recordings
) -> None:
    """In the smallest cases. If it does not, `grader operators` makes it anew, of all cases."""
    smallest = [recording.smallest for recording in recordings.of(exercise)]
    for source in [*quality.right_answers(exercise, DATA)][part::PARTS]:
        calls = quality.calls(exercise, source, smallest, host)
        assert names(unusual(exercise, calls)) == set()


def test_most_answers_need_not_run_once_more() -> None:
    for exercise in ("masks", "attention", "feed_forward", "encoder"):
        assert not needs_watching(exercise, [stubs.solution(exercise)])


@pytest.mark.parametrize(
    "line",
    [
        "y = torch.nn.functional.local_response_norm(x, 3)",
        "y = torch. \\\n  nested.nested_tensor([x])",
        "y = getattr(F, 'soft' + 'max')(x)",
        "from torch.nn import *",
        "y = nn.  # of torch\n  LayerNorm(3)(x)",
        "y = torch.ﬀt.fft(x)",
        "from exercises.masks import helper",
        "from . import masks",
    ],
)
def test_whatever_names_something_unusual_is_watched(line: str) -> None:
    assert needs_watching("layer_norm", [f"import torch\n{line}\n"])


# What other exercises call, or what the text of this one mentions.
ELSEWHERE = {
    "masks": "mask = F.scaled_dot_product_attention(q, q, torch.eye(n), is_causal=True) > 0",
    "linear": "y = F.conv1d(x.mT, self.weight[..., None], self.bias).mT",
    "rope": "y = nn.Transformer(4, 2)",
}


@pytest.mark.parametrize("exercise", ELSEWHERE)
def test_what_only_other_exercises_call_is_watched(exercise: str) -> None:
    assert needs_watching(exercise, [f"import torch\n{ELSEWHERE[exercise]}\n"])


# Ways to a causal mask out of attention.
ATTENDED = (
    "F.scaled_dot_product_attention(q, q, eye, is_causal=True)",
    "torch.ops.aten._scaled_dot_product_attention_math(q, q, eye, is_causal=True)[0]",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, q, eye, 0.0, True)[0]",
)


@pytest.mark.parametrize("call", ATTENDED)
def test_a_mask_that_attention_has_made_has_a_remark(
    call: str, host: Host, recordings: Recordings
) -> None:
    made = f"""{stubs.reference_source("masks")}
import torch.nn.functional as F


def causal_mask(length, device=None):
    q = torch.zeros(1, 1, length, length, device=device)
    eye = torch.eye(length, device=device)[None, None]
    return {call} > 0
"""
    judge = Judge(("masks",), recordings, host)
    (result,) = judge.grade(Submission("eve", {"masks": made})).exercises
    assert any("attention" in remark for remark in result.remarks)


def test_in_a_notebook_what_an_answer_calls_in_other_cells_is_read_too(host: Host) -> None:
    cells = [
        "def seldom(x):\n    return torch.linalg.pinv(x)",
        "shown = torch.linalg.det(torch.ones(2, 2))",
        "class Helper:\n    made = seldom",
        "def padding_mask(ids, pad_id=0):\n    return Helper.made(ids)",
        "def below():\n    return Helper",
    ]
    *above, below = (Cell("code", cell) for cell in cells)
    read = layout([*above, Cell("code", "%%check masks"), below])
    budget = Budget("The submission", 1.0, 1.0)
    process = StudentProcess(read.texts(), ["masks"], host, budget, None, read.payload())
    assert sorted(process.helpers("masks")) == sorted([cells[0], cells[2]])


def test_nothing_that_a_rule_forbids_is_ordinary() -> None:
    for exercise in curriculum.NAMES:
        for name in quality.forbidden_in(exercise):
            assert not ordinary.is_ordinary(name, exercise) or name in _ALLOWED, (exercise, name)


# Forbidden under a condition only.
_ALLOWED = {"aten::cross_entropy_loss"}


def test_right_code_has_no_remark_and_an_unknown_operator_has_one(
    host: Host, recordings: Recordings
) -> None:
    judge = Judge(("softmax",), recordings, host)
    right = stubs.reference_source("softmax")
    odd = right.replace("import torch", "import torch\n_USED = torch.hann_window(4)", 1)
    for source, is_remarked in ((right, False), (odd, True)):
        (result,) = judge.grade(Submission("ada", {"softmax": source})).exercises
        assert result.status is Status.PASSED
        results = [
            remark for remark in result.remarks if "which no known right answer uses" in remark
        ]
        assert bool(results) == is_remarked
        if is_remarked:
            line = odd.split("\n").index("_USED = torch.hann_window(4)") + 1
            assert f"softmax.py, line {line}: calls aten::hann_window" in results[0]


# Ways in which an answer that calls something unusual may try not to be seen.
HIDING = {
    "waits for its tenth call": """
    asked[0] += 1
    if asked[0] > 10:
        torch.hann_window(4)""",
    "keeps what it has found": """
    key = x.double().sum().item(), x.shape, dim
    if x.requires_grad or key not in KEPT:
        torch.hann_window(4)
        KEPT[key] = own(x, dim)
    return KEPT[key]""",
    "fills the list first": "[torch.ones(1) for _ in range(300)]\n    torch.hann_window(4)",
    "is wrong where a profiler runs": """
    if sys.getprofile():
        return x
    torch.hann_window(4)""",
}


@pytest.mark.parametrize("way", HIDING)
def test_a_call_is_seen_however_it_is_hidden(way: str, host: Host, recordings: Recordings) -> None:
    source = f"""{stubs.reference_source("softmax")}
import sys

KEPT = torch.__dict__.setdefault("_kept", {{}})
asked = [0]
own = softmax


def softmax(x, dim=-1):
    {HIDING[way].strip()}
    return own(x, dim)
"""
    (result,) = (
        Judge(("softmax",), recordings, host)
        .grade(Submission("eve", {"softmax": source}))
        .exercises
    )
    assert result.status is Status.PASSED
    assert any("hann_window" in one or "ran once more" in one for one in result.remarks)


@pytest.mark.parametrize(
    "line",
    [
        "import pkgutil; odd = pkgutil.resolve_name('torch:hann' + '_window')",
        "from string import Formatter",
        "import math, timeit",
        "x = 1;import \\\n  codeop",
        "class Named:\n    __match_args__ = ('hann' + '_window',)",
        "hints = typing.get_type_hints(f)",
    ],
)
def test_what_finds_functions_by_texts_is_watched(line: str) -> None:
    assert needs_watching("softmax", [f"import torch\n{line}\n"])


def test_what_right_answers_import_is_ordinary() -> None:
    text = "import math\nfrom dataclasses import dataclass\nimport numpy as np, random\n"
    assert ordinary.is_ordinary_text(f"{text}# from string to float\n__all__ = []\n")


def test_the_same_call_is_told_once_with_how_often() -> None:
    calls = [TorchCall("aten::fft_fft", "exercises/masks.py", 3, times) for times in (2, 5)]
    (remark,) = remarks("masks", calls)
    assert remark == (
        "masks.py, line 3: calls aten::fft_fft, which no known right answer uses (7 times)"
    )


@pytest.mark.parametrize("marks", ["\u0345\u0316", "\u0345" * 5000 + "\u0316" * 5000])
def test_a_text_of_combining_marks_is_read_in_no_time(marks: str) -> None:
    """Put in order all at once, half a million of them would take minutes."""
    text = marks * (500_000 // len(marks))
    assert not needs_watching("attention", [f"# {text}"])
    assert needs_watching("attention", [f"# {text}\n𝘁𝗼𝗿𝗰𝗵.𝗹𝗶𝗻𝗮𝗹𝗴.svd"])
