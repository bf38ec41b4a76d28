"""The capstone: dates, a short training, what is said when a model does not learn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import curriculum, pictures
from grader.capstone import advice, child, dates, looking, notebook, parts, probing, report, wholes
from grader.capstone.dates import STYLES, Dates
from grader.capstone.events import (
    Event,
    Failure,
    Learnt,
    Progress,
    ProtocolError,
    Translation,
    event_from,
    line_of,
)
from grader.capstone.pieces import Pieces, Sources, entries_of
from grader.capstone.session import own_process
from grader.capstone.training import Plan, Training, tensors
from grader.curriculum import handed_out, mistakes, stubs, whole_model

VARIANTS = Path(__file__).parent / "variants"
FEW = 66  # unseen dates to translate at the end


def right(name: str) -> str:
    return stubs.reference_source(name)


def wrong(exercise: str, name: str) -> str:
    (mistake,) = [one for one in mistakes.load(exercise) if one.name == name]
    return mistake.apply(right(exercise).replace("from exercises", "from solutions")).replace(
        "from solutions", "from exercises"
    )


def job(own: dict[str, str], steps: int) -> dict[str, Any]:
    return {
        "sources": asdict(whole_model.gather(own)),
        "entries": whole_model.entries(),
        "plan": {"seconds": 600, "seed": 3, "steps": steps, "unseen": FEW},
    }


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def reference() -> Iterator[Pieces]:
    pieces = Pieces(Sources({}, {name: right(name) for name in whole_model.EXERCISES}, {}))
    yield pieces
    pieces.close()


def run(own: dict[str, str], *asked: str) -> list[Event]:
    """All that the process would say of these files after a single step, and to what is asked."""
    lines = [{**job(own, steps=1), "patience": 60.0}, *({"translate": one} for one in asked)]
    writing = StringIO()
    reading = StringIO("".join(json.dumps(line) + "\n" for line in lines))
    child.Worker(reading, writing).work()
    return [event_from(line) for line in writing.getvalue().splitlines()]


# --- the dates


def test_no_text_stands_for_two_dates_and_every_character_is_known() -> None:
    meant: dict[str, str] = {}
    first = date(2007, 1, 1)
    for day in (first + timedelta(days=number) for number in range(0, 3 * 365, 2)):
        for style in STYLES:
            text = style.write(day)
            assert meant.setdefault(text, day.isoformat()) == day.isoformat(), text
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
    one, same, other = (Dates(seed).training_pairs(50) for seed in (1, 1, 2))
    assert one == same
    assert one != other


# --- the training


def test_a_short_training_gets_the_loss_down_and_can_be_repeated(reference: Pieces) -> None:
    weights = []
    for _ in range(2):
        told: list[Progress] = []
        made = Training(entries_of(reference, whole_model.entries()), Plan(600, 1, steps=30))
        batch = tensors(made.held_out[:64])
        before = made.loss_of(*batch).item()
        made.run(lambda: False, told.append, lambda: None)
        assert told[-1].step == made.step == 30
        assert made.loss_of(*batch).item() < 0.9 * before
        weights.append([one.detach() for one in made.weights])
    torch.testing.assert_close(*weights)


def test_the_cross_attention_is_that_of_the_students_model(reference: Pieces) -> None:
    model = reference.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()
    seen: list[torch.Tensor] = []
    layer = model.decoder.layers[-1].cross_attn
    src, tgt = torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([[1, 4, 5]])
    found = looking.cross_attention(model, src, tgt, 2)

    def keep(module: Any, inputs: tuple[torch.Tensor, ...]) -> None:
        query, key, _ = inputs[:3]
        theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        maps = [getattr(module, f"{one}_proj") for one in "qkv"]
        theirs.in_proj_weight.data = torch.cat([one.weight for one in maps])
        theirs.in_proj_bias.data = torch.cat([one.bias for one in maps])
        seen.append(theirs(query, key, key)[1])

    layer.register_forward_pre_hook(keep)
    model.decode(tgt, model.encode(src), src)
    torch.testing.assert_close(torch.tensor(found), seen[0][0].detach(), atol=1e-3, rtol=0)


def test_a_softmax_written_out_by_hand_is_seen_all_the_same() -> None:
    own = right("attention").replace(
        "scores.softmax(dim=-1)",
        "(lambda e: e / e.sum(-1, keepdim=True))((scores - scores.amax(-1, keepdim=True)).exp())",
    )
    assert own != right("attention")
    kit = {name: right(name) for name in whole_model.EXERCISES}
    tables = []
    for sources in (Sources({}, kit, {}), Sources({"attention": own}, kit, {})):
        pieces = Pieces(sources)
        torch.manual_seed(0)
        model = pieces.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()
        src, tgt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 4]])
        tables.append(looking.cross_attention(model, src, tgt, 2))
        pieces.close()
    torch.testing.assert_close(torch.tensor(tables[0]), torch.tensor(tables[1]))


# --- whose code it is


def test_what_is_not_written_is_the_kits_and_it_is_said() -> None:
    begun = stubs.stub(stubs.solution("training"), "training").replace(
        'raise NotImplementedError("training: teacher_forcing is not written yet")',
        "return tgt[:, :-1], tgt[:, 1:]",
    )
    stub = stubs.stub(stubs.solution("masks"), "masks")
    model = whole_model.gather({"training": begun, "masks": stub, "attention": right("attention")})
    assert set(model.own) == {"training", "attention"}
    assert model.lent == {"training": ["initialise", "noam_rate", "label_smoothed_loss"]}
    first, second = model.words()
    assert "masks" in first
    assert "noam_rate" in second
    pieces = Pieces(Sources(**asdict(model)))
    entries = entries_of(pieces, whole_model.entries())
    pieces.close()
    assert entries["noam_rate"](1, 64, 4) == pytest.approx(1 / 64)


def test_a_piece_of_the_kit_builds_on_the_students_own_of_the_same_file() -> None:
    text = right("encoder")
    cut = text.index("class Encoder(")
    begun = (
        text[:cut] + "class Encoder:\n"
        "    def __init__(self):\n        raise NotImplementedError('is not written yet')\n"
    )
    pieces = Pieces(Sources(**asdict(whole_model.gather({"encoder": begun}))))
    module = pieces.module("encoder")
    assert type(module.Encoder(1, 8, 2, 16).layers[0]) is module.EncoderLayer
    pieces.close()


def test_a_piece_may_use_an_exercise_that_no_model_needs() -> None:
    source = f"from exercises.activations import relu\n{right('feed_forward')}"
    own = {"feed_forward": source, "activations": right("activations")}
    model = whole_model.gather(own)
    assert not any("activations" in sentence for sentence in model.words())
    pieces = Pieces(Sources(**asdict(model)))
    assert pieces.module("feed_forward").relu is pieces.module("activations").relu
    pieces.close()


def test_an_edition_without_answers_names_the_exercise_to_write_first(tmp_path: Path) -> None:
    with pytest.raises(curriculum.CurriculumError, match="Write masks first"):
        whole_model.gather({"attention": right("attention")}, tmp_path)


# --- what is said


def test_after_the_training_it_translates_what_is_typed() -> None:
    *_, learnt, first, second = run({}, "  21 Nov 2026 ", "21 ☃ 2026")
    assert isinstance(learnt, Learnt)
    assert learnt.count == FEW
    assert not learnt.faults
    assert isinstance(first, Translation)
    assert first.source == "21 nov 2026"
    assert isinstance(second, Translation)
    assert second.unknown == "☃"


@pytest.mark.parametrize(
    ("exercise", "name"),
    [
        ("masks", "target-without-the-future"),
        ("attention", "scaled-by-d-k"),
        ("multi_head", "mask-not-passed-on"),
        ("positional", "first-row-for-all"),
        ("embedding", "positions-missing"),
        ("layer_norm", "mean-not-subtracted"),
        ("encoder", "no_residual_around_attention"),
        ("decoder", "no_cross_attention"),
        ("transformer", "no_causal_mask"),
        ("training", "labels-not-shifted"),
        ("decoding", "first-place-for-last"),
    ],
)
def test_the_exercise_with_the_mistake_is_named(exercise: str, name: str) -> None:
    outcome = run({exercise: wrong(exercise, name)})[-1]
    assert isinstance(outcome, (Learnt, Failure))
    _, advised = advice.advise(outcome, [], curriculum.closure)
    assert advised[0].exercise == exercise, advised


def test_a_model_that_sees_the_future_is_told_what_that_does() -> None:
    own = {"masks": wrong("masks", "target-without-the-future")}
    outcome = run(own)[-1]
    assert isinstance(outcome, Learnt)
    assert outcome.behaviour.future
    _, (advised, *_) = advice.advise(outcome, [], curriculum.closure)
    assert "sees the character that it should guess" in advised.symptom


def test_a_crash_is_told_with_the_students_line_and_no_stack() -> None:
    own = right("attention").replace("scores.softmax(", "scores.soft_max(")
    (outcome,) = run({"attention": own})
    assert isinstance(outcome, Failure)
    assert outcome.file == "exercises/attention.py"
    assert "scores.soft_max(" in outcome.source
    assert outcome.said.startswith("AttributeError: ")
    _, (advised, *_) = advice.advise(outcome, [], curriculum.closure)
    assert advised.exercise == "attention"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def padding_mask(:", "SyntaxError"),
        ("import sys\nsys.exit(3)", "SystemExit"),
        ("def padding_mask(ids): return ids", "defines no causal_mask"),
        ("def causal_mask(length): raise ValueError('\\x1b[31mred')", "ValueError: "),
    ],
)
def test_a_file_that_cannot_be_run_is_told_in_words(source: str, said: str) -> None:
    if "ValueError" in said:
        source = right("masks").replace(
            "return torch.ones(1, 1,", "raise ValueError('\\x1b[31mred')#"
        )
    (outcome,) = run({"masks": source})
    assert isinstance(outcome, Failure)
    assert said in outcome.said
    assert "\x1b" not in outcome.said


def test_a_model_that_has_learnt_is_told_nothing() -> None:
    outcome = run({"layer_norm": wrong("layer_norm", "mean-not-subtracted")})[-1]
    assert isinstance(outcome, Learnt)
    told = json.loads(line_of(outcome))
    told["exact"] = 1.0
    learnt = event_from(json.dumps(told))
    assert isinstance(learnt, Learnt)
    assert advice.advise(learnt, [], curriculum.closure) == ([], [])


def test_right_pieces_and_little_time_are_told_to_go_on() -> None:
    outcome = run({"attention": right("attention")})[-1]
    assert isinstance(outcome, Learnt)
    (symptom,), advised = advice.advise(outcome, [], curriculum.closure)
    assert not advised
    assert "--seconds" in symptom.told


def variants() -> list[Path]:
    return [
        file for name in sorted(probing.PROBES) for file in sorted((VARIANTS / name).glob("*.py"))
    ]


@pytest.mark.parametrize("file", variants(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_no_probe_finds_fault_with_an_unusual_right_answer(file: Path) -> None:
    name = file.parent.name
    kit = {one: right(one) for one in curriculum.NAMES}
    pieces = Pieces(Sources({name: file.read_text(encoding="utf-8")}, kit, {}))
    try:
        assert not probing.faults({name: pieces.module(name)})
    finally:
        pieces.close()


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_what_is_handed_out_in_another_form_passes_and_can_be_looked_at(name: str) -> None:
    source = handed_out.source(name)
    assert source is not None
    kit = {one: right(one) for one in curriculum.NAMES}
    pieces = Pieces(Sources({name: source}, kit, {}))
    try:
        assert not probing.faults({name: pieces.module(name)})
        model = pieces.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()
        src, tgt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 4]])
        assert len(looking.cross_attention(model, src, tgt, 2)) == 2
    finally:
        pieces.close()


def test_there_are_probes_of_every_exercise_that_a_model_is_made_of() -> None:
    assert set(probing.PROBES) == set(whole_model.EXERCISES)
    assert parts.__doc__ is not None
    assert wholes.__doc__ is not None


# --- the line, the process and the command


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        '{"event": "Progress"}',
        '{"event": "Progress", "step": "1", "seconds": 0, "loss": 0, "rate": 0, "exact": 0}',
        '{"event": "Progress", "step": true, "seconds": 0, "loss": 0, "rate": 0, "exact": 0}',
        '{"event": "Translation", "source": "a", "target": "b", "more": 1}',
    ],
)
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ProtocolError):
        event_from(line)


def test_a_training_that_is_stopped_keeps_what_it_learnt() -> None:
    noisy = "import os, sys\nprint('{}'); os.write(1, b'{}')\n" + right("training")
    with own_process() as session:
        session.begin(job({"training": noisy}, steps=0))
        first = session.hear()
        assert isinstance(first, Progress), first
        session.stop()
        outcome: Event = first
        while isinstance(outcome, Progress):
            outcome = session.hear()
        assert isinstance(outcome, Learnt), outcome
        assert outcome.stopped
        assert outcome.step < 500
        assert isinstance(session.translate("1 mai 2001"), Translation)


def test_a_loop_that_never_ends_is_told_with_its_line() -> None:
    endless = right("training").replace(
        "return tgt[:, :-1]", "while True: pass\n    return tgt[:, :-1]"
    )
    with own_process() as session:
        session.begin(job({"training": endless}, steps=0), seconds=6.0)
        outcome = session.hear()
    assert isinstance(outcome, Failure)
    assert "while True" in outcome.source
    assert "within 6 seconds" in outcome.said


def test_code_that_ends_its_process_is_told_so() -> None:
    with own_process() as session:
        session.begin(job({"masks": "import os\nos._exit(0)"}, steps=0))
        outcome = session.hear()
    assert isinstance(outcome, Failure)
    assert "ended its own process" in outcome.said


def test_a_notebook_trains_what_its_cells_define(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {"__name__": "cells"}
    for name in ("masks", "training"):
        exec(right(name), namespace)
    rates = []
    real = namespace["noam_rate"]

    def noam_rate(*given: Any) -> float:
        rates.append(given)
        return float(real(*given))

    namespace["noam_rate"] = noam_rate
    course = notebook.Course(whole_model.entries(), curriculum.closure, whole_model.lend, pictures)
    translate = notebook.run(namespace, Plan(60, 1, steps=2, unseen=FEW), course)
    assert translate is not None
    assert "(it never saw ☃)" in translate("☃")
    assert [step for step, *_ in rates[:2]] == [1, 2]
    said = capsys.readouterr().out
    assert "from the kit: attention, multi_head" in said
    assert "a picture: positions" in said
    del namespace["causal_mask"]
    namespace["teacher_forcing"] = lambda tgt: tgt
    assert notebook.run(namespace, Plan(60, 1, steps=2, unseen=FEW), course) is None
    assert "Look at training" in capsys.readouterr().out


def capstone(*arguments: object, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader", "capstone", *map(str, arguments)],
        input=typed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=300,
        check=False,
    )


def test_the_command_writes_a_result_and_pictures_and_translates_what_is_piped(
    tmp_path: Path,
) -> None:
    (tmp_path / "masks.py").write_text(right("masks"), encoding="utf-8")
    out = tmp_path / "out"
    done = capstone(tmp_path, "--out", out, "--seconds", 1, "--seed", 4, typed="1 mai 2001\n")
    assert done.returncode == 0, done.stderr
    assert "1 mai 2001 → " in done.stdout
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["seed"] == 4
    assert result["steps"] == result["history"][-1]["step"]
    assert {"exact_match", "loss", "seconds"} <= set(result)
    assert "masks" not in result["from_the_kit"]
    pictures = {file.name for file in out.glob("*.png")}
    assert {"loss.png", "exact.png", "positions.png"} <= pictures


@pytest.mark.skipif(sys.platform == "win32", reason="pexpect needs a pty")
def test_ctrl_c_ends_the_training_and_then_it_translates_what_is_typed(tmp_path: Path) -> None:
    import pexpect
    from watched import hear_ctrl_c

    (tmp_path / "masks.py").write_text(right("masks"), encoding="utf-8")
    arguments = ["capstone", str(tmp_path), "--out", str(tmp_path / "out"), "--seconds", "900"]
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "grader", *arguments],
        encoding="utf-8",
        timeout=280,
        preexec_fn=hear_ctrl_c,
    )
    terminal.expect("loss")
    terminal.sendintr()
    terminal.expect("stopped early")
    terminal.expect("> ")
    terminal.sendline("21 mai 2003")
    terminal.expect(r"\n[-0-9?]*\r")
    terminal.sendline("")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))["stopped"]


def test_the_command_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    nowhere = capstone(tmp_path / "nowhere")
    assert nowhere.returncode == 2
    assert "no such file or folder" in nowhere.stderr
    for name in ("ada", "bela"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "masks.py").write_text(right("masks"), encoding="utf-8")
    two = capstone(tmp_path)
    assert two.returncode == 2
    assert "grader capstone FOLDER" in two.stderr


def test_a_number_that_is_none_is_null_in_the_result() -> None:
    history = [Progress(1, 0.5, float("nan"), 0.1, 0.0)]
    text = report.as_json(Failure("training", "x"), history, [], 1, "process", [])
    assert json.loads(text)["history"][0]["loss"] is None
