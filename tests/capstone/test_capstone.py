"""The capstone: dates, a short training, whose pieces a model is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import curriculum, pictures
from grader.capstone import dates, looking
from grader.capstone.date_learner import DateLearner
from grader.capstone.dates import STYLES, Dates
from grader.capstone.events import Report, Translation
from grader.capstone.exam import Learnt
from grader.capstone.pieces import Pieces, Sources, entries_of
from grader.capstone.task import Plan
from grader.capstone.training import tensors
from grader.curriculum import stubs, whole_model
from tests.tools.capstone_runs import DATES, FEW, right, run


@pytest.fixture
def reference() -> Iterator[Pieces]:
    pieces = Pieces(Sources({}, {name: right(name) for name in DATES.entries}, {}))
    yield pieces
    pieces.close()


# --- the dates


def test_no_text_stands_for_two_dates_and_every_character_is_known() -> None:
    dates_by_text: dict[str, str] = {}
    first = date(2007, 1, 1)
    for day in (first + timedelta(days=number) for number in range(0, 3 * 365, 2)):
        for style in STYLES:
            text = style.write(day)
            assert dates_by_text.setdefault(text, day.isoformat()) == day.isoformat(), text
            assert dates.UNKNOWN not in dates.encode_source(text), text
            assert text == dates.tidy(text.upper().replace(" ", "  ")) or "İ" in text.upper()


def test_an_iso_date_survives_being_encoded() -> None:
    ids = dates.encode_target("2026-11-21")
    assert len(ids) == dates.OUTPUT_LENGTH
    assert dates.decode_target([*ids, dates.PAD]) == "2026-11-21"


def test_dates_look_as_people_write_them() -> None:
    day = date(2026, 11, 21)
    texts = {style.write(day) for style in STYLES}
    assert {
        "sat 21 nov 2026",
        "november 21st, 2026",
        "21. november 2026",
        "21 de noviembre de 2026",
        "2026年11月21日",
        "21.11.2026",
    } <= texts
    assert len({style.language.name for style in STYLES}) >= 10


def test_two_digits_are_never_a_year_of_the_last_century() -> None:
    short = [style for style in STYLES if "{yy}" in style.template]
    assert short
    assert not any(style.writes(date(1926, 11, 21)) for style in short)


def test_no_date_that_is_held_out_is_ever_trained_on() -> None:
    data = Dates(5)
    seen = {pair.target for pair in data.training_pairs(20_000)}
    held_out = {pair.target for pair in data.held_out_pairs(1100)}
    assert not seen & held_out
    assert len(held_out) > 1000
    assert {pair.language for pair in data.held_out_pairs(110)} == {
        style.language.name for style in STYLES
    }


def test_the_same_seed_draws_the_same_dates() -> None:
    first, same, other = (Dates(seed).training_pairs(50) for seed in (1, 1, 2))
    assert first == same
    assert first != other


# --- the training


@pytest.mark.full(seconds=4)
def test_a_short_training_gets_the_loss_down_and_can_be_repeated(reference: Pieces) -> None:
    weights = []
    for _ in range(2):
        reports: list[Report] = []
        made = DateLearner(entries_of(reference, DATES.entries), Plan(600, 1, steps=30))
        batch = tensors(made.data.held_out_pairs(64))
        before = made.loss_of(*batch).item()
        made.run(lambda: False, reports.append)
        assert reports[-1].step == made.step == 30
        assert made.loss_of(*batch).item() < 0.9 * before
        weights.append([weight.detach() for weight in made.weights])
    torch.testing.assert_close(*weights)


def test_the_embedding_is_drawn_as_it_lies_in_its_plane(reference: Pieces) -> None:
    made = DateLearner(entries_of(reference, DATES.entries), Plan(600, 1, steps=1))
    characters = dates.source_characters()
    plane = torch.randn(len(characters), 2, generator=torch.Generator().manual_seed(0))
    table = made.model.src_embedding.token.embedding.weight.data
    table.zero_()
    table[dates.encode_source(characters), 3:5] = plane
    trained = made.conclude(False)
    points = torch.tensor(trained.embedding)
    torch.testing.assert_close(torch.pdist(points), torch.pdist(plane), atol=1e-3, rtol=0)
    figure = DATES.figures(Learnt(**vars(trained)), [])["embedding"]
    (axes,) = figure.axes
    assert {label.get_text() for label in axes.texts} == set(pictures.style.readable(characters))
    groups = {line.get_text() for line in axes.get_legend().get_texts()}
    assert {"digits", "Latin", "Cyrillic"} < groups


def test_the_cross_attention_is_that_of_the_students_model(reference: Pieces) -> None:
    model = reference.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()
    seen: list[torch.Tensor] = []
    src, tgt = torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([[1, 4, 5]])
    result = looking.cross_attention(model, src, tgt, 2, 2)

    def keep(module: Any, inputs: tuple[torch.Tensor, ...]) -> None:
        query, key, _ = inputs[:3]
        torch_layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        maps = [getattr(module, f"{item}_proj") for item in "qkv"]
        torch_layer.in_proj_weight.data = torch.cat([linear.weight for linear in maps])
        torch_layer.in_proj_bias.data = torch.cat([one.bias for one in maps])
        seen.append(torch_layer(query, key, key, average_attn_weights=False)[1][0].detach())

    for layer in model.decoder.layers:
        layer.cross_attn.register_forward_pre_hook(keep)
    model.decode(tgt, model.encode(src), src)
    torch.testing.assert_close(result, torch.stack(seen).double(), atol=1e-3, rtol=0)


def test_the_cross_attention_is_told_from_self_attention_of_the_same_size(
    reference: Pieces,
) -> None:
    torch.manual_seed(0)
    model = reference.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()
    src, tgt = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 4, 5]])
    result = looking.cross_attention(model, src, tgt, 2, 2)
    assert result.shape == (2, 2, 3, 3)
    assert (result > 0).all(), "self-attention hides what comes later"


def test_a_softmax_written_out_by_hand_is_seen_all_the_same() -> None:
    own = right("attention").replace(
        "scores.softmax(dim=-1)",
        "(lambda e: e / e.sum(-1, keepdim=True))((scores - scores.amax(-1, keepdim=True)).exp())",
    )
    assert own != right("attention")
    kit = {name: right(name) for name in DATES.entries}
    tables = []
    for sources in (Sources({}, kit, {}), Sources({"attention": own}, kit, {})):
        pieces = Pieces(sources)
        torch.manual_seed(0)
        model = pieces.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()
        src, tgt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 4]])
        tables.append(looking.cross_attention(model, src, tgt, 2, 2))
        pieces.close()
    torch.testing.assert_close(*tables)


# --- whose code it is


def test_what_is_not_written_is_the_kits_and_it_is_said() -> None:
    begun = stubs.stub(stubs.solution("training"), "training").replace(
        'raise NotImplementedError("training: teacher_forcing is not written yet")',
        "return tgt[:, :-1], tgt[:, 1:]",
    )
    stub = stubs.stub(stubs.solution("masks"), "masks")
    model = whole_model.gather(
        {"training": begun, "masks": stub, "attention": right("attention")}, DATES.entries
    )
    assert set(model.own) == {"training", "attention"}
    assert model.lent == {"training": ["initialise", "noam_rate", "label_smoothed_loss"]}
    first, second = model.words(DATES.entries)
    assert "masks" in first
    assert "noam_rate" in second
    pieces = Pieces(Sources(**asdict(model)))
    entries = entries_of(pieces, DATES.entries)
    pieces.close()
    assert entries["noam_rate"](1, 64, 4) == pytest.approx(1 / 64)


def test_a_piece_of_the_kit_builds_on_the_students_own_of_the_same_file() -> None:
    text = right("encoder")
    cut = text.index("class Encoder(")
    begun = (
        text[:cut] + "class Encoder:\n"
        "    def __init__(self):\n        raise NotImplementedError('is not written yet')\n"
    )
    pieces = Pieces(Sources(**asdict(whole_model.gather({"encoder": begun}, DATES.entries))))
    module = pieces.module("encoder")
    assert type(module.Encoder(1, 8, 2, 16).layers[0]) is module.EncoderLayer
    pieces.close()


def test_a_piece_may_use_an_exercise_that_no_model_needs() -> None:
    source = f"from exercises.activations import relu\n{right('feed_forward')}"
    own = {"feed_forward": source, "activations": right("activations")}
    model = whole_model.gather(own, DATES.entries)
    assert not any("activations" in sentence for sentence in model.words(DATES.entries))
    pieces = Pieces(Sources(**asdict(model)))
    assert pieces.module("feed_forward").relu is pieces.module("activations").relu
    pieces.close()


def test_an_edition_without_answers_names_the_exercise_to_write_first(tmp_path: Path) -> None:
    with pytest.raises(curriculum.CurriculumError, match="Write masks first"):
        whole_model.gather({"attention": right("attention")}, DATES.entries, tmp_path)


def test_after_the_training_it_translates_what_is_typed() -> None:
    *_, learnt, first, second = run({}, "  21 Nov 2026 ", "21 ☃ 2026")
    assert isinstance(learnt, Learnt)
    assert learnt.count == FEW
    assert not learnt.faults
    assert isinstance(first, Translation)
    assert first.source == "21 nov 2026"
    assert isinstance(second, Translation)
    assert second.unknown == "☃"
