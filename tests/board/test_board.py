"""The parts of the student's board: the message on an error, and where an exercise stands."""

from __future__ import annotations

import gc
import importlib
import json
import math
import re
import shutil
import signal
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.board import forbidden, in_place, left_on, rendering, time_limit
from grader.board.failure import failure
from grader.board.probe import is_done
from grader.board.progress import WRONG, Progress, find_blocked, next_exercise
from grader.board.rendering import Line, board, messages
from grader.board.result import Result, cut_printed
from grader.board.time_limit import TookTooLong
from grader.board.workspace import Workspace
from grader.curriculum import NAMES
from grader.feedback import records
from grader.feedback.comparison import Mismatch, assert_matches, assert_unchanged
from grader.feedback.exceptions import HINTS, hint_for
from grader.feedback.finding import Finding, Status
from grader.feedback.slips import SLIPS
from tests import ROOT


def write(path: Path, text: str) -> None:
    """Write a file, its text freed from the indentation of this one."""
    path.write_text(textwrap.dedent(text))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with an attention to fill in and the public tests of the repository."""
    folder = tmp_path / "exercises"
    folder.mkdir()
    for name in ("attention", "multi_head"):
        shutil.copy(ROOT / "exercises" / f"test_{name}.py", folder)
    return Workspace(folder, tmp_path)


def failed_with(workspace: Workspace, code: str, call: Callable[[dict[str, Any]], Any]) -> Result:
    """The result when `call`, given the names that `code` in attention.py defines, fails."""
    path = workspace.code_path("attention")
    write(path, code)
    names: dict[str, Any] = {}

    def run() -> None:
        exec(compile(path.read_text(), str(path), "exec"), names)
        call(names)

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - any error may be told
        run()
    result = failure(
        caught.value, "attention", workspace.tests("attention")["test_by_hand"], workspace
    )
    assert records.read(Result, json.loads(json.dumps(records.fields(result)))) == result
    return result


# What is said


def test_an_untouched_stub_is_to_do(workspace: Workspace) -> None:
    """A NotImplementedError from the exercise's own file means: not written yet."""
    code = """
    class Part:
        def forward(self):
            raise NotImplementedError("attention: Part.forward is not written yet")
    """
    result = failed_with(workspace, code, lambda names: names["Part"]().forward())
    assert result.status is Status.TODO
    assert result.unwritten == "Part.forward"


def test_what_torch_has_not_implemented_is_wrong(workspace: Workspace) -> None:
    """The student's own line is the last one there too, but nothing in it says `raise`."""
    code = """
    import torch
    def attention(mask):
        return mask.float() & mask.float()
    """
    result = failed_with(workspace, code, lambda names: names["attention"](torch.ones(2)))
    assert result.status is Status.FAILED
    assert "are for booleans" in result.headline


def test_a_torch_module_without_forward_is_wrong(workspace: Workspace) -> None:
    """Torch's own NotImplementedError is no stub."""
    code = """
    from torch import nn
    class Part(nn.Module):
        def foward(self, x):
            return x
    """
    result = failed_with(workspace, code, lambda names: names["Part"]()(1))
    assert result.status is Status.FAILED
    assert result.headline.startswith("Part has no `forward`.")


def test_an_error_in_torch_is_shown_at_the_students_line(workspace: Workspace) -> None:
    """The hint, torch's own words, and the line of the student that called torch."""
    code = """
    import torch
    def attention(query, key, value, mask=None):
        scores = query @ key
        return scores @ value, scores
    """
    result = failed_with(
        workspace, code, lambda names: names["attention"](*map(torch.ones, [(2, 3)] * 3))
    )
    assert result.text().splitlines() == [
        "A matrix product needs equal inner sizes; here they are 2x3 and 2x3. "
        "Which axis should be last in each, and is each made from the right input? "
        "Shapes in this line: query (2, 3), key (2, 3).",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
        "",
        "exercises/attention.py:4, in attention",
        "    scores = query @ key",
    ]


def test_a_mismatch_points_at_the_return(workspace: Workspace) -> None:
    """A wrong number has no traceback of its own; the only `return` is shown."""
    code = """
    def attention(query):
        inner = lambda x: x
        def helper():
            return 1
        return query
    """

    def fail(_: dict[str, Any]) -> None:
        raise Mismatch("Your attention output is wrong.")

    location = failed_with(workspace, code, fail).places[0]
    assert (location.line, location.inside, location.source) == (6, "attention", "return query")


