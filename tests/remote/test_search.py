"""What a search over torch found to do an exercise's work is refused there, whatever it is called.

The search itself is `tests/tools/search_torch.py`; what it found, with arguments, is kept in
`tests/data/forbidden/found.json`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import inspect
import json
import os
import types
from collections.abc import Sequence

import pytest
import torch
import torch._decomp.decompositions
import torch._refs.nn.functional

from grader import curriculum
from grader.curriculum.rules import together
from grader.remote.guard import Guard
from tests.tools import search_torch
from tests.tools.search_calls import carry_out, resolve
from tests.tools.search_tasks import Task, is_answer, recall, tasks
from tests.tools.search_torch import FOUND

torch.set_num_threads(1)

KEPT = json.loads(FOUND.read_text(encoding="utf-8"))
EXERCISES = [name for name in KEPT if name != "torch"]
# What does the work and may be used, as the exercises say: products, clamp for a ReLU, indexing.
ALLOWED = {
    "embedding": {
        "torch._decomp.decompositions:get_scale_value",
        "torch._decomp.decompositions:params_hiddens",
    },
    "linear": {
        "aten::inner",
        "torch._numpy._funcs_impl:inner",
        "torch.distributions.lowrank_multivariate_normal:_batch_mv",
    },
    "activations": {
        "aten::clamp_min",
        "aten::clamp_min_",
        "torch._prims:_maximum_aten",
        "torch._refs:maximum",
        "torch.distributions.binomial:_clamp_by_zero",
        "torch.distributions.wishart:_clamp_above_eps",
    },
    "masks": {"torch._numpy._funcs_impl:tri"},
}


def refused(exercise: str, names: Sequence[str]) -> list[str]:
    """Those that still do the exercise's work under its rule, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            given = {name: KEPT[exercise][name] for name in names}
            known = {dtype: tasks(getattr(torch, dtype))[exercise] for dtype, _ in given.values()}
            Guard(together([exercise]))
            works = [name for name, item in given.items() if _works(known[item[0]], name, item[1])]
            os.write(writing, json.dumps(works).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        reply = pipe.read()
    os.waitpid(child, 0)
    left: list[str] = json.loads(reply)
    return left


def _works(task: Task, name: str, described: Sequence[object]) -> bool:
    try:
        return is_answer(task, carry_out(resolve(name), recall(task, described)))
    except BaseException:
        return False


@pytest.mark.full
@pytest.mark.parametrize("exercise", EXERCISES)
def test_all_that_was_found_is_refused(exercise: str) -> None:
    result = KEPT[exercise]
    assert set(refused(exercise, [*result])) == ALLOWED.get(exercise, set()) & result.keys()


@pytest.mark.full
def test_what_was_found_does_the_work_without_a_rule() -> None:
    """Else the test above says nothing."""
    for exercise in EXERCISES:
        for name, (dtype, described) in KEPT[exercise].items():
            torch.manual_seed(1)  # for dropout
            task = tasks(getattr(torch, dtype))[exercise]
            assert _works(task, name, described), (exercise, name)


@pytest.mark.parametrize(
    ("exercise", "name"),
    [
        ("layer_norm", "aten::native_layer_norm"),
        ("attention", "aten::scaled_dot_product_attention"),
        ("linear", "aten::linear"),
        ("embedding", "aten::embedding"),
        ("activations", "aten::tanh"),
        ("dropout", "aten::native_dropout"),
        ("multi_head", "torch.nn.functional:multi_head_attention_forward"),
        ("rope", "torch.onnx.ops:rotary_embedding"),
        ("training", "torch.nn.functional:cross_entropy"),
        ("layer_norm", "torch._decomp:decomposition_table[aten.native_layer_norm.default]"),
    ],
)
def test_the_search_finds_what_the_rules_name(
    exercise: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_torch, "SECONDS", 60)
    task = tasks(torch.float64)[exercise]
    assert name in KEPT[exercise]
    assert [*search_torch.search(task, [name, "aten::sin"])] == [name]


# Those that do not do the work: they end in what is forbidden, and are stopped there, or are
# derivatives, which need its result.
HARMLESS = ("batch_norm", "_backward", "celu", "gru", "lstm", "rnn_", "_addmm_activation")


def test_what_torch_takes_apart_in_python_is_forbidden_too() -> None:
    """A second implementation of a forbidden operator, where its kernels are never asked."""
    modules = [torch._decomp.decompositions, torch._refs, torch._refs.nn.functional]
    left = set()
    for exercise in curriculum.NAMES:
        targets = {item for listed in together([exercise]).values() for item in listed}
        for name in {target.partition("::")[2] for target in targets} - {""}:
            for module in modules:
                function = inspect.unwrap(getattr(module, name, torch.sin))
                home = f"{function.__module__}:{function.__name__}"
                ruled_out = any(fnmatch.fnmatch(home, target) for target in targets)
                if isinstance(function, types.FunctionType) and not ruled_out:
                    left |= set() if any(word in name for word in HARMLESS) else {(exercise, home)}
    assert not left
