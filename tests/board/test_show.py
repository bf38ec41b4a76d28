"""`grader show`: a picture of what the code computes; what differs is framed, and told in words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from grader.board import showing, time_limit
from grader.board.workspace import Workspace
from grader.curriculum import NAMES, reference
from grader.pictures import gallery
from grader.pictures.panels import filled
from grader.pictures.side_by_side import Shown, side_by_side
from tests import DATA
from tests.tools import warm

RIGHT = reference.module("masks")
WRONG_SCALE = ("math.sqrt(query.size(-1))", "query.size(-1)")


def answers(**changed: Any) -> Callable[[str], Any]:
    """The right masks with some of them written otherwise."""
    return lambda _: SimpleNamespace(**{**vars(RIGHT), **changed})


def told(**changed: Any) -> dict[str, str]:
    _, panels = showing.drawn("masks", answers(**changed), Workspace(Path("exercises"), Path()))
    return {panel.title: panel.words for panel in panels}


def grader(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.run("-m", "grader", "show", *arguments, cwd=cwd)


def write_exercise(folder: Path, name: str, find: str = "", replace: str = "") -> None:
    folder.mkdir(exist_ok=True)
    source = Path(RIGHT.__file__ or "").with_name(f"{name}.py").read_text(encoding="utf-8")
    source = source.replace("from solutions.", "from exercises.")
    assert find in source
    edited = source.replace(find, replace) if find else source
    (folder / f"{name}.py").write_text(edited, encoding="utf-8")


def test_every_exercise_has_panels_and_right_answers_give_what_they_expect() -> None:
    assert set(gallery.PANELS) == set(NAMES)
    assert not gallery.outdated(reference.module), "run: grader stubs"


def test_what_is_expected_is_old_when_an_answer_gives_something_else() -> None:
    def other(name: str) -> Any:
        inverted = {"causal_mask": lambda length, device=None: ~RIGHT.causal_mask(length, device)}
        return answers(**inverted)(name) if name == "masks" else reference.module(name)

    assert gallery.outdated(other)


@pytest.mark.full(seconds=6)
def test_right_code_is_told_to_be_right_and_needs_no_answers_to_compare_with() -> None:
    code = (
        "import sys; from pathlib import Path; from grader.board import showing;"
        "from grader.board.workspace import Workspace; import torch;"
        "names = {'relu': torch.relu, 'tanh': torch.tanh, 'gelu': torch.nn.functional.gelu};"
        "picture, told = showing.drawn("
        "'activations', showing.of_names(names), Workspace(Path(), Path()));"
        "assert picture.startswith(b'\\x89PNG');"
        "assert showing.sentences('activations', told) == "
        "['activations: 3 of 3 panels are as expected.'], told;"
        "assert not any(name.split('.')[0] == 'solutions' for name in sys.modules)"
    )
    done = warm.run("-c", code)
    assert done.returncode == 0, done.stderr


def test_what_differs_is_framed_and_counted_on_the_left() -> None:
    panel, right = gallery.PANELS["masks"][1], gallery.expected("masks")[1]
    figure = side_by_side("masks", [Shown(panel, right, ~right, "wrong")])
    left, expected = (axes for part in figure.subfigs for axes in part.axes)
    assert left.get_title() == "yours: 25 of 25 differ (framed or ×)"
    assert expected.get_title() == "expected"
    assert len(left.collections) == 2
    assert not expected.collections


def test_what_is_wrong_is_told_in_the_words_of_the_board() -> None:
    def unwritten(*_: Any) -> None:
        raise RuntimeError("The size of tensor a (3) must match the size of tensor b (4)")

    result = told(
        padding_mask=lambda ids, pad_id: ids != pad_id,
        causal_mask=lambda _: None,
        target_mask=unwritten,
    )
    assert result["padding_mask"].startswith(
        "The shape of your padding mask is (1, 5); it should be ("
    )
    assert result["causal_mask"].startswith("Your causal mask is None")
    assert "must match the size" in result["target_mask"]
    assert "Traceback" not in "".join(result.values())


@pytest.mark.full(seconds=2)
def test_a_panel_that_fails_leaves_the_others() -> None:
    result = told(causal_mask=lambda length: torch.ones(1, 1, length, length, dtype=torch.bool))
    assert result == {
        "padding_mask": "",
        "causal_mask": "10 of 25 entries in your causal mask are wrong.",
        "target_mask": "",
    }


def test_a_loop_that_never_ends_is_stopped_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: Any) -> None:
        while True:
            pass

    monkeypatch.setattr(time_limit, "SECONDS", 0.2)
    assert "infinite loop" in told(causal_mask=endless)["causal_mask"]


def test_code_that_asks_for_a_compiler_runs_as_it_is_written() -> None:
    compiler = torch.compile
    with time_limit.time_limit():
        assert torch.compile(float) is float
        assert torch.compile(fullgraph=True)(float) is float
    assert torch.compile is compiler


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_right_but_unusual_code_is_told_to_be_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "exercises", ModuleType("exercises"))
    for other in NAMES:
        monkeypatch.setitem(sys.modules, f"exercises.{other}", reference.module(other))
    files = sorted((DATA / "variants" / name).glob("*.py"))
    assert files
    for file in files:
        spec = spec_from_file_location(f"variant_{name}_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        with time_limit.time_limit():
            spec.loader.exec_module(module)
        panels = showing.told(
            name, showing.of_names(vars(module)), Workspace(Path("exercises"), Path())
        )
        assert [item.words for item in panels if item.words] == [], file


def test_parameters_get_their_numbers_by_name_in_whatever_order_they_are_made() -> None:
    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.extra = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])
            self.q_proj, self.k_proj = self.extra

    class Second(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.k_proj = torch.nn.Linear(2, 2)
            self.q_proj = torch.nn.Linear(2, 2)

    first, two = filled(First()), filled(Second())
    assert torch.equal(first.q_proj.weight, two.q_proj.weight)
    assert torch.equal(first.k_proj.bias, two.k_proj.bias)
    assert not torch.equal(first.q_proj.weight, first.k_proj.weight)


@pytest.mark.full(seconds=5)
def test_the_command_draws_into_the_folder_where_it_is_run(tmp_path: Path) -> None:
    write_exercise(tmp_path / "mine", "attention", *WRONG_SCALE)
    done = grader("attention", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("attention: 0 of 3 panels are as expected.")
    assert "numbers in your attention weights are wrong" in done.stdout
    assert done.stdout.endswith("Drawn in attention.png\n")
    assert (tmp_path / "attention.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.full(seconds=5)
def test_code_that_ends_python_is_told_and_an_svg_is_written_by_its_ending(tmp_path: Path) -> None:
    write_exercise(tmp_path / "mine", "masks")
    done = grader("masks", "mine", "--out", "one.svg", cwd=tmp_path)
    assert done.stdout == "masks: 3 of 3 panels are as expected.\n\nDrawn in one.svg\n"
    assert b"<svg" in (tmp_path / "one.svg").read_bytes()
    (tmp_path / "mine" / "masks.py").write_text("import os; os._exit(3)")
    done = grader("masks", "mine", cwd=tmp_path)
    assert done.returncode == 1
    assert "Python ended while your code ran, with the exit status 3." in done.stderr
    assert not (tmp_path / "masks.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mask"], "There is no exercise 'mask'. Did you mean masks? There are: tokens,"),
        (["masks", "nowhere"], "There is no nowhere/masks.py."),
        (["masks", "mine", "--out", "masks.jpg"], "a picture ends in .png or .svg"),
        (["masks", "mine", "--out", "no/masks.png"], "there is no folder no to write to"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    write_exercise(tmp_path / "mine", "masks")
    done = grader(*arguments, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_code_that_waits_for_ever_is_stopped_by_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "LIMIT", 0.05)
    with pytest.raises(showing.NotDrawnError, match="didn't finish"):
        showing.show("masks", tmp_path, tmp_path / "masks.png", tmp_path)


def test_the_magic_shows_the_picture_in_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    displayed: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: displayed.append(data))
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "grader")
    shell.run_line_magic("show", "masks")
    shell.user_ns.update({name: vars(RIGHT)[name] for name in ("padding_mask", "target_mask")})
    shell.user_ns["causal_mask"] = lambda length: RIGHT.causal_mask(length).transpose(-2, -1)
    shell.run_line_magic("show", "masks")
    lacking, words, shown = displayed
    sentence = "padding_mask, causal_mask and target_mask are not defined. Run their cells first."
    assert sentence in lacking["text/plain"]
    assert shown["image/png"].startswith("iVBOR")
    assert words["text/plain"].startswith("masks: 2 of 3 panels are as expected.")


@pytest.mark.parametrize(
    ("magic", "line", "message"),
    [
        ("check", "attenton", "There is no exercise 'attenton'. Did you mean attention?"),
        ("show", "Masks", "There is no exercise 'Masks'. Did you mean masks?"),
        ("check", "", "Which exercise? For example: %check attention"),
        ("show", "", "Which exercise? For example: %show attention"),
        ("check", "--help", "%check attention        tests what the notebook defines"),
        ("check", "attention --hnt", "%check has no option --hnt. Did you mean --hint?"),
        ("check", "attention masks", "%check takes one exercise."),
        ("capstone", "--task sortt", "There is no task 'sortt'. Did you mean sort?"),
        ("capstone", "--sed 1", "%capstone: unrecognized arguments: --sed 1. For example: "),
        ("capstone", "'", "%capstone: No closing quotation. For example: "),
    ],
)
def test_a_magic_that_is_mistyped_gets_a_sentence(
    magic: str, line: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback: the nearest name, or what there is to type."""
    from IPython.core.interactiveshell import InteractiveShell

    displayed: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: displayed.append(data))
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "grader")
    shell.run_line_magic(magic, line)
    (shown,) = displayed
    assert message in shown["text/plain"]