def test_a_syntax_error_is_shown_at_its_line(workspace: Workspace) -> None:
    """Python's words and the line, without a traceback."""
    result = failed_with(workspace, "def attention(:\n    pass\n", lambda _: None)
    assert result.in_import
    assert result.places[0].line == 1
    assert "SyntaxError: invalid syntax" in result.text()


def test_an_endless_loop_is_stopped(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit rings even when the code swallows every exception once."""
    monkeypatch.setattr(time_limit, "SECONDS", 0.05)
    monkeypatch.setattr(time_limit, "SECONDS_AFTER_THE_FIRST", 0.05)
    code = """
    def attention():
        try:
            while True: pass
        except BaseException:
            while True: pass
    """

    def run(names: dict[str, Any]) -> None:
        with time_limit.time_limit():
            names["attention"]()

    result = failed_with(workspace, code, run)
    assert "didn't finish" in result.headline
    assert result.places[0].source == "while True: pass"


@pytest.mark.parametrize("timers", [True, False])
def test_what_torch_imports_when_it_is_first_used_is_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timers: bool
) -> None:
    """Half done, `torch._dynamo` could never be imported again, and no optimizer made."""
    (tmp_path / "_late.py").write_text(
        "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\n"
    )
    monkeypatch.setattr(torch, "__path__", [*torch.__path__, str(tmp_path)])
    monkeypatch.setattr(time_limit, "SECONDS", 0.05)
    monkeypatch.setattr(time_limit, "SECONDS_AFTER_THE_FIRST", 0.05)
    if not timers:
        monkeypatch.delattr(signal, "setitimer", raising=False)
    with time_limit.time_limit():
        importlib.import_module("torch._late")
    assert sys.modules.pop("torch._late")


def test_code_that_ends_just_before_the_limit_is_not_stopped_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exception may come up while the thread that watches ends."""
    raised: list[threading.Thread] = []
    join = threading.Thread.join

    def late(thread: threading.Thread, timeout: float | None = None) -> None:
        if not raised:
            raised.append(thread)
            raise time_limit.TookTooLong
        join(thread, timeout)

    monkeypatch.delattr(signal, "setitimer", raising=False)
    monkeypatch.setattr(threading.Thread, "join", late)
    with time_limit.time_limit():
        pass
    assert not raised[0].is_alive()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_what_the_collector_calls_is_not_stopped_but_what_comes_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python only prints what is raised in there, with a traceback of the kit's."""
    monkeypatch.setattr(time_limit, "SECONDS", 0.05)
    monkeypatch.setattr(time_limit, "SECONDS_AFTER_THE_FIRST", 0.05)
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: printed.append(told.exc_type))

    def spin() -> None:
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass

    def gc_callback(phase: str, info: dict[str, int]) -> None:  # noqa: ARG001 - given by Python
        spin()

    class Cycle:
        pass

    def slow(_: object) -> None:
        spin()

    kept = []

    def collect_and_never_end() -> None:
        with time_limit.time_limit():
            cycle = Cycle()
            cycle.itself = cycle  # type: ignore[attr-defined]
            kept.append(weakref.ref(cycle, slow))
            del cycle
            gc.collect()
            while True:
                pass

    gc.callbacks.append(gc_callback)
    try:
        with pytest.raises(TookTooLong):
            collect_and_never_end()
    finally:
        gc.callbacks.remove(gc_callback)
    assert TookTooLong not in printed


def test_the_time_limit_leaves_a_debugger_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """While something traces the code, nothing is stopped."""
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    monkeypatch.setattr(signal, "setitimer", lambda *_: pytest.fail("a timer was set"))
    with time_limit.time_limit():
        pass


