"""The architecture is lit up by what is done: in a picture and as text, with the same states."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

from grader.board.notebook_rendering import so_far
from grader.curriculum import NAMES, architecture
from grader.curriculum.exercises import EXERCISES
from grader.feedback.finding import Status
from grader.feedback.results import ExerciseResult
from grader.report.html import _lit

CORE = [exercise.name for exercise in EXERCISES if exercise.core]


def groups(svg: str) -> dict[str, str]:
    return dict(re.findall(r'<g data-exercises="([\w ]+)" class="(\w+)">', svg))


def test_a_part_is_done_when_all_of_its_assigned_exercises_are() -> None:
    lit = groups(architecture.picture({"attention", "layer_norm"}, CORE))
    assert lit["sublayer layer_norm dropout"] == "done"
    assert lit["multi_head attention masks"] == "begun"
    assert lit["feed_forward activations"] == "open"
    assert lit["decoder"] == "provided"
    whole = groups(architecture.picture(NAMES, NAMES))
    assert set(whole.values()) == {"done"}


def test_the_text_and_the_picture_know_the_same_parts() -> None:
    drawn = {frozenset(names.split()) for names in groups(architecture.picture((), NAMES))}
    parts_in_text = {frozenset(part[1]) for row in architecture.ROWS for part in row if part[1]}
    assert parts_in_text <= drawn
    assert {name for names in drawn for name in names} <= set(NAMES)
    assert len(architecture.ROWS) <= 11


def test_the_lit_picture_is_whole_xml_and_says_in_words_what_is_done() -> None:
    address = architecture.address({"masks"}, CORE)
    svg = base64.b64decode(address.partition(",")[2])
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert architecture.caption({"masks"}, CORE).endswith("Done: masks.")
    assert "nothing yet" in architecture.caption((), CORE)


def test_a_page_has_the_picture_once_something_of_it_is_done() -> None:
    def result(name: str, passed: bool) -> ExerciseResult:
        status = Status.PASSED if passed else Status.FAILED
        return ExerciseResult(name, status, 1.0 if passed else 0.0, 1.0)

    page = _lit([result("masks", True), result("attention", False)])
    assert "Done: masks." in page
    assert "data:image/svg+xml;base64," in page
    assert not _lit([result("masks", False), result("attention", False)])
    assert not _lit([result("optimiser", True), result("subwords", True)])
    assert not _lit([result("masks", True)])


def test_a_notebook_folds_the_picture() -> None:
    assert so_far({"masks", "attention"}).startswith("<details><summary>")
    assert not so_far({"optimiser"})
