"""`pytest exercises/` as a student runs it, on desks in all kinds of states.

Every run starts a new Python and imports torch, so there are few, and each looks at several things.
"""

from __future__ import annotations

import os
import re
import shutil
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grader.curriculum import EXERCISES, NAMES, assignment
from tests import ROOT
from tests.tools import warm

CORE = [exercise.name for exercise in EXERCISES if exercise.core]


class WorkspaceRun:
    """A workspace with the solutions or the stubs, and runs of pytest on it."""

    def __init__(self, root: Path, solved: bool) -> None:
        """Copy the public tests and, for each exercise, its solution or its stub."""
        self.root = root
        self.folder = root / "exercises"
        self.folder.mkdir()
        shutil.copy(ROOT / "pyproject.toml", root)
        for path in (ROOT / "exercises").glob("*.py"):
            shutil.copy(path, self.folder)
        self.solve(*(NAMES if solved else ()))

    def solve(self, *names: str) -> None:
        """Put the answers into these files."""
        for name in names:
            solution = (ROOT / "solutions" / f"{name}.py").read_text("utf-8")
            answer = solution.replace("from solutions.", "from exercises.")
            self.file(name).write_text(answer, "utf-8")

    def file(self, name: str) -> Path:
        """The student's file of an exercise."""
        return self.folder / f"{name}.py"

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text that must be there."""
        text = self.file(name).read_text("utf-8")
        assert old in text
        self.file(name).write_text(text.replace(old, new, 1), "utf-8")

    def pytest(self, *arguments: str) -> tuple[int, list[str]]:
        """Run pytest; its exit status and what it wrote, line by line."""
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "100",
        }
        for name in ("PYTEST_ADDOPTS", "FORCE_COLOR", "PY_COLORS", "PYTEST_XDIST_WORKER"):
            environment.pop(name, None)
        done = warm.run("-m", "pytest", *arguments, cwd=self.root, env=environment)
        return done.returncode, (done.stdout + done.stderr).splitlines()


@pytest.fixture
def solved(tmp_path: Path) -> WorkspaceRun:
    """A workspace where everything is right."""
    return WorkspaceRun(tmp_path, solved=True)


@pytest.fixture
def untouched(tmp_path: Path) -> WorkspaceRun:
    """A workspace as it is handed out."""
    return WorkspaceRun(tmp_path, solved=False)


def test_an_untouched_desk_fits_one_screen(untouched: WorkspaceRun) -> None:
    """One line for each exercise that is assigned, the next thing to do, and little else."""
    status, lines = untouched.pytest("exercises/")
    assert status == 1
    assert lines[0] == ""
    end = 1 + len(CORE)
    assert [line.split()[0] for line in lines[1:end]] == CORE
    assert all("  to do   0 of " in line for line in lines[1:end])
    further = " ".join(lines[end + 1 : -5])
    assert further.startswith("Not assigned, but there to try: tokens, linear,")
    assert all(name in further for name in NAMES if name not in CORE)
    assert lines[-5:] == [
        "",
        "Points: 0 of 100.",
        "",
        f"Next: {CORE[0]}. Edit exercises/{CORE[0]}.py, then run",
        f"  pytest exercises/test_{CORE[0]}.py",
    ]
    assert len(lines) < 24


@pytest.mark.parametrize(
    "mistyped", ["exercises/test_layernorm.py", "exercises/LayerNorm.py", "layernorm"]
)
def test_a_test_file_that_is_mistyped_is_told_with_the_nearest(
    untouched: WorkspaceRun, mistyped: str
) -> None:
    status, lines = untouched.pytest(mistyped)
    assert status == pytest.ExitCode.USAGE_ERROR
    question = f"There is no {mistyped}. Did you mean exercises/test_layer_norm.py?"
    assert lines == [f"ERROR: {question}", ""]


@pytest.mark.full(seconds=17)
def test_what_nobody_asked_for_blocks_nothing(untouched: WorkspaceRun) -> None:
    """The core eight are done although embedding, sublayer and decoder are still stubs.

    Two workers find so, and nothing is left behind but pytest's cache.
    """
    untouched.solve(*CORE)
    status, lines = untouched.pytest("exercises/", "-n", "2")
    assert status == 0
    left = {path.name for path in untouched.root.iterdir()}
    assert left <= {"exercises", "pyproject.toml", ".pytest_cache"}
    assert sum("  done  " in line for line in lines) == len(CORE)
    assert lines[-5].startswith("Points: up to 100 of 100.")
    assert lines[-3] == "All done. You have written a Transformer by hand."
    # What is begun of the rest is shown apart, and what is wrong there blocks again.
    untouched.edit("decoder", "raise NotImplementedError", "raise ValueError")
    status, lines = untouched.pytest("exercises/")
    assert status == 1
    begun = lines.index("Not assigned, but started:")
    assert lines[begun + 1].split()[:2] == ["decoder", "wrong"]
    assert any(line.startswith("  transformer   blocked by decoder") for line in lines[:begun])


@pytest.mark.full
def test_the_folder_says_what_is_asked_for(untouched: WorkspaceRun) -> None:
    """`assignment.toml` in it, or, if that names what there is not, where to mend it."""
    file = untouched.folder / "assignment.toml"
    file.write_text('exercises = ["tokens", "rope"]\n')
    status, lines = untouched.pytest("exercises/")
    assert status == 1
    assert [line.split()[0] for line in lines[1:3]] == ["tokens", "rope"]
    assert "Points: 0 of 15." in lines
    file.write_text('exercises = ["tokns"]\n')
    status, lines = untouched.pytest("exercises/")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "assignment.toml: no exercise 'tokns'. There are: tokens" in lines[0]
    assert len([line for line in lines if line]) == 1


def test_code_below_the_raise_that_was_left_in(tmp_path: Path) -> None:
    """A file that was worked on and is still to do: the reason is said."""
    workspace = WorkspaceRun(tmp_path, solved=False)
    workspace.edit(
        "masks", 'is not written yet")\n', 'is not written yet")\n    return ids != pad_id\n'
    )
    status, lines = workspace.pytest("exercises/test_masks.py")
    assert status == 1
    reason = "Next: masks, which still reaches `raise NotImplementedError`."
    assert any(line.startswith(reason) for line in lines)


@pytest.mark.full(seconds=27)
def test_many_kinds_of_wrong(solved: WorkspaceRun) -> None:
    """A wrong line, an endless loop, a syntax error, a missing file, a missing name, a stub."""
    (solved.folder / assignment.FILE).write_text(assignment.text(NAMES))
    solved.edit("attention", "softmax(dim=-1)", "softmax(dim=-2)")
    solved.edit("attention", "    ### BEGIN", "    print('shape', query.shape)\n    ### BEGIN")
    solved.edit("masks", "    ### BEGIN", "    while True: pass\n    ### BEGIN")
    solved.edit("layer_norm", "super().__init__()", "super().__init__(")
    solved.edit("embedding", "class Embedding(", "class Embeding(")
    solved.edit(
        "positional", "        ### BEGIN", "        raise NotImplementedError\n        ### BEGIN"
    )
    solved.file("feed_forward").unlink()
    with (solved.folder / "conftest.py").open("a") as conftest:
        conftest.write("from grader.board import time_limit\ntime_limit.SECONDS = 3.0\n")
        conftest.write("time_limit.SECONDS_AFTER_THE_FIRST = 1.0\n")
    status, lines = solved.pytest("exercises/")
    assert status == 1
    text = "\n".join(lines)
    for words in (
        # the wrong line: numbers, the line, what was printed, the other tests
        "attention: Two queries and three keys, worked out with a pencil.",
        "  5 of 6 numbers in your attention weights are wrong; the largest difference is\n  0.25.",
        "    query 0  0.500* 0.500* 0.667*    0.250  0.250  0.500",
        ", in attention\n      weights = scores.softmax(dim=-2)",
        "  Printed by your code:\n    shape torch.Size([2, 4])",
        "attention: 6 more tests fail, perhaps for the same reason. To see all: --tb=long",
        # the endless loop
        " tests fail for the same reason.\n\n"
        "  Your code didn't finish and was stopped. Is there an infinite loop?",
        "      while True: pass",
        # the syntax error
        "layer_norm: 10 tests fail for the same reason.",
        "  SyntaxError: '(' was never closed\n\n  exercises/layer_norm.py:",
        "      super().__init__(",
        # what is missing
        "  exercises/embedding.py does not define `Embedding`. Was it renamed or deleted?",
        "  The file exercises/feed_forward.py is missing. `grader reset feed_forward`\n  restores",
    ):
        assert words in text
    for internal in ("Traceback", "site-packages", "grader/", "torch/nn"):
        assert internal not in text
    start = next(n for n, line in enumerate(lines) if line.startswith(f"  {NAMES[0]} "))
    rows = [line.split() for line in lines[start : start + len(NAMES) + 1]]
    statuses = [" ".join(words[1:]) for words in rows if words[1] != "done"]
    assert statuses == [
        "wrong 0 of 10 5 of 10 tests passed",
        "wrong 0 of 15 3 of 10 tests passed",
        "blocked by attention 0 of 15 14 of 17 tests passed",
        "to do 0 of 10 5 of 12 tests passed",
        "written: PositionalEncoding.__init__",
        "wrong 0 of 10 0 of 10 tests passed",
        "wrong 0 of 10 0 of 10 tests passed",
        "wrong 0 of 10 0 of 12 tests passed",
        "blocked by layer_norm 0 of 5",
        "blocked by attention + 2 0 of 15",
        "blocked by attention + 2 0 of 15",
        "blocked by masks + 4 0 of 15",
        "blocked by attention 0 of 10 9 of 13 tests passed",
        "blocked by attention 0 of 15 15 of 17 tests passed",
    ]


def test_one_file_in_colour_with_a_need_that_is_not_done(untouched: WorkspaceRun) -> None:
    """Only multi_head was selected; that attention is to do is found out on the side."""
    solution = (ROOT / "solutions" / "multi_head.py").read_text("utf-8")
    untouched.file("multi_head").write_text(
        solution.replace("from solutions.", "from exercises."), "utf-8"
    )
    arguments = ("exercises/test_multi_head.py", "--color=yes", "--junitxml=report.xml")
    status, lines = untouched.pytest(*arguments)
    assert status == 1
    assert "\x1b[33mblocked by attention\x1b[0m" in lines[1]
    assert "Next: attention, which multi_head needs. " in lines[-2]
    report = ElementTree.parse(untouched.root / "report.xml")
    failures = [failure.text or "" for failure in report.iter("failure")]
    assert len(failures) == 10
    assert all("attention is not written yet" in failure for failure in failures)


@pytest.mark.full(seconds=3)
def test_a_mistake_is_shown_although_another_exercise_comes_first(untouched: WorkspaceRun) -> None:
    """Asked about alone, an exercise shows what is wrong in its own lines."""
    solution = (ROOT / "solutions" / "multi_head.py").read_text("utf-8")
    wrong = solution.replace("from solutions.", "from exercises.").replace(
        "x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)",
        "x.reshape(batch, n_heads, length, d_model // n_heads)",
    )
    assert wrong.count("n_heads, length, d_model") == 1
    untouched.file("multi_head").write_text(wrong, "utf-8")
    text = "\n".join(untouched.pytest("exercises/test_multi_head.py", "--hint")[1])
    assert "numbers in your split_heads(x, 3) are wrong" in text
    assert "multi_head builds on attention, which isn't right yet: start there." in text
    assert "There is no hint here: attention comes first, which multi_head builds on." in text
    text = "\n".join(untouched.pytest("exercises/test_positional.py", "--hint")[1])
    assert "There is no hint yet: positional is to be written." in text


def test_stopping_at_the_first(solved: WorkspaceRun) -> None:
    """With -x the board lists the rest as not run, in curriculum order."""
    solved.edit("multi_head", "self.q_proj(query)", "self.q_proj(key)")
    status, lines = solved.pytest("exercises", "-x", "--tb=no")
    assert status == 1
    rows = {line.split()[0]: line.split()[1:3] for line in lines if line.startswith("  ")}
    assert rows["masks"] == ["done", "10"]
    assert rows["attention"] == ["done", "15"]
    assert rows["multi_head"] == ["wrong", "0"]
    assert rows["positional"] == ["not", "run"]
    assert "not run" in next(line for line in lines if "  multi_head" in line)
    assert lines[-1].startswith("!!!")


def test_the_options_of_pytest_still_work(solved: WorkspaceRun) -> None:
    """-v lists every test, --tb=long shows pytest's traceback and every message, -k selects."""
    solved.edit("layer_norm", "correction=0", "correction=1")
    arguments = ("exercises/test_layer_norm.py", "-v", "--tb=long", "-k", "hand")
    status, lines = solved.pytest(*arguments)
    assert status == 1
    text = "\n".join(lines)
    assert "exercises/test_layer_norm.py::test_by_hand FAILED" in text
    assert "test_weight_and_bias" not in text
    assert ">       assert_matches(\n" in text
    assert "  layer_norm  wrong   0 of 10   0 of 2 tests passed" in lines