class Unprintable(Exception):  # noqa: N818 - stands for what a student may define
    """An error that cannot be shown."""

    def __str__(self) -> str:
        """Refuse."""
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Unprintable(), "Unprintable"),
        (SystemExit(), "calls exit()"),
        (RecursionError("maximum recursion depth exceeded"), "calls itself"),
        (TookTooLong(), "infinite loop"),
        (AssertionError("Own words.\nassert 1 == 2\n +  where"), "Own words."),
        (BaseExceptionGroup("", [NameError("name 'f' is not defined")]), "does not know"),
        (ImportError("cannot import name 'attention'", name="exercises.attention"), "not define"),
        (ModuleNotFoundError(name="exercises.attention"), "attention.py is missing"),
        (
            TypeError("attention() takes 2 positional arguments but 3 were given"),
            "fit the arguments",
        ),
    ],
)
def test_errors_without_a_line_of_the_student(
    workspace: Workspace, error: BaseException, words: str
) -> None:
    """Whatever ends a test, there is a sentence."""

    def fail(_: dict[str, Any]) -> None:
        raise error from None

    assert words in failed_with(workspace, "def attention(query):\n    return query\n", fail).text()


def test_an_expression_that_is_too_deep_calls_nothing() -> None:
    assert hint_for("RecursionError: maximum recursion depth exceeded during compilation") == ""
    assert hint_for("RecursionError: maximum recursion depth exceeded in comparison") != ""


def test_every_hint_can_be_filled_in() -> None:
    """No hint refers to a group that its pattern does not have."""
    assert hint_for("ValueError: something that nobody knows") == ""
    for hint in (*SLIPS, *HINTS):
        groups = re.compile(hint.pattern).groups + re.compile(hint.at).groups
        assert f"{hint.means}{hint.asks}".format(*["x"] * groups)


@pytest.mark.parametrize("way", ["from {0} import attention", "import {0} as own\nown.attention"])
def test_a_file_that_imports_itself_is_told_so(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"imports_{'itself' if 'from' in way else 'its_own_name'}"
    (tmp_path / f"{name}.py").write_text(way.format(name))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises((ImportError, AttributeError)) as caught:
        importlib.import_module(name)
    assert "imports itself" in hint_for(f"{caught.type.__name__}: {caught.value}")


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("~None", "if mask is not None"),
        ("math.sqrt(x.shape)", "x.size(-1)"),
        ("x.transpose()", "the two axes that it swaps"),
        ("x.undefined", "no `undefined`"),
        ("None + x", "`return` missing"),
    ],
)
def test_what_torch_raises_is_said_in_other_words(expression: str, says: str) -> None:
    """The hint that belongs to an error which torch or Python really raises."""
    with pytest.raises((TypeError, AttributeError)) as caught:
        eval(expression, {"math": math, "x": torch.ones(2, 3)})
    assert says in hint_for(f"{caught.type.__name__}: {caught.value}")


def test_what_was_printed_is_cut() -> None:
    """Of a long print, the end is kept."""
    lines = cut_printed("\n".join(map(str, range(100)))).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (21, "... 80 lines before", "99")


# Where an exercise stands


def progress_of(**statuses: Status | None) -> dict[str, Progress]:
    """One progress for each exercise given, of one test with this status."""
    results = {}
    for name, status in statuses.items():
        results[name] = Progress(name, ("test",), selected=1)
        if status:
            results[name].add(Result(name, "test", "Title.", status=status))
    return results


def test_only_what_fails_is_blocked_and_by_the_first_causes() -> None:
    """The encoder is blocked by attention, not by multi_head that waits for attention, too."""
    result = progress_of(
        attention=Status.FAILED,
        multi_head=Status.FAILED,
        feed_forward=Status.TODO,
        layer_norm=Status.PASSED,
        sublayer=Status.PASSED,
        encoder=Status.FAILED,
        decoder=Status.TODO,
    )
    find_blocked(result, lambda name: pytest.fail(f"{name} was run already"))
    assert result["encoder"].blocked_by == ("attention", "feed_forward")
    assert result["multi_head"].blocked_by == ("attention",)
    assert [s.status for s in result.values()] == [
        "wrong",
        "blocked",
        "to do",
        "done",
        "done",
        "blocked",
        "to do",
    ]
    assert next_exercise(result) == "attention"


def test_needs_that_were_not_run_are_asked_for() -> None:
    """Only those of a failing exercise are run on the side."""
    runs: list[str] = []
    result = progress_of(multi_head=Status.FAILED, embedding=Status.PASSED, encoder=Status.TODO)
    find_blocked(result, lambda name: runs.append(name) or False)  # type: ignore[func-returns-value]
    assert runs == ["attention"]
    assert result["multi_head"].status == "blocked"
    assert next_exercise(result) == "attention"


