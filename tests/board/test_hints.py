"""Hints: a mistake is named from data alone, and told one step at a time."""

from __future__ import annotations

import linecache
import re
import zlib
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.board import known
from grader.board.hints import Hint, shown, steps
from grader.board.notebook_rendering import as_html, as_text
from grader.board.notebook_run import Outcome, hinted, run
from grader.board.notebook_workspace import NotebookWorkspace
from grader.board.result import Result
from grader.board.workspace import Workspace
from grader.curriculum import NAMES, CurriculumError, mistakes, reference, stubs
from grader.curriculum.hint_limit import STEPS, HintLimit, hint_limit
from grader.feedback import quoting
from grader.feedback.finding import Finding, Grid, Place, Status
from grader.grading.diagnosis import fingerprints
from grader.recognition import prepared, redrawing
from grader.recognition.features import Fingerprints, Prints
from grader.remote import wire
from grader.watch.runner import _hinted
from tests import ROOT
from tests.board.test_board_run import WorkspaceRun
from tests.release.test_edition import answers

QUICK = ("masks", "attention")


def edited(exercise: str, name: str) -> ModuleType:
    mistake = next(
        known_mistake for known_mistake in mistakes.load(exercise) if known_mistake.name == name
    )
    module = reference.variant(exercise, mistake.apply(stubs.reference_source(exercise)))
    assert isinstance(module, ModuleType), module
    return module


@pytest.mark.parametrize(
    ("exercise", "name"),
    [("masks", "all-turned-round"), ("attention", "scaled-by-d-k"), ("attention", "softmax-twice")],
)
def test_data_without_answers_names_a_mistake(exercise: str, name: str) -> None:
    assert known.diagnose(known.load(exercise), edited(exercise, name))[0] == (name,)


def test_a_mistake_that_shows_once_is_named_however_many_threads_torch_has() -> None:
    """As on a student's machine; the tests' own processes have one."""
    name = "three-axes-taken-for-the-batch"
    torch.set_num_threads(2)
    try:
        assert known.diagnose(known.load("attention"), edited("attention", name)) == [(name,)]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("exercise", QUICK)
def test_nothing_is_named_in_right_code(exercise: str) -> None:
    assert known.diagnose(known.load(exercise), reference.module(exercise)) == []


def every_mark(library: fingerprints.Library) -> Prints:
    """The marks of the reference and of every answer with a mistake, with all projections."""
    modules = [
        reference.module(library.exercise),
        *(reference.variant(library.exercise, variant.source) for variant in library.variants),
    ]
    return Prints.stack(
        [Prints.join([probe.asked(module) for probe in library.questions]) for module in modules]
    )


@pytest.mark.full(seconds=3)
@pytest.mark.parametrize("exercise", QUICK)
def test_short_data_names_what_the_full_marks_name(exercise: str) -> None:
    library = fingerprints.load(exercise)
    every_check = torch.ones_like(library.failed)  # each difference counts, as on the board
    prints = Fingerprints(library.probes, library.names, every_mark(library), every_check)
    full = known.Known(prints, {}, {}, "")
    short = known.load(exercise)
    for row, name in enumerate(library.names):
        marks = full.prints.known[row]
        assert known.explained(short, marks) == known.explained(full, marks), name
    assert known.explained(short, library.right) == []


@pytest.mark.parametrize("exercise", QUICK)
def test_the_data_is_small(exercise: str) -> None:
    """Random numbers are kept as their seeds, and marks as exact as they are compared."""
    size = len(zlib.compress(known.read(exercise)))
    requests = wire.encode([list(probe.requests) for probe in fingerprints.load(exercise).probes])
    assert size < 40_000
    assert size < 12_000 or size < len(requests) / 10