@pytest.mark.full
def test_tests_of_a_broken_file_have_equal_tracebacks(untouched: WorkspaceRun) -> None:
    """They grew from test to test, and were made even where nobody asked: it took ten seconds."""
    untouched.edit("masks", "def padding_mask(", "def padding_mask(:")
    status, lines = untouched.pytest("exercises/test_masks.py", "--tb=long")
    assert status == 1
    heads = [number for number, line in enumerate(lines) if line.startswith("____")]
    frames = [
        sum(bool(re.match(r"\S+:\d+: ", line)) for line in lines[before:after])
        for before, after in pairwise(heads)
    ]
    assert len(frames) > 5
    assert len(set(frames)) == 1


def test_other_tests_are_left_alone(tmp_path: Path) -> None:
    """Without the workspace, pytest is as it always is."""
    run = WorkspaceRun(tmp_path, solved=False)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_other.py").write_text("def test_other():\n    assert 1 == 2\n")
    status, lines = run.pytest()
    assert status == 1
    assert "test session starts" in lines[0]
    assert "FAILED tests/test_other.py::test_other - assert 1 == 2" in lines
    assert not any("Points" in line for line in lines)


@pytest.mark.full
def test_a_call_that_is_ruled_out_is_told_before_any_grade(solved: WorkspaceRun) -> None:
    """As the hidden checks have it: in a call, at the import, and not for other exercises."""
    solved.edit(
        "layer_norm",
        "return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias",
        "return nn.functional.layer_norm(x, self.bias.shape, self.weight, self.bias, self.eps)",
    )
    solved.edit("linear", "class Linear(", "print(nn.Linear(2, 3))\n\n\nclass Linear(")
    status, lines = solved.pytest(
        *(
            f"exercises/test_{name}.py"
            for name in ("layer_norm", "linear", "feed_forward", "sublayer")
        )
    )
    assert status == 1
    text = " ".join(" ".join(lines).split())
    assert "Your code uses F.layer_norm, which may not be used in layer_norm" in text
    assert "Your code uses nn.Linear, which may not be used in linear" in text
    assert "put it under `if __name__ ==" in text
    for row in ("layer_norm wrong 0 of 10", "linear wrong 0 of 5", "feed_forward done 10 of 10"):
        assert row in text


@pytest.mark.full(seconds=2)
def test_smoothing_by_torch_is_noticed_and_plain_cross_entropy_is_not(solved: WorkspaceRun) -> None:
    """One argument of F.cross_entropy is forbidden in training, the function is not."""
    answer = "    log_p = F.log_softmax(logits, dim=-1)\n"
    call = "F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id{})"
    solved.edit("training", answer, f"{answer}    {call.format('')}\n")
    assert solved.pytest("exercises/test_training.py")[0] == 0
    smoothed = call.format(", label_smoothing=smoothing")
    solved.edit("training", call.format(""), f"return {smoothed}")
    status, lines = solved.pytest("exercises/test_training.py")
    assert status == 1
    text = " ".join(" ".join(lines).split())
    assert "Your code uses F.cross_entropy(label_smoothing=...), which may not be used" in text
