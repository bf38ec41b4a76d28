"""An entry that is begun from a wrong answer makes that mistake of the right one."""

from __future__ import annotations

import ast
import tomllib

import pytest

from grader import curriculum
from grader.curriculum import mistakes, stubs
from grader.quality import entry
from grader.quality.entry import EntryError


def functions(source: str) -> list[str]:
    """What the functions of a module do, without the words about it."""
    results = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return [
        ast.dump(ast.Module(item.body[bool(ast.get_docstring(item)) :], [])) for item in results
    ]


@pytest.mark.full(but=("masks",))
@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_every_known_mistake_can_be_begun_anew_from_the_answer_that_has_it(exercise: str) -> None:
    answer, begun = stubs.solution(exercise), 0
    for mistake in mistakes.load(exercise):
        if mistake.edits[0].form:
            continue
        wrong = mistake.apply(answer)
        if len(functions(wrong)) > len(functions(answer)):
            continue  # a class that the answer does not have
        try:
            text = entry.begin(exercise, answer, wrong)
        except EntryError:
            continue  # what it changes is no function's body: a default, a base class
        (row,) = tomllib.loads(text)["mistake"]
        again = answer
        for find, replace in row.get("edits") or [(row["find"], row["replace"])]:
            assert again.count(find) == 1, mistake.name
            again = again.replace(find, replace)
        assert functions(again) == functions(wrong), mistake.name
        begun += 1
    assert begun > len(mistakes.load(exercise)) / 3


def test_what_does_the_same_begins_no_entry() -> None:
    answer = stubs.solution("masks")
    with pytest.raises(EntryError, match="no function that does something else"):
        entry.begin("masks", answer, answer.replace("ids != pad_id", "ids  !=  pad_id"))
    with pytest.raises(EntryError, match="not valid Python"):
        entry.begin("masks", answer, "def causal_mask(:\n")


def test_helpers_that_the_edit_does_not_bring_along_are_named() -> None:
    answer = stubs.solution("masks")
    assert entry.helpers(answer, answer + "\n\ndef square(n):\n    return n\n") == ["square"]
