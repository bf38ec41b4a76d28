"""`%check` on code that does whatever it likes: a verdict in words and a page, neither obeyed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from grader.board import failure
from grader.board.magics import _outcome
from grader.board.notebook_rendering import as_html, as_text
from grader.curriculum import find
from grader.feedback.finding import Status
from solutions import subwords, training

CODES = "\x1b[2J\x1b]0;owned\x07\x9b2J\u202e<script>alert(1)</script>"


class _UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class _Agreeable:
    __class__ = property(lambda _: 1 / 0)

    def __eq__(self, other: object) -> bool:
        return True

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(name)


def _raises(error: BaseException) -> Callable[..., Any]:
    def raises(*_: Any, **__: Any) -> NoReturn:
        raise error

    return raises


def _endless(*_: Any, **__: Any) -> Any:
    return _endless()


ODD: dict[str, Any] = {
    "codes in a text": _raises(ValueError(CODES)),
    "codes in a name": _raises(type(CODES, (ValueError,), {})(CODES)),
    "codes that are printed": lambda *_: print(CODES),  # noqa: T201
    "a text that raises": _raises(_UnspeakableError()),
    "the end of Python": _raises(SystemExit(0)),
    "endless recursion": _endless,
    "an object that agrees": lambda *_: _Agreeable(),
    "a long text": lambda *_: "x" * 10**7,
    "no function": None,
}


@pytest.mark.full
@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_it_is_told_in_words_that_nothing_obeys(answer: Any) -> None:
    names = dict.fromkeys(find("masks").entries, answer)
    outcome = _outcome("masks", "", {**names, "torch": 3, "print": 4})
    assert outcome.status is Status.FAILED
    text, page = as_text(outcome), as_html(outcome)
    assert text.replace("\n", "").isprintable()
    assert page.replace("\n", "").replace("\t", "").isprintable()
    assert "<script>" not in page
    assert len(text) + len(page) < 50_000


def test_what_raises_while_it_is_explained_is_told_as_it_was_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(failure, "_explain_error", lambda *_: 1 / 0)
    outcome = _outcome("masks", "", dict.fromkeys(find("masks").entries, ODD["codes in a text"]))
    assert outcome.status is Status.FAILED
    assert "ValueError" in as_text(outcome)


def test_what_is_not_defined_yet_keeps_no_other_function_from_being_tested() -> None:
    names = {**vars(training), "teacher_forcing": lambda target: (target, target)}
    del names["noam_rate"]
    outcome = _outcome("training", "", names)
    statuses = [result.status for result in outcome.results]
    assert [statuses.count(status) for status in (Status.PASSED, Status.FAILED)] == [8, 1]
    assert as_text(outcome).startswith(
        "training: wrong, 8 of 10 tests passed. noam_rate is not defined. Run its cell first."
    )
    assert "The shape of your decoder's input" in as_text(outcome)
    nothing = _outcome("masks", "", {})
    sentence = "padding_mask, causal_mask and target_mask are not defined. Run their cells first."
    assert sentence in as_text(nothing)
    assert nothing.status is Status.TODO


def test_the_tests_see_what_the_exercise_gives_besides_its_functions() -> None:
    """The tests of subwords use its regular expression, too."""
    assert _outcome("subwords", "", vars(subwords)).right


def test_only_the_first_test_that_fails_is_explained_unless_all_are_asked_for() -> None:
    names = {name: lambda *_: None for name in find("masks").entries}
    outcome = _outcome("masks", "", names)
    titles = [result.title for result in outcome.results if result.status is Status.FAILED]
    assert len(titles) > 2
    short, full = as_text(outcome), as_text(outcome, in_full=True)
    assert titles[0] in short
    assert titles[-1] not in short
    assert short.endswith(
        "more tests fail, perhaps for the same reason. To see all: %check masks --all"
    )
    assert titles[-1] in full
    assert "--all" not in full
    assert as_html(outcome).count("<details>") == 1
    assert as_html(outcome, in_full=True).count("<details open>") == 1