def test_a_damaged_file_is_told() -> None:
    content = known.read("masks")
    other = prepared.packed("masks", {**prepared.unpacked(content), "marks": {}})
    for damaged in (content[: len(content) // 2], b"", content[:3000] + b"?" + content[3001:]):
        with pytest.raises(known.NoHintsError, match="cannot be read"):
            known.decoded("masks", damaged)
    with pytest.raises(known.NoHintsError, match="cannot be read"):
        known.decoded("masks", other)


@pytest.mark.parametrize("key", ["tells", "asks", "read", "nearly", "where", "unless"])
def test_data_of_another_version_is_told(key: str) -> None:
    """Some of it was only read once a mistake was named, which ended the board."""
    data = prepared.unpacked(known.read("masks"))
    name = data["names"][-1]
    data["words"][name][f"{key}s"] = data["words"][name].pop(key)
    with pytest.raises(known.NoHintsError, match="cannot be read"):
        known.decoded("masks", prepared.packed("masks", data))


@pytest.mark.parametrize("key", ["words", "lines", "marks", "names", "settings", "requests"])
def test_data_that_lacks_something_is_told(key: str) -> None:
    data = prepared.unpacked(known.read("masks"))
    names = data["names"][:-1]
    parts: list[Any] = [None, {}, [], names, dict.fromkeys(names)]
    for part in parts:
        with pytest.raises(known.NoHintsError, match="cannot be read"):
            known.decoded("masks", prepared.packed("masks", {**data, key: part}))
    del data[key]
    with pytest.raises(known.NoHintsError, match="cannot be read"):
        known.decoded("masks", prepared.packed("masks", data))


def test_a_first_line_that_is_no_text_is_another_kits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, _, rest = known.read("masks").partition(b" ")
    monkeypatch.setattr(prepared, "FOLDER", tmp_path)
    prepared.file("masks").write_bytes(b"\xff " + rest)
    assert prepared.content("masks") is None


def test_other_random_numbers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = redrawing.drawn
    monkeypatch.setattr(redrawing, "drawn", lambda seeds: 1.01 * drawn(seeds))
    with pytest.raises(known.NoHintsError, match="made with another version of torch"):
        known.load("attention")


@pytest.mark.parametrize("exercise", QUICK)
def test_the_data_holds_no_answer(exercise: str) -> None:
    content = known.read(exercise)
    for mistake in mistakes.load(exercise):
        for edit in mistake.edits:
            for find, replace in edit.replacements:
                assert all(
                    len(text) < 20 or text.encode() not in content for text in (find, replace)
                )


def test_the_first_hint_speaks_of_one_test() -> None:
    """The line of one failing test says nothing about the numbers of another."""
    grid = Grid(((2.0,),), ((1.0,),), ((True,),), ("row 0",), ("col 0",))
    place = Place("masks.py", 7, "mask = 1", "causal_mask")
    passed = Result("masks", "a", "The first is right.")
    raised = Result("masks", "b", "B.", "", Status.FAILED, Finding("It raised.", places=(place,)))
    wrong = Result("masks", "c", "C.", "", Status.FAILED, Finding("Wrong.", grid, places=(place,)))
    known_mistakes = known.load("masks")
    first = "Right already: The first is right.\nFails: "
    assert steps([passed, raised, wrong], [], known_mistakes, "")[0].text == (
        f"{first}B. C.\nIt raised.\nmasks.py, line 7: `mask = 1`"
    )
    assert steps([passed, wrong, raised], [], known_mistakes, "")[0].text == (
        f"{first}C. B.\nRow 0 of your output sums to 2.00, not to 1."
    )


@pytest.mark.full
def test_the_board_gives_one_hint_more_each_time_and_starts_anew_with_changed_code(
    tmp_path: Path,
) -> None:
    work = WorkspaceRun(tmp_path, solved=True)
    work.edit("masks", "(ids != pad_id)", "(ids == pad_id)")
    _, first = work.pytest("exercises/test_masks.py", "--hint")
    _, second = work.pytest("exercises/test_masks.py", "--hint")
    assert "masks: hint 1" in first
    assert "masks: hint 2" in second
    assert any("What works, and what doesn't" in line for line in first)
    assert any("Right already: The causal mask is a lower triangle" in line for line in first)
    assert not any("A question" in line for line in first)
    assert any("A question" in line for line in second)
    assert not any("What is wrong" in line for line in second)
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


@pytest.mark.full(seconds=2)
def test_a_notebook_gives_one_hint_more_each_time() -> None:
    given: dict[str, Any] = {}
    tests = (ROOT / "exercises" / "test_attention.py").read_text()

    def check(source: str, number: int) -> Outcome:
        names = cell(source, number)
        return hinted(run("attention", tests, names), names, given, HintLimit())

    right = stubs.reference_source("attention")
    wrong = right.replace("math.sqrt(query.size(-1))", "query.size(-1)")
    first, second, third = as_text(check(wrong, 1)), as_html(check(wrong, 2)), check(wrong, 5)
    assert "At query 0, key 2 you have 0.414; 0.500 is expected." in first
    assert "The weights of every query sum to one over the keys." in first
    assert "A question" not in first
    assert "A question" in second
    assert "not by its square root" not in second
    assert "not by its square root" in as_text(third)
    assert "hint 1" in as_text(check(wrong.replace("query.size(-1)", "query.shape[-1]"), 3))


@pytest.mark.parametrize(
    "kept", [5, {"code": 1}, {"code": "", "count": "2"}, [], {"count": 2}, None]
)
def test_hints_begin_anew_where_the_file_of_those_given_is_damaged(kept: Any) -> None:
    given = {"attention": kept}
    both = [Hint("What is wrong", "One."), Hint("Where to read", "Two.")]
    assert len(shown("attention", "", both, given, "").hints) == 1
    assert len(shown("attention", "", both, given, "").hints) == 2


def test_a_late_hint_is_the_line() -> None:
    given: dict[str, Any] = {}
    tests = (ROOT / "exercises" / "test_attention.py").read_text()
    right = stubs.reference_source("attention")
    wrong = right.replace("math.sqrt(query.size(-1))", "query.size(-1)")
    names = cell(wrong, 4)
    outcome = run("attention", tests, names)
    shown = [as_text(hinted(outcome, names, given, HintLimit())) for _ in range(6)]
    line = "scores = query @ key.transpose(-2, -1) / query.size(-1)"
    assert line in wrong
    late = [line in item.partition("attention: hint")[2] for item in shown]
    assert late == [False, False, False, False, True, True]
    assert "Nearly the answer" in shown[-1]
    assert "That was the last hint." in shown[-1]


def test_a_form_feed_does_not_move_the_line_of_a_hint() -> None:
    right = stubs.reference_source("attention")
    wrong = right.replace("math.sqrt(query.size(-1))", "query.size(-1)")
    source = wrong.replace("import math\n", "import math\n\f\nspaced = '\u2028\x1c'\r\n", 1)
    names, data = cell(source, 9), known.load("attention")
    module = ModuleType("attention")
    module.__dict__.update(names)
    text = "scores = query @ key.transpose(-2, -1) / query.size(-1)"
    number = source.partition(text)[0].count("\n") + 1
    hints = steps([], known.diagnose(data, module, source), data, source)
    assert f"Is it line {number}?\n{text}" in [hint.text for hint in hints]
    assert NotebookWorkspace(names).line("attention", number, "").source == text


def test_a_notebook_points_to_the_line_of_a_known_mistake() -> None:
    """As the board does, and as far as the instructor wants."""
    tests = (ROOT / "exercises" / "test_attention.py").read_text()
    right = stubs.reference_source("attention")
    names = cell(right.replace("math.sqrt(query.size(-1))", "query.size(-1)"), 7)
    output = as_text(run("attention", tests, names))
    assert "Is it this line, or one near it?" in output
    assert "scores = query @ key.transpose(-2, -1) / query.size(-1)" in output
    output = as_text(run("attention", tests, names, hint_limit("question")))
    assert "Is it this line" not in output
    assert run("attention", tests, cell(right, 8)).right


def test_an_instructor_can_end_hints_at_the_question() -> None:
    given: dict[str, Any] = {}
    tests = (ROOT / "exercises" / "test_attention.py").read_text()
    wrong = stubs.reference_source("attention").replace("math.sqrt(query.size(-1))", "1.0")
    names = cell(wrong, 6)
    outcome = run("attention", tests, names)
    limit = hint_limit("question", "2999-12-01T18:00")
    shown = [as_text(hinted(outcome, names, given, limit)) for _ in range(3)]
    assert "What works, and what doesn't" in shown[0]
    assert "Ask again for the next hint." in shown[0]
    assert all("A question" in text for text in shown[1:])
    assert not any("What is wrong" in text for text in shown)
    assert (
        "No further hints until 2999-12-01 18:00: your instructor has set this limit." in shown[2]
    )
    none = as_text(hinted(outcome, names, given, hint_limit("none")))
    assert "No hints: your instructor has set this limit." in none


@pytest.mark.parametrize(
    ("last", "until", "given"),
    [
        (None, None, STEPS),
        ("none", None, ()),
        ("state", None, STEPS[:1]),
        ("mistake", date(2026, 12, 1), STEPS[:3]),
        ("mistake", "2026-12-01", STEPS[:3]),
        ("mistake", "2026-11-30", STEPS),
        ("mistake", datetime(2026, 12, 1, 11, 59), STEPS),
        ("mistake", "2026-12-01T12:01", STEPS[:3]),
        ("mistake", "2026-12-01T12:01+00:00", STEPS[:3]),
        ("mistake", "2026-12-01T12:01+01:00", STEPS),
    ],
)
def test_a_limit_of_hints_holds_up_to_its_step_and_until_its_date(
    last: object, until: object, given: tuple[str, ...]
) -> None:
    limit = hint_limit(last, until)
    zone = limit.until.tzinfo if limit.until else None
    noon = datetime(2026, 12, 1, 12, tzinfo=UTC if zone else None)
    assert tuple(step for step in STEPS if limit.allows(step, noon)) == given


@pytest.mark.parametrize(
    ("last", "until", "message"),
    [
        ("questions", None, "choose one of none, state, question"),
        (["question"], None, "choose one of"),
        ("question", "tomorrow", "write a date such as 2026-12-01"),
        ("question", 3, "write a date such as"),
        (None, "2026-12-01", 'write hints = "question"'),
    ],
)
def test_a_limit_that_means_nothing_is_refused(last: object, until: object, message: str) -> None:
    with pytest.raises(CurriculumError, match=re.escape(message)):
        hint_limit(last, until)


@pytest.mark.full(seconds=3)
def test_the_board_and_watch_read_the_limit_from_the_assignment(tmp_path: Path) -> None:
    work = WorkspaceRun(tmp_path, solved=True)
    work.edit("masks", "(ids != pad_id)", "(ids == pad_id)")
    file = tmp_path / "exercises" / "assignment.toml"
    file.write_text('exercises = ["masks"]\nhints = "none"\nuntil = 2999-12-01\n')
    _, lines = work.pytest("exercises/test_masks.py", "--hint")
    assert any("No hints until 2999-12-01 23:59" in line for line in lines)
    workspace = Workspace(tmp_path / "exercises", tmp_path)
    assert _hinted("masks", [], workspace, {}) == {"no_hint": str(workspace.limit_of_hints)}
    file.write_text('exercises = ["masks"]\nhints = "all"\n')
    _, lines = work.pytest("exercises/test_masks.py", "--hint")
    assert any("choose one of none, state" in line for line in lines)


def test_watch_says_what_is_right_already(tmp_path: Path) -> None:
    workspace = Workspace(WorkspaceRun(tmp_path, solved=True).folder, tmp_path)
    results = [
        Result("masks", "a", "The first is right."),
        Result("masks", "b", "B.", "", Status.FAILED, Finding("It raised.")),
    ]
    said = _hinted("masks", results, workspace, {})
    assert "Right already: The first is right." in str(said["hint"])


def grid(yours: list[list[float]], expected: list[list[float]], **more: Any) -> Finding:
    pairs = zip(yours, expected, strict=True)
    differs = tuple(tuple(a != b for a, b in zip(*rows, strict=True)) for rows in pairs)
    rows = tuple(f"query {number}" for number in range(len(yours)))
    columns = tuple(f"key {number}" for number in range(len(yours[0])))
    as_rows = [tuple(map(tuple, side)) for side in (yours, expected)]
    return Finding("Wrong.", Grid(as_rows[0], as_rows[1], differs, rows, columns, **more))


def test_the_students_own_numbers_are_quoted() -> None:
    weights = grid([[0.5, 0.5], [0.9, 0.41]], [[0.5, 0.5], [0.7, 0.3]])
    assert quoting.numbers(weights) == "Query 1 of your output sums to 1.31, not to 1."
    scores = grid([[1.0, 2.5]], [[1.0, -2.0]])
    assert quoting.numbers(scores) == "At query 0, key 1 you have 2.500; -2.000 is expected."
    lost = grid([[1.0, float("nan")]], [[9.0, 2.0]])
    assert "you have NaN; 2.000 is expected" in quoting.numbers(lost)
    mask = grid([[1.0, 1.0]], [[1.0, 0.0]], kind="bool")
    assert quoting.numbers(mask) == "At query 0, key 1 you have True; False is expected."
    twice = grid([[1.0, 1.5]], [[1.0, 1.0]], sides=("second call", "first call"))
    assert quoting.numbers(twice) == (
        "At query 0, key 1 your code gives 1.500 (second call) and 1.000 (first call)."
    )
    assert quoting.numbers(Finding("A wrong shape.")) == "A wrong shape."
    raised = Finding("Your code raised ValueError: no", places=(Place("masks.py", 7),))
    assert quoting.numbers(raised) == ""


def test_the_students_own_line_is_quoted() -> None:
    place = Place("attention.py", 42, "return value @ weights")
    quoted = "attention.py, line 42: `return value @ weights`"
    assert quoting.line((place,)) == quoted


@pytest.mark.parametrize("exercise", NAMES)
def test_no_hint_says_a_line_of_the_answer(exercise: str) -> None:
    """The last hint goes as far as what to change, and leaves the writing."""
    lines = answers([exercise])[exercise]
    for mistake in mistakes.load(exercise):
        texts = (mistake.tells, mistake.asks, mistake.read, mistake.nearly)
        assert not [line for line in lines for text in texts if line in text], mistake.name


@pytest.mark.parametrize("exercise", NAMES)
def test_the_last_hint_says_more_than_the_first_two(exercise: str) -> None:
    for mistake in mistakes.load(exercise):
        assert mistake.nearly not in {mistake.tells, mistake.asks}, mistake.name
        assert not mistake.nearly.endswith("?"), mistake.name


@pytest.mark.parametrize("exercise", NAMES)
def test_every_mistake_has_a_last_hint(exercise: str) -> None:
    assert not [mistake.name for mistake in mistakes.load(exercise) if not mistake.nearly]