def test_code_that_cannot_be_imported_is_wrong_by_itself() -> None:
    """Its own syntax error comes first, although a need is missing as well."""
    result = progress_of(multi_head=Status.FAILED)
    result["multi_head"].results["test"].in_import = True
    find_blocked(result, lambda _: False)
    assert result["multi_head"].status == WRONG


def text(lines: Any) -> str:
    """Lines as plain text."""
    plain: list[Line] = list(lines)
    return "\n".join("".join(piece for piece, _ in line) for line in plain)


def test_the_board_of_some_tests(workspace: Workspace) -> None:
    """Tests that were not selected or not run keep the points away, and the board says so."""
    result = progress_of(attention=Status.PASSED, multi_head=None)
    result["attention"].tests = ("test", "other")
    assert text(board(result, workspace)).splitlines() == [
        "  attention   passed so far   0 of 15   1 of 2 tests run",
        "  multi_head  not run         0 of 15",
        "",
        "Points: 0 of 30. Here an exercise counts once all of its tests pass.",
        "",
        "Next: multi_head. Edit exercises/multi_head.py, then run",
        "  pytest exercises/test_multi_head.py",
    ]
    assert "run all tests" in text(board({"attention": result["attention"]}, workspace))
    assert text(board({}, workspace)) == "No test of an exercise was selected."


def test_the_board_when_all_is_done(workspace: Workspace) -> None:
    """All points, said with the reserve that is due."""
    result = progress_of(**dict.fromkeys(NAMES, Status.PASSED))
    lines = text(board(result, workspace)).splitlines()
    assert lines[-5].startswith("Points: up to 100 of 100. The hidden checks")
    assert lines[-3].startswith("All done.")
    assert lines[-1].split()[:2] == ["grader", "grade"]


