"""Reports and unfinished runs that are damaged, or made to harm: a sentence, and what to do."""

from __future__ import annotations

import copy
import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.feedback.results import Report, submission_fields
from grader.report.data import write_json
from grader.report.store import Store, StoreError
from tests.report.test_store import PLAN, RESULT


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report that is whole."""
    file = tmp_path / "grades.json"
    write_json(Report(7, "jail", (RESULT,)), file)
    return file


def reported(file: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit status of `grader report`."""
    pages = str(file.with_name("pages"))
    monkeypatch.setattr(sys, "argv", ["grader", "report", str(file), "--html", pages])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert type(ended.value.code) is int
    return ended.value.code


TEXTS = {
    "no number": '{"schema": 1, "seed": 7, "isolation": "jail", "submissions": NaN}',
    "a huge number": '{"schema": 1, "seed": 1' + "0" * 400 + "}",
    "a number of 5000 digits": "1" * 5000,
    "a float without end": '{"seed": 1e999}',
    "nested brackets": "[" * 100_000,
    "nested to the end": "[" * 100_000 + "]" * 100_000,
    "cut off": '{"schema": 1, "seed": 7, "submissions": [{"subm',
    "nothing": "",
    "a list": "[1, 2]",
    "a text": '"\\u001b[2J"',
    "zeros": "\0" * 512,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_report_that_is_none_is_told_in_a_sentence(
    report: Path,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report.write_text(text)
    assert reported(report, monkeypatch) == 2
    output = capsys.readouterr().err
    assert output.startswith(f"{report} is damaged, or not a report that `grader grade --json`")
    assert "elete" not in output, "it may be anything of the instructor's"
    assert len(output.splitlines()) == 1
    assert output.strip().isprintable()


HOSTILE = [10**400, 10**18, -1, 1e300, [], {}, "\x1b[2J", None, True, [[[]]], {"a": {}}]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from leaves(item, (*path, key))


@pytest.mark.full(seconds=3)
def test_one_damaged_field_is_shown_or_told_and_never_a_traceback(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(report.read_text())
    # One of each kind of field, whatever the number of checks.
    kinds = {tuple(key for key in path if isinstance(key, str)): path for path in leaves(whole)}
    statuses = set()
    for number, path in enumerate(kinds.values()):
        damaged = copy.deepcopy(whole)
        inner = damaged
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = HOSTILE[number % len(HOSTILE)]
        report.write_text(json.dumps(damaged))
        statuses.add(reported(report, monkeypatch))
    assert statuses == {0, 2}


UNSEEN = (
    "\x1b[2J", "\x9b2J", "\u202eabc", "\x07", "a\rb", "\u2028", "[/red]", "[link=x]y",
)  # fmt: skip


def test_whatever_a_text_holds_no_terminal_obeys_it(
    report: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    over = {"submission": "a", "path": "p", "reason": "r", "work": True}
    whole = {**json.loads(report.read_text()), "passed_over": [over]}
    texts = [path for path in leaves(whole) if isinstance(_at(whole, path), str)]
    statuses = set()
    for number, path in enumerate(texts):
        damaged = copy.deepcopy(whole)
        _at(damaged, path[:-1])[path[-1]] = UNSEEN[number % len(UNSEEN)]
        report.write_text(json.dumps(damaged))
        statuses.add(reported(report, monkeypatch))
        output = "".join(capsys.readouterr())
        assert output.replace("\n", "").isprintable(), (path, output)
    assert statuses == {0, 2}


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def partial(file: Path) -> Path:
    """A store with one result."""
    with Store(file, PLAN, resume=False) as store:
        store.add("digest", RESULT)
    return file


def changed(file: Path, statement: str, *values: object) -> None:
    database = sqlite3.connect(file)
    with database:
        database.execute(statement, values)
    database.close()


def overwritten(file: Path, start: int) -> None:
    data = bytearray(file.read_bytes())
    data[start : start + 3000] = b"\xa5" * len(data[start : start + 3000])
    file.write_bytes(data)


FIELDS = submission_fields(RESULT)
DAMAGES: dict[str, Callable[[Path], object]] = {
    "its first page": lambda file: overwritten(file, 0),
    "its schema": lambda file: overwritten(file, 100),
    "its tables": lambda file: overwritten(file, 4096),
    "its results": lambda file: overwritten(file, 8192 + 1096),
    "cut off": lambda file: file.write_bytes(file.read_bytes()[:5000]),
    "a plan of no form": lambda file: changed(file, "UPDATE plan SET json = '[]'"),
    "a plan without end": lambda file: changed(file, "UPDATE plan SET json = ?", "[" * 99_999),
    "a result of no form": lambda file: changed(file, "UPDATE results SET json = '{}'"),
    "a result of bytes": lambda file: changed(file, "UPDATE results SET json = ?", b"\xff"),
    "a result of nothing": lambda file: changed(file, "UPDATE results SET json = NULL"),
    "points without end": lambda file: changed(
        file, "UPDATE results SET json = ?", json.dumps({**FIELDS, "points": 10**400})
    ),
    "other columns": lambda file: changed(file, "ALTER TABLE results RENAME json TO text"),
    "another plan": lambda file: changed(file, "ALTER TABLE plan RENAME json TO text"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_store_says_what_to_do(tmp_path: Path, name: str) -> None:
    file = partial(tmp_path / "grades.json.partial")
    DAMAGES[name](file)
    with pytest.raises(StoreError) as refused, Store(file, PLAN, resume=True) as store:
        store.results()
    assert str(refused.value).startswith(f"{file} is damaged")
    assert "Move it elsewhere" in str(refused.value)


def test_a_folder_in_the_place_of_the_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Store(tmp_path, PLAN, resume=True)
