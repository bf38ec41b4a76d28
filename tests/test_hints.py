"""Hints: a mistake is named from data alone, and told one step at a time."""

from __future__ import annotations

import linecache
import lzma
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from test_board_run import WorkspaceRun
from test_edition import answers

from grader.board import known
from grader.curriculum import NAMES, mistakes, reference, stubs
from grader.feedback import quoting
from grader.feedback.finding import Finding, Grid, Place
from grader.judging.hints import write_hints
from grader.magic.rendering import as_html, as_text
from grader.magic.running import Outcome, hinted, run

QUICK = ("masks", "attention")


@pytest.fixture(scope="module", autouse=True)
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data as a student's edition has it; nothing else is to be found."""
    folder = tmp_path_factory.mktemp("edition")
    write_hints(folder, QUICK)
    patch = pytest.MonkeyPatch()
    patch.setattr(known, "SHIPPED", folder)
    return folder


def edited(exercise: str, name: str) -> ModuleType:
    mistake = next(one for one in mistakes.load(exercise) if one.name == name)
    module = reference.variant(exercise, mistake.apply(stubs.reference_source(exercise)))
    assert isinstance(module, ModuleType), module
    return module


@pytest.mark.parametrize(
    ("exercise", "name"),
    [("masks", "all-turned-round"), ("attention", "scaled-by-d-k"), ("attention", "softmax-twice")],
)
def test_data_without_answers_names_a_mistake(exercise: str, name: str) -> None:
    assert known.diagnose(known.load(exercise), edited(exercise, name))[0] == (name,)


@pytest.mark.parametrize("exercise", QUICK)
def test_nothing_is_named_in_right_code(exercise: str) -> None:
    assert known.diagnose(known.load(exercise), reference.module(exercise)) == []


@pytest.mark.parametrize("exercise", QUICK)
def test_the_data_holds_no_answer(exercise: str, shipped: Path) -> None:
    content = lzma.decompress((shipped / f"{exercise}.hints").read_bytes())
    for mistake in mistakes.load(exercise):
        for edit in mistake.edits:
            for find, replace in edit.replacements:
                assert all(
                    len(text) < 20 or text.encode() not in content for text in (find, replace)
                )


def test_the_board_gives_one_hint_more_each_time_and_starts_anew_with_changed_code(
    tmp_path: Path,
) -> None:
    work = WorkspaceRun(tmp_path, solved=True)
    work.edit("masks", "(ids != pad_id)", "(ids == pad_id)")
    _, first = work.pytest("exercises/test_masks.py", "--hint")
    _, second = work.pytest("exercises/test_masks.py", "--hint")
    assert "masks: hint 1" in first
    assert "masks: hint 2" in second
    assert any("What is wrong" in line for line in first)
    assert not any("A question" in line for line in first)
    assert any("A question" in line for line in second)
    work.edit("masks", "(ids == pad_id)", "(pad_id == ids)")
    _, anew = work.pytest("exercises/test_masks.py", "--hint")
    assert "masks: hint 1" in anew


def cell(source: str, number: int) -> dict[str, Any]:
    """The names that a notebook's cell defines."""
    file = f"<ipython-input-{number}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {}
    exec(compile(source, file, "exec"), names)
    return names


def test_a_notebook_gives_one_hint_more_each_time() -> None:
    given: dict[str, Any] = {}
    tests = (Path(__file__).parent.parent / "exercises" / "test_attention.py").read_text()

    def check(source: str, number: int) -> Outcome:
        names = cell(source, number)
        return hinted(run("attention", tests, names), names, given)

    right = stubs.reference_source("attention")
    wrong = right.replace("math.sqrt(query.size(-1))", "query.size(-1)")
    first, second = as_text(check(wrong, 1)), as_html(check(wrong, 2))
    assert "not by its square root" in first
    assert "At query 0, key 2 you have 0.414 where 0.500 belongs." in first
    assert "A question" not in first
    assert "A question" in second
    assert "hint 1" in as_text(check(wrong.replace("query.size(-1)", "query.shape[-1]"), 3))