def test_a_students_edition_claims_no_points(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no hidden checks, public tests pass and nothing is done."""
    monkeypatch.setattr(rendering, "has_hidden_checks", lambda: False)
    result = progress_of(attention=Status.PASSED, multi_head=Status.FAILED)
    lines = text(board(result, workspace)).splitlines()
    assert lines[:4] == [
        "  attention   all public tests pass",
        "  multi_head  wrong                   0 of 1 test passed",
        "",
        f"All public tests pass in 1 of 2 exercises. {rendering._HONESTLY}",
    ]
    assert lines[-2] == "Next: multi_head. Edit exercises/multi_head.py, then run"
    everything = progress_of(**dict.fromkeys(NAMES, Status.PASSED))
    output = text(board(everything, workspace))
    assert "done" not in output.lower()
    assert "Points" not in output
    assert "of 15" not in output


def test_nothing_is_wider_than_a_terminal() -> None:
    """Text is wrapped, code is broken, and styles stay on their words."""
    words, code = "many words " * 10, "value = " + "f(" * 60
    lines = [[("A title ", "title"), (words, "")], [(f"  {code}", "code")], [("short", "")]]
    shown = list(rendering.fitted(lines))
    assert all(len(text([line])) <= 80 for line in shown)
    assert shown[0][0] == ("A title ", "title")
    broken = [line[0][0].strip() for line in shown if line[0][1] == "code"]
    assert "".join(broken) == code.replace(" ", "") or " ".join(broken).startswith("value = f(")
    assert shown[-1] == [("short", "")]


def test_an_input_that_was_modified_is_told_first() -> None:
    """Other numbers are wrong because of it."""
    result = Progress("masks", ("a", "b"), selected=2)
    for name, check in (
        ("a", partial(assert_matches, torch.zeros(2), torch.ones(2))),
        ("b", partial(assert_unchanged, torch.zeros(2), torch.ones(2), "x")),
    ):
        with pytest.raises(Mismatch) as caught:
            check()
        result.add(Result("masks", name, name, "", Status.FAILED, caught.value.finding))
    assert [failure.test for failure in result.failures()] == ["b", "a"]
    assert (
        result.failures()[0].headline
        == "Your code changes x: 2 of 2 numbers have been modified in place."
    )


def test_the_same_message_is_told_once() -> None:
    """Failures with the same reason are one message; the others are counted."""
    by_exercise = {"masks": Progress("masks", ("a", "b", "c"), selected=3)}
    for name, reason in (("a", "Same."), ("b", "Same."), ("c", "Another.")):
        finding = Finding(reason)
        by_exercise["masks"].add(
            Result("masks", name, f"Title {name}.", "", Status.FAILED, finding)
        )
    assert text(messages(by_exercise, 80, in_full=False)).splitlines() == [
        "masks: 2 tests fail for the same reason.",
        "",
        "  Same.",
        "",
        "masks: one more test fails, perhaps for the same reason. To see all: --tb=long",
    ]
    assert "one more test" not in text(messages(by_exercise, 80, in_full=True))


# The public tests themselves


@pytest.mark.parametrize("name", NAMES)
def test_public_tests_can_be_read_and_called(name: str) -> None:
    """At least three plain functions, each with a sentence that fits a line of the board."""
    tests = Workspace(ROOT / "exercises", ROOT).tests(name)
    assert 3 <= len(tests) <= 24
    for test in tests.values():
        assert test.title.endswith((".", "?"))
        assert len(f"{name}: {test.title}") <= 80
        assert test.title.isascii()


def test_an_exercise_without_tests_is_not_done(workspace: Workspace) -> None:
    """Nothing is right before something has said so."""
    assert not is_done(workspace, "masks")


def test_a_rule_imports_nothing_that_the_code_did_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some parts of torch that a rule names take longer to import than the public tests to run."""
    part = "torch.nn.attention.bias"
    monkeypatch.delitem(sys.modules, part, raising=False)
    with forbidden.watch(Workspace(ROOT / "exercises", ROOT), "masks"):
        assert part not in sys.modules


def test_a_traceback_ends_in_the_students_code() -> None:
    """What watches the calls on the way to torch is hidden with `--tb=long`."""
    workspace = Workspace(ROOT / "exercises", ROOT)
    with (
        forbidden.watch(workspace, "softmax"),
        left_on.watch(workspace),
        in_place.watch(workspace),
        pytest.raises(IndexError) as error,
    ):
        torch.ones(2).transpose(1, 2)
    assert error.traceback.filter(error)[-1].path == Path(__file__)


@pytest.mark.parametrize(
    "line",
    [
        "scores.masked_fill(mask, -1e9)",
        "scores.masked_fill_(mask, -1e9)",
        "torch.where(mask, scores, -1e9)",
        "scores + mask",
    ],
)
def test_a_mask_and_scores_that_do_not_fit_are_told_apart(line: str) -> None:
    """Torch names the mask first or the scores, depending on the operation."""
    with pytest.raises(RuntimeError) as caught:
        eval(line, {"torch": torch, "scores": torch.zeros(2, 5), "mask": torch.ones(2, 3).bool()})
    hint = hint_for(f"RuntimeError: {caught.value}", line)
    assert "the scores have size 5, the mask 3" in hint


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "kept[:, 0] = x",
            "What is assigned here has 4 axes, and the place it is written to has 3",
        ),
        ("x.expand(4, 2, 5)", "`expand` gets fewer sizes (3) than the tensor has axes (4)"),
        ("F.one_hot(torch.tensor([1, -100]), 5)", "numbers from 0 on"),
        ("F.one_hot(torch.tensor([1, 7]), 5)", "numbers below `num_classes`"),
    ],
)
def test_what_is_said_fits_the_line_that_raises(line: str, says: str) -> None:
    """Torch speaks of `expand` where nothing in the line is called so, and of class values."""
    kept, x = torch.zeros(3, 9, 2, 5), torch.zeros(3, 4, 2, 5)
    with pytest.raises(RuntimeError) as caught:
        exec(line, {"torch": torch, "F": torch.nn.functional, "x": x, "kept": kept})
    assert says in hint_for(f"RuntimeError: {caught.value}", line)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('torch.einsum("bqd,bkd->bqk", x, x)', "names 3 axes for one of the tensors, which has 4"),
        ("x[0, 0].masked_fill_(x > 0, 1.0)", "keeps the shape of its tensor, here (2, 5)"),
    ],
)
def test_axes_that_are_too_few_are_explained(line: str, says: str) -> None:
    """An equation without an ellipsis, and an operation in place on a tensor of fewer axes."""
    with pytest.raises(RuntimeError) as caught:
        eval(line, {"torch": torch, "x": torch.zeros(3, 4, 2, 5)})
    assert says in hint_for(f"RuntimeError: {caught.value}", line)
