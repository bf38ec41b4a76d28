"""Tests of the instructor's own run in the jail, after the cells, and are not easily forged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.grading import own_tests
from grader.grading.own_tests import Outcome, OwnTest
from grader.grading.student_process import WITH_OWN_TESTS
from grader.remote.channel import Times
from grader.sandbox.host import Host
from tests.tools.jailed import PROBLEMS

RELEASED = ("import math\nimport torch\nimport numpy as np", "def square(x):\n    return x")
RIGHT = "def square(x):\n    return x * x"


@pytest.fixture(scope="module")
def jail() -> Iterator[Host]:
    with Host(WITH_OWN_TESTS, "process" if PROBLEMS else "jail") as made:
        yield made


def outcome(jail: Host, test: str, *cells: str, worth: float = 3.0) -> Outcome:
    sources = (RELEASED[0], *cells, None)
    tests = [OwnTest("mine", test, len(cells) + 1, worth)]
    times = Times(call=2.0, cell=2.0)
    return own_tests.run(sources, tests, RELEASED, jail, times)["mine"]


def test_a_right_answer_gets_the_points_and_a_wrong_one_the_reason(jail: Host) -> None:
    test = "assert square(3) == 9, 'of 3'\nassert square(torch.ones(2)).sum() == 2"
    assert outcome(jail, test, RIGHT) == Outcome(3.0)
    assert outcome(jail, test, RELEASED[1]) == Outcome(0.0, "AssertionError: of 3")


@pytest.mark.full
@pytest.mark.parametrize(
    ("line", "points"),
    [("1.5", 1.5), ("99", 3.0), ("-2", 0.0), ("float('nan')", 0.0), ("square", 3.0), ("True", 3.0)],
)
def test_a_number_on_the_last_line_is_the_points(jail: Host, line: str, points: float) -> None:
    assert outcome(jail, f"x = square(2)\n{line}", RIGHT).points == points


@pytest.mark.full(seconds=3)
def test_what_is_not_python_alone_runs_as_in_a_kernel(jail: Host) -> None:
    test = (
        "%timeit -n1 -r1 square(2)\nimport asyncio\nawait asyncio.sleep(0)\nassert square(2) == 4"
    )
    assert outcome(jail, test, RIGHT) == Outcome(3.0)


@pytest.mark.full(seconds=3)
def test_a_test_may_take_names_away_from_the_students_functions(jail: Host) -> None:
    """As nbgrader's own guide does, to see that one function calls another."""
    test = """
kept = square
del square
try:
    fourth(2)
except NameError:
    pass
else:
    raise AssertionError("fourth does not call square")
finally:
    square = kept
"""
    assert outcome(jail, test, RIGHT, "def fourth(x):\n    return square(square(x))").points == 3
    assert outcome(jail, test, RIGHT, "def fourth(x):\n    return x ** 4").points == 0


def test_later_cells_see_what_a_test_defined(jail: Host) -> None:
    cells = (*RELEASED, None, "other = helper(3)", None)
    tests = [
        OwnTest("first", "def helper(x):\n    return x + 1", 2, 1),
        OwnTest("second", "assert other == 4", 4, 1),
    ]
    result = own_tests.run(cells, tests, RELEASED, jail)
    assert result == {"first": Outcome(1.0), "second": Outcome(1.0)}


