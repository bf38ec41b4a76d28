"""Lines that do something else than they seem to are reported, and never in right code."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.curriculum import NAMES, stubs
from grader.recognition.python_traps import false_for_zero, misused_self, python_traps

_VARIANTS = Path(__file__).parents[1] / "data" / "variants"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "rows = [[0] * n] * n; rows[0][1] = 2",
            "`[[0] * n] * n` holds the same list several times",
        ),
        ("rows = [[0] * n] * n; return tensor(rows)", ""),
        ("rows = [[0] * n for _ in x]; rows[0][1] = 2", ""),
        ("rows = [0] * n; rows[0] = 2", ""),
        ("self.layers = nn.ModuleList([Layer(n)] * 3)", "`[Layer(n)] * 3` holds the same `Layer`"),
        ("if n == 'relu' or 'gelu': pass", "'gelu' by itself counts as true"),
        ("if n == 'relu' or n == 'gelu': pass", ""),
        ("n = n or 'gelu'", ""),
        ("return x if not self.train else n", "`self.train` is a method"),
        ("return x if not self.training else n", ""),
        ("while not x.all(): pass", ""),
        ("while not x.all: pass", "`x.all` is a method"),
        ("for m in x: n.append(lambda y: m(y))", "`m` in this `lambda` is looked up when"),
        ("for m in x: n.append(lambda y, m=m: m(y))", ""),
        ("for m in x: n = self.step(n, lambda y: m(y))", ""),
        ("return n**-1 / 2", "The exponent of `n` is -1 here, not -1/2"),
        ("return x * n**-3 / 2", "The exponent of `n` is -3 here, not -3/2"),
        ("return x / 2**1 / 2", "The exponent of `2` is 1 here, not 1/2"),
        ("return n ** (-1 / 2) + n**2 / 2", ""),
        ("A.keys = x", "`A.keys` belongs to the class, so all objects of `A` share it."),
        ("type(self).keys += x", "`type(self).keys` belongs to the class"),
        ("self.keys = A.keys", ""),
        ("optimiser.lr = x", "Nothing reads `optimiser.lr`"),
        ("self.lr = x", ""),
        ("if x.size != n.size: pass", "`x.size != n.size` compares two methods"),
        ("if x.size() != n.size(): pass", ""),
        ("return x * (torch.rand_like(x) > self.dropout)", "drops in evaluation as well"),
        ("return F.dropout(x, n)", "`F.dropout(…)` drops in evaluation as well"),
        ("return F.dropout(x, n, self.training)", ""),
        ("return F.dropout(x, n) if self.training else x", ""),
        ("return torch.rand_like(x) > x.cumsum(0)", ""),
    ],
)
def test_a_line_that_looks_otherwise_is_told(body: str, says: str) -> None:
    """A list that is repeated, a condition that always holds, a rate that nothing reads."""
    told = python_traps(f"class A:\n    def f(self, x, n):\n        {body}")
    assert len(told) == bool(says)
    assert says in "".join(sentence for sentence, _ in told)


@pytest.mark.parametrize("exercise", NAMES)
def test_no_right_answer_has_a_trap(exercise: str) -> None:
    """These are a reason to doubt only where they are rare."""
    assert python_traps(stubs.solution(exercise)) == []
    for file in (_VARIANTS / exercise).glob("*.py"):
        assert python_traps(file.read_text(encoding="utf-8")) == [], file.name


def test_a_list_of_the_class_that_init_does_not_replace_is_shared() -> None:
    """It does not help if another method replaces it; one that `__init__` calls does."""
    source = (
        "class Cache:\n"
        "    keys: list = []\n"
        "    def __init__(self):\n"
        "        self.{}\n"
        "    def append(self, key):\n"
        "        self.keys.append(key)\n"
        "    def reorder(self, rows):\n"
        "        self.keys = [key[rows] for key in self.keys]\n"
    )
    [(sentence, line)] = python_traps(source.format("length = 0"))
    assert sentence.startswith("`keys` is created once, for the class")
    assert line == 2
    assert python_traps(source.format("reorder([])")) == []
    assert python_traps(source.format("keys = []")) == []


def test_a_default_that_calls_change_is_shared_by_them() -> None:
    """A list as a default is made once; one that is replaced first, or only read, is not told."""
    source = "def fit(steps, losses={}):\n    {}\n    losses.append(1.0)\n    return losses\n"
    [(sentence, line)] = python_traps(source.format("[]", "pass"))
    assert sentence.startswith("`losses` is created once, when `fit` is defined")
    assert line == 1
    assert python_traps(source.format("[]", "losses = list(losses)")) == []
    assert python_traps(source.format("None", "losses = losses or []")) == []
    assert python_traps("def pad(rows, extra=[]):\n    return [*rows, *extra]\n") == []
    assert python_traps("def fit(*, seen=[]):\n    seen += [1]\n    return seen\n") != []


def test_a_default_that_objects_keep_and_change_is_shared_by_them() -> None:
    source = (
        "class Cache:\n"
        "    def __init__(self, keys=[]):\n"
        "        self.keys = {}\n"
        "    def append(self, key):\n"
        "        self.keys.append(key)\n"
    )
    [(sentence, line)] = python_traps(source.format("keys"))
    assert sentence.startswith("`keys` is created once, when `Cache` is defined")
    assert line == 2
    assert python_traps(source.format("list(keys)")) == []


def test_is_between_values_is_told() -> None:
    """`p is 1` is False for 1.0; `p is None` and `training is False` are as they should be."""
    source = "def drop(x, p):\n    return 0 * x if {} else x\n"
    [(sentence, line)] = python_traps(source.format("p is 1"))
    assert "`p == 1` compares the values" in sentence
    assert line == 2
    assert python_traps(source.format("p is None")) == []
    assert python_traps(source.format("p is not False")) == []


def test_a_condition_that_zero_does_not_meet_is_told_for_an_argument_that_may_be_none() -> None:
    source = "def f(a, pad=None):\n    if a and not self.pad:\n        return pad or 1\n"
    told = false_for_zero(source, "pad")
    assert told == ("As a condition, `pad` is false for 0 as well as for None.", 2)
    assert (
        false_for_zero("def f(pad=None):\n    if pad is not None:\n        pass\n", "pad") is None
    )


@pytest.mark.parametrize(
    ("method", "is_told"),
    [
        ("def forward(x):\n        return self.map(x)", True),
        ("def forward(self, x):\n        return self.map(x)", False),
        ("def forward(this, x):\n        return this.map(x)", False),
        ("@staticmethod\n    def forward(x):\n        return x", False),
        ("def forward(*args):\n        self, x = args\n        return self.map(x)", False),
    ],
)
def test_a_method_that_reads_self_and_does_not_take_it_is_told(method: str, is_told: bool) -> None:
    found = misused_self(f"class A(nn.Module):\n    {method}\n")
    assert [line for _, line in found] == ([2] if is_told else [])


def test_a_condition_that_sets_the_mode_is_told() -> None:
    body = "class A(nn.Module):\n    def forward(self, x):\n        return x if self.{} else -x\n"
    ((message, line),) = misused_self(body.format("train()"))
    assert "`self.train()` sets the mode" in message
    assert line == 3
    assert misused_self(body.format("training")) == []


def test_a_forward_without_gradients_is_told_and_a_generate_without_is_not() -> None:
    """Whoever only writes text needs no graph; whoever trains does."""
    source = "class A:\n    @torch.inference_mode()\n    def {}(self, x):\n        return x\n"
    [(sentence, line)] = python_traps(source.format("forward"))
    assert sentence.startswith("`@torch.inference_mode()` makes `forward` run without a graph")
    assert line == 2
    assert python_traps(source.format("generate")) == []
