"""The pictures of the texts: drawn from what the answers compute, shown wherever the texts are."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest
import torch

from grader.course import building, cleaning
from grader.curriculum import EXERCISES, NAMES, Exercise, reference
from grader.pictures import beam, diagrams
from grader.pictures.path import path
from grader.pictures.svg import Drawing

ROOT = Path(__file__).parent.parent
DRAWN = ("masks", "multi_head", "positional", "rope", "sublayer", "training", "decoding")
FILES = [ROOT / "exercises" / "pictures" / f"{name}.svg" for name in ("path", *DRAWN)]


def count(drawing: Drawing, kind: str) -> int:
    return drawing.svg().count(f'rx="3" class="{kind}"')


def test_there_is_a_picture_of_what_is_easier_seen_than_said() -> None:
    assert set(diagrams.drawings(reference.module, EXERCISES)) == {"path", *DRAWN}
    assert set(DRAWN) <= set(NAMES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_picture_is_small_says_what_it_shows_and_neither_runs_nor_loads_anything(
    file: Path,
) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.encode()) < 40_000
    title, description = (found.text or "" for found in ElementTree.fromstring(text)[:2])
    assert len(title) > 20
    assert len(description) > 150
    assert "prefers-color-scheme:dark" in text
    outside = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"<script|\bon\w+=|href|url\(|http|@import", outside)
    readme = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8")
    assert f"![{description}](pictures/{file.name})" in readme


def test_the_masks_in_the_picture_are_those_of_the_answer() -> None:
    answer = reference.module("masks")
    assert count(diagrams.masks(answer), "full") == 5 * 3 + 15 + 12
    inverted = SimpleNamespace(
        padding_mask=answer.padding_mask,
        target_mask=answer.target_mask,
        causal_mask=lambda length: ~answer.causal_mask(length),
    )
    assert count(diagrams.masks(cast(Any, inverted)), "full") == 5 * 3 + 10 + 12


@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_tree_of_the_beam_ends_where_the_answers_search_ends(width: int) -> None:
    best = beam.steps(width)[-1][0]
    assert beam.found(reference.module("decoding"), width) == " ".join(best.words[1:])


def test_in_the_picture_the_beam_finds_what_greed_misses() -> None:
    answer = reference.module("decoding")
    assert beam.found(answer, 0) == "the cat sat <end>"
    assert beam.found(answer, 2) == "a dog <end>"


def test_the_model_of_the_beam_is_one_that_the_exercise_takes() -> None:
    model = beam.Bigrams()
    logits = model(torch.tensor([[1]]), torch.tensor([[beam.START]]))
    assert logits.exp().sum().item() == pytest.approx(1.0, abs=1e-6)


def test_an_exercise_that_is_new_has_its_place_on_the_map() -> None:
    text = path([*EXERCISES, Exercise("lora", 5, ("Lora",), needs=("linear",))]).svg()
    assert ">lora</text>" in text
    assert "lora is built of linear." in text


@pytest.mark.parametrize("name", DRAWN)
def test_a_notebook_holds_the_picture_and_the_feedback_page_shows_it(name: str) -> None:
    cells = building.notebook("assignment", [name]).cells
    (index,) = (
        i for i, cell in enumerate(cells) if cell.metadata["grader"]["part"] == f"{name}-picture"
    )
    assert cells[index - 1].metadata["grader"]["part"] == f"{name}-text"
    shown = cleaning.markdown(cells[index].source)
    (address,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', shown)
    assert (
        base64.b64decode(address) == (ROOT / "exercises" / "pictures" / f"{name}.svg").read_bytes()
    )
    assert re.search(r'alt="[^"]{150,}"', shown)


@pytest.mark.parametrize(
    "address",
    ["data:text/html,<b>", "da\tta:text/html,x", "DATA:text/html,x", "&#100;ata:text/html,x"],
)
def test_a_link_to_data_is_no_picture_and_goes(address: str) -> None:
    for clean in (cleaning.markdown, cleaning.piece):
        assert "href" not in clean(f'<a href="{address}">look</a>')
    assert "src" not in cleaning.markdown(f'<img src="{address}">')