def test_a_late_hint_is_the_line() -> None:
    given: dict[str, Any] = {}
    tests = (Path(__file__).parent.parent / "exercises" / "test_attention.py").read_text()
    right = stubs.reference_source("attention")
    wrong = right.replace("math.sqrt(query.size(-1))", "query.size(-1)")
    names = cell(wrong, 4)
    outcome = run("attention", tests, names)
    shown = [as_text(hinted(outcome, names, given)) for _ in range(5)]
    line = "scores = query @ key.transpose(-2, -1) / query.size(-1)"
    assert line in wrong
    assert [line in one for one in shown] == [False, False, False, True, True]
    assert "Nearly the answer" in shown[-1]
    assert "That was the last hint." in shown[-1]


def grid(yours: list[list[float]], expected: list[list[float]], **more: Any) -> Finding:
    pairs = zip(yours, expected, strict=True)
    differs = tuple(tuple(a != b for a, b in zip(*rows, strict=True)) for rows in pairs)
    rows = tuple(f"query {number}" for number in range(len(yours)))
    columns = tuple(f"key {number}" for number in range(len(yours[0])))
    as_rows = [tuple(map(tuple, side)) for side in (yours, expected)]
    return Finding("Wrong.", Grid(as_rows[0], as_rows[1], differs, rows, columns, **more))


def test_the_students_own_numbers_are_quoted() -> None:
    weights = grid([[0.5, 0.5], [0.9, 0.41]], [[0.5, 0.5], [0.7, 0.3]])
    assert quoting.numbers(weights) == "Query 1 of yours sums to 1.31, not to 1."
    scores = grid([[1.0, 2.5]], [[1.0, -2.0]])
    assert quoting.numbers(scores) == "At query 0, key 1 you have 2.500 where -2.000 belongs."
    lost = grid([[1.0, float("nan")]], [[9.0, 2.0]])
    assert "you have NaN where 2.000 belongs" in quoting.numbers(lost)
    mask = grid([[1.0, 1.0]], [[1.0, 0.0]], kind="bool")
    assert quoting.numbers(mask) == "At query 0, key 1 you have True where False belongs."
    twice = grid([[1.0, 1.5]], [[1.0, 1.0]], sides=("second call", "first call"))
    assert quoting.numbers(twice) == (
        "At query 0, key 1 your code gives 1.500 (second call) and 1.000 (first call)."
    )
    assert quoting.numbers(Finding("A wrong shape.")) == "A wrong shape."
    assert quoting.numbers(Finding("It raised.", places=(Place("masks.py", 7),))) == ""


def test_the_students_own_line_is_quoted() -> None:
    place = Place("attention.py", 42, "return value @ weights")
    said = "Your line (attention.py, line 42): `return value @ weights`"
    assert quoting.line((place,)) == said


@pytest.mark.parametrize("exercise", NAMES)
def test_no_hint_says_a_line_of_the_answer(exercise: str) -> None:
    """The last hint goes as far as what to change, and leaves the writing."""
    lines = answers([exercise])[exercise]
    for mistake in mistakes.load(exercise):
        said = (mistake.tells, mistake.asks, mistake.read, mistake.nearly)
        assert not [line for line in lines for text in said if line in text], mistake.name


@pytest.mark.parametrize("exercise", NAMES)
def test_the_last_hint_says_more_than_the_first_two(exercise: str) -> None:
    for mistake in mistakes.load(exercise):
        assert mistake.nearly not in {mistake.tells, mistake.asks}, mistake.name
        assert not mistake.nearly.endswith("?"), mistake.name


@pytest.mark.parametrize(
    "exercise", ["attention", "masks", "layer_norm", "multi_head", "positional"]
)
def test_what_public_code_gets_wrong_most_has_a_last_hint(exercise: str) -> None:
    known = mistakes.load(exercise)
    assert sum(bool(one.nearly) for one in known) >= 0.9 * len(known)