FORGED = {
    "a builtin": "import builtins\nbuiltins.abs = lambda x: 0\nbuiltins.all = lambda x: True",
    "a name that hides a builtin": "abs = lambda x: 0\nisinstance = lambda *a: True",
    "the builtins of the notebook": "__builtins__ = {'abs': lambda x: 0}",
    "a function of torch": "torch.allclose = lambda *a, **k: True\ntorch.equal = lambda *a: True",
    "an import of the notebook": "class Torch:\n    def __getattr__(self, name):\n"
    "        return lambda *a, **k: True\ntorch = Torch()",
    "code of a function": "torch.testing.assert_close.__code__ = (lambda *a, **k: None).__code__",
    "a method of tensors": "torch.Tensor.__eq__ = lambda a, b: torch.ones(1, dtype=torch.bool)",
    "the module that is imported": "import sys\nsys.modules['torch'] = None",
    "the shell": "get_ipython().run_cell = None\nget_ipython().ast_transformers.append(None)",
    "the end of the process": "import os, atexit\natexit.register(lambda: os._exit(0))",
    "an exit": "def square(x):\n    raise SystemExit(0)",
    "an exit at once": "import os\ndef square(x):\n    os._exit(0)",
    "an exit of the thread": "import threading, os\ndef square(x):\n    os.kill(os.getpid(), 9)",
    "an endless loop": "def square(x):\n    while True: pass",
    "a reply of one's own": (
        "import gc, socket\n"
        "def square(x):\n"
        "    for s in gc.get_objects():\n"
        "        if isinstance(s, socket.socket):\n"
        "            s.sendall(b'junk' * 20)\n"
        "    return x"
    ),
}
STRICT = """
assert isinstance(square(3), int)
assert abs(square(3) - 9) < 1e-9
assert torch.allclose(square(torch.tensor([3.0])), torch.tensor([9.0]))
torch.testing.assert_close(square(torch.tensor([3.0])), torch.tensor([9.0]))
assert (square(torch.tensor([3.0])) == torch.tensor([9.0])).all()
"""


@pytest.mark.full
@pytest.mark.parametrize("way", FORGED)
def test_success_is_not_had_by_replacing_what_the_test_uses(jail: Host, way: str) -> None:
    cells = (RELEASED[0], f"{RIGHT}\n\ndef wrong(x):\n    return x", FORGED[way], None, None)
    tests = [
        OwnTest("wrong", STRICT.replace("square", "wrong"), 3, 3.0),
        OwnTest("right", STRICT, 4, 3.0),
    ]
    times = Times(call=2.0, cell=2.0)
    result = own_tests.run(cells, tests, RELEASED, jail, times)
    assert result["wrong"].points == 0
    assert result["right"].points == (0 if "def square" in FORGED[way] else 3), result


@pytest.mark.full(seconds=2)
def test_what_was_replaced_is_told(jail: Host) -> None:
    result = outcome(jail, STRICT, RIGHT, FORGED["a builtin"])
    assert result.replaced == ("builtins.abs", "builtins.all")


def test_a_name_that_students_are_to_write_is_theirs(jail: Host) -> None:
    """Also where Python has a function of that name."""
    released = (RELEASED[0], "def max(items):\n    ...")
    cells = (RELEASED[0], "def max(items):\n    return 'mine'", None)
    tests = [OwnTest("mine", "assert max([1]) == 'mine'", 2, 3)]
    assert own_tests.run(cells, tests, released, jail)["mine"] == Outcome(3.0)


def test_the_cells_cannot_read_the_test_before_it_runs(jail: Host) -> None:
    searching = (
        "import gc\n"
        "seen = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple))"
        " and 'SECRET' in repr(o)[:100000] and o is not globals()]\n"
        "def square(x):\n    return len(seen) - 1"
    )
    test = "x = 'SEC' 'RET-1'\nassert square(2) == 0, square(2)"
    result = outcome(jail, test, searching)
    assert "SECRET" not in result.failure


@pytest.mark.full(seconds=2)
def test_a_test_after_one_that_ended_the_process_is_run(jail: Host) -> None:
    cells = (RIGHT, "import os\ndef bad():\n    os._exit(1)", None, None)
    tests = [OwnTest("first", "bad()", 2, 1), OwnTest("second", "assert square(2) == 4", 3, 1)]
    result = own_tests.run(cells, tests, RELEASED, jail)
    assert (result["first"].points, result["second"].points) == (0, 1)
    assert "ended" in result["first"].failure or "died" in result["first"].failure


def test_a_test_meets_no_file_of_the_machine(jail: Host) -> None:
    if jail.isolation != "jail":
        pytest.skip("only the jail keeps files away")
    test = f"import os\nassert not os.path.exists({__file__!r})"
    assert outcome(jail, test, RIGHT) == Outcome(3.0)
