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
from grader.pictures import bigrams
from tests import ROOT
from tests.tools.drawings import beam, diagrams
from tests.tools.drawings.architecture import architecture
from tests.tools.drawings.attention import attention
from tests.tools.drawings.embedding import embedding
from tests.tools.drawings.normalised import normalised
from tests.tools.drawings.path import path
from tests.tools.drawings.svg import Drawing
from tests.tools.drawings.three_masks import three_masks

DRAWN = (
    "masks",
    "attention",
    "multi_head",
    "positional",
    "rope",
    "embedding",
    "layer_norm",
    "sublayer",
    "encoder",
    "decoder",
    "transformer",
    "training",
    "decoding",
)
# Those of the whole path, which belong to no single exercise.
OVERVIEWS = ("architecture", "path")
FILES = [ROOT / "exercises" / "pictures" / f"{name}.svg" for name in (*OVERVIEWS, *DRAWN)]


def count(drawing: Drawing, kind: str) -> int:
    return drawing.svg().count(f'rx="3" class="{kind}"')


def test_there_is_a_picture_of_what_is_easier_seen_than_said_and_it_is_up_to_date() -> None:
    drawings = diagrams.drawings()
    assert set(drawings) == {*OVERVIEWS, *DRAWN}
    assert set(DRAWN) <= set(NAMES)
    for name, drawing in drawings.items():
        text = (diagrams.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert text == drawing.svg(), "run: python -m tests.tools.drawings.diagrams"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_picture_is_small_says_what_it_shows_and_neither_runs_nor_loads_anything(
    file: Path,
) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.encode()) < 40_000
    title, description = (item.text or "" for item in ElementTree.fromstring(text)[:2])
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


def test_the_weights_in_the_picture_of_attention_are_those_of_the_answer() -> None:
    text = attention(reference.module("attention")).svg()
    assert "weights are 0.05 for “the”, 0.77 for “cat” and 0.19 for “sat”" in text
    unscaled = SimpleNamespace(
        attention=lambda query, key, value: (value, (query @ key.T).softmax(-1))
    )
    assert "0.02 for “the”, 0.87 for “cat”" in attention(cast(Any, unscaled)).svg()


@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_tree_of_the_beam_ends_where_the_answers_search_ends(width: int) -> None:
    best = beam.steps(width)[-1][0]
    assert beam.decoded(reference.module("decoding"), width) == " ".join(best.words[1:])


def test_the_picture_of_decoding_shows_the_example_of_its_text() -> None:
    answer = reference.module("decoding")
    text = answer.__doc__ or ""
    for share in [share for row in beam.NEXT.values() for share in row.items()]:
        assert "{} {:.2f}".format(*share).rstrip("0") in text
    assert "0.6 * 0.5 = 0.30" in text
    assert "0.4 * 0.9 = 0.36" in text
    assert beam.decoded(answer, 0) == "a end"
    assert beam.decoded(answer, 2) == "b end"
    assert {">p = 0.30<", ">p = 0.36<"} <= set(re.findall(r">p = [\d.]+<", beam.beam(answer).svg()))


def test_the_picture_of_the_embedding_adds_positions_to_scaled_rows() -> None:
    answer = reference.module("embedding")
    assert ">2.2</text>" in embedding(answer).svg()  # 2 * 0.6 + cos(1 / 100)
    unscaled = SimpleNamespace(TransformerEmbedding=_unscaled(answer))
    assert ">2.2</text>" not in embedding(cast(Any, unscaled)).svg()


def _unscaled(answer: Any) -> Any:
    def make(*arguments: Any, **options: Any) -> Any:
        module = answer.TransformerEmbedding(*arguments, **options)
        module.token.d_model = 1
        return module

    return make


def test_the_picture_of_layer_norm_compares_it_with_batch_norm() -> None:
    answer = reference.module("layer_norm")
    picture = normalised(answer).svg()
    assert picture.count(">-1.3</text>") == 2  # the two coloured tokens come out alike
    by_hand = SimpleNamespace(LayerNorm=torch.nn.Identity)
    assert ">-1.3</text>" not in normalised(cast(Any, by_hand)).svg()


def test_the_masks_of_the_whole_model_are_those_of_the_answer() -> None:
    assert count(three_masks(reference.module("masks")), "full") == 4 * 3 + (1 + 2 + 3 + 4 + 4) + 15


@pytest.mark.parametrize("name", DRAWN)
def test_a_text_names_its_picture(name: str) -> None:
    assert f"exercises/pictures/{name}.svg" in (reference.module(name).__doc__ or "")


def test_the_model_of_the_beam_is_one_that_the_exercise_takes() -> None:
    model = bigrams.Bigrams()
    logits = model(torch.tensor([[1]]), torch.tensor([[bigrams.START]]))
    assert logits.exp().sum().item() == pytest.approx(1.0, abs=1e-6)


def test_every_box_of_the_architecture_names_its_exercises_and_the_lesson_links_them() -> None:
    text = architecture().svg()
    boxes = re.findall(r'rx="4".*\n<text.*\n<text[^>]*small">([\w, ]+)</text>', text)
    assert len(boxes) == text.count('rx="4"')
    named = {name for box in boxes for name in box.split(", ")}
    assert named <= set(NAMES)
    readme = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8")
    lesson = readme.partition("## What a Transformer is")[2].partition("\n## ")[0]
    for name in named | {"encoder", "decoder", "transformer", "masks"}:
        assert f"[{name}]({name}.py)" in lesson


def test_an_arrow_of_the_map_leads_to_the_right() -> None:
    placed = {
        text: float(x)
        for x, text in re.findall(r'<text x="([\d.]+)"[^>]*>(\w+)</text>', path(EXERCISES).svg())
    }
    for exercise in EXERCISES:
        for need in exercise.needs:
            assert placed[need] <= placed[exercise.name], f"{need} to {exercise.name}"


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
