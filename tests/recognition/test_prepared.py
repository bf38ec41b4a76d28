"""The data on known mistakes that comes with the kit is used while it is what the kit makes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import typer

from grader.cli.hints import make_hints
from grader.curriculum import NAMES
from grader.curriculum.mistakes.variants import variants
from grader.curriculum.project import SOLUTIONS
from grader.grading.diagnosis import fingerprints, hint_data
from grader.grading.diagnosis.fingerprints import Library
from grader.recognition import cache, packing, prepared
from grader.recognition.canonical_form import marks
from grader.recognition.features import Prints

# Most of a file's rows: what a known mistake answers may depend on the order of a set.
MOST = 0.95
EVERY = 6  # answer with a mistake is asked anew: a change of an entry shows in the key
ANOTHER = '\n[[mistake]]\nname = "another"\nfind = "a"\nreplace = "b"\n'


@pytest.mark.full
@pytest.mark.parametrize("exercise", NAMES)
def test_the_kit_still_makes_what_comes_with_it(
    exercise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = prepared.content(exercise)
    if content is None:
        pytest.skip(f"grader hints {exercise} has not been run")
    kept, known = prepared.unpacked(content), variants(exercise)
    monkeypatch.setattr(prepared, "with_marks", lambda _: None)
    monkeypatch.setattr(fingerprints, "variants", lambda _: known[::EVERY])
    library = Library.make(exercise)
    rows = packing.with_reference(packing.unpacked(kept["marks"]), library.right)
    same = library.rows.equal(rows[[0, *range(1, len(known) + 1, EVERY)]]).all(dim=-1)
    changed = (
        "What the kit makes has changed: raise MARKS_VERSION in grader/recognition/prepared.py, "
    )
    assert kept["names"] == [name for variant in known for name in variant.mistakes]
    assert bool(same[0]), f"{changed}then run: grader hints"
    assert float(same.double().mean()) >= MOST, f"{changed}then run: grader hints"


@pytest.mark.parametrize("exercise", NAMES)
def test_it_says_what_the_kit_says(exercise: str) -> None:
    """Whatever made it: a file without a key that the board reads once ended every board."""
    content = prepared.content(exercise)
    assert content is not None, "grader hints has not been run"
    changed = "What is written has changed: raise VERSION in grader/recognition/prepared.py, "
    said = prepared.unpacked(content)["words"]
    assert said == hint_data.words(exercise), f"{changed}then run: grader hints"


def test_it_is_used_on_a_processor_that_rounds_otherwise() -> None:
    """A gradient that vanishes is rounding alone: it said that everything was made anew."""
    request = {"op": "grad"}
    right = {"ok": torch.full((3, 4), 3e-16, dtype=torch.float64)}
    elsewhere = {"ok": torch.linspace(-5e-16, 4e-16, 12, dtype=torch.float64).reshape(3, 4)}
    wrong = {"ok": torch.full((3, 4), 3e-7, dtype=torch.float64)}
    read = [marks(request, reply, right) for reply in (right, elsewhere, wrong)]
    here, there, false = (Prints.of([*one.values()]) for one in read)
    assert bool(here.equal(there).all())
    assert read[0]["."].equals(read[1]["."])
    assert not bool(here.equal(false).all())


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the key looks at; its files may be changed."""
    folders = {
        "checks": prepared._CHECKS,
        "solutions": SOLUTIONS,
        "grader/curriculum/mistakes": cache._KIT / "curriculum" / "mistakes",
    }
    for name, folder in folders.items():
        shutil.copytree(folder, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(prepared, "_CHECKS", tmp_path / "checks")
    monkeypatch.setattr(prepared, "SOLUTIONS", tmp_path / "solutions")
    monkeypatch.setattr(cache, "_KIT", tmp_path / "grader")
    monkeypatch.setattr(prepared, "key", prepared.key.__wrapped__)
    monkeypatch.setattr(prepared, "marks_key", prepared.marks_key.__wrapped__)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "solutions/encoder.py",
        "solutions/attention.py",
        "checks/encoder.py",
        "checks/stack_cases.py",
        "grader/curriculum/mistakes/encoder.toml",
        "grader/curriculum/mistakes/forms/encoder/unrolled.txt",
    ],
)
def test_a_change_of_what_it_is_made_of_is_noticed(kit: Path, name: str) -> None:
    before = {exercise: prepared.key(exercise) for exercise in ("encoder", "masks")}
    with (kit / name).open("a") as file:
        file.write(ANOTHER if name.endswith(".toml") else "\nchanged = 1\n")
    assert prepared.key("encoder") != before["encoder"]
    assert prepared.key("masks") == before["masks"]


def test_other_words_are_noticed_and_the_marks_are_kept(kit: Path) -> None:
    file = kit / "grader" / "curriculum" / "mistakes" / "masks.toml"
    before = prepared.key("masks"), prepared.marks_key("masks")
    words = file.read_text("utf-8").replace('asks = "', 'asks = "Well: ', 1)
    file.write_text(words, "utf-8")
    assert prepared.key("masks") != before[0]
    assert prepared.marks_key("masks") == before[1]
    file.write_text(words + ANOTHER, "utf-8")
    assert prepared.marks_key("masks") != before[1]


def test_texts_comments_and_the_ends_of_lines_do_not_count(kit: Path) -> None:
    before = prepared.key("masks")
    for name in ("checks/masks.py", "solutions/masks.py", "checks/attention.py"):
        file = kit / name
        source = file.read_text("utf-8").replace('    """', '    """Said otherwise. ', 1)
        file.write_bytes(f"{source}\n# A comment.\n\n".replace("\n", "\r\n").encode())
    assert prepared.key("masks") == before


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another folder with the data, and an empty cache."""
    monkeypatch.setattr(prepared, "FOLDER", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture(scope="module")
def content() -> bytes:
    """The data on masks, as the kit makes it."""
    return hint_data.made("masks")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda content: content[:-3],
    "one byte": lambda content: content[:-1] + b"?",
    "no first line": lambda content: content.partition(b"\n")[2],
    "empty": lambda _: b"",
    "made of something else": lambda content: b"0" * 16 + content[16:],
    "from a branch that merged": lambda content: b"<<<<<<< HEAD\n" + content,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_damaged_or_out_of_date_is_not_used(
    folder: Path, content: bytes, damage: str
) -> None:
    (folder / "masks.hints").write_bytes(content)
    assert prepared.content("masks") == content
    (folder / "masks.hints").write_bytes(DAMAGES[damage](content))
    assert prepared.content("masks") is None


@pytest.mark.full(seconds=2)
@pytest.mark.usefixtures("folder")
def test_without_it_everything_is_made_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    """And the command writes it, and says what is out of date."""
    made = fingerprints.load("linear")
    assert prepared.stale(["linear", "masks"]) == ["linear", "masks"]
    with pytest.raises(typer.Exit):
        make_hints(["linear"], check=True)
    assert "Out of date: linear. Run: grader hints" in capsys.readouterr().err
    make_hints(["linear"], check=False)
    assert prepared.stale(["linear", "masks"]) == ["masks"]
    make_hints(["linear"], check=True)
    again = Library.make("linear")
    assert again.marks["values"] == made.marks["values"]
    assert bool(again.rows.equal(made.rows).all())
    assert bool((again.failed == made.failed).all())
