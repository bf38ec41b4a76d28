"""The student's edition works without the kit around it, and holds no answer that it asks for."""

from __future__ import annotations

import ast
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import nbformat
import pytest

from grader import submission
from grader.capstone import tasks
from grader.course import building
from grader.curriculum import EXERCISES, NAMES, stubs
from grader.curriculum.project import ROOT
from grader.release import edition, start
from tests.tools import warm

CORE = tuple(exercise.name for exercise in EXERCISES if exercise.core)
# Lines that every other module has, whatever it computes.
COMMON = {
    "super().__init__()",
    "self.dropout = nn.Dropout(dropout)",
    "self.d_model = d_model",
    "self.n_heads = n_heads",
    "self.pad_id = pad_id",
    "memory = model.encode(src)",
    "with torch.no_grad():",
    "with torch.enable_grad():",
    "model.eval()",
    "optimiser.zero_grad()",
    "optimiser.step()",
    "if cache is not None:",
    "if not pairs:",
    "for _ in range(count):",
    "for number, block in enumerate(self.blocks):",
    "caches = [KVCache() for _ in model.blocks]",  # the exercise itself says so
}
SHORT = 12


def answers(names: Sequence[str]) -> dict[str, set[str]]:
    """Every line of these exercises' answers that says something and that their stub lacks."""
    results = {}
    for name in names:
        parts = re.findall(
            r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", stubs.solution(name), re.DOTALL
        )
        shown = {line.strip() for line in stubs.as_handed_out(name).splitlines()}
        lines = {line.strip() for part in parts for line in part.splitlines()}
        results[name] = {
            line
            for line in lines - shown - COMMON
            if len(line) >= SHORT and not line.startswith("#") and re.search(r"\w\W+\w", line)
        }
    return results


def contents(folder: Path) -> Iterator[tuple[str, str]]:
    """All that the edition holds, unpacked: file and text."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_bytes().decode("utf-8", "replace")
            yield path.relative_to(folder).as_posix(), text


@pytest.mark.parametrize(
    "assigned", [CORE, NAMES, ("encoder",), ("decoder", "embedding"), ("masks", "multi_head")]
)
def test_no_line_of_an_answer_is_in_it(tmp_path: Path, assigned: Sequence[str]) -> None:
    made = edition.make(tmp_path / "edition", assigned)
    assert made.exercises == tuple(name for name in NAMES if name in assigned)
    lines = answers(made.exercises)
    assert all(lines.values())
    work = [
        f"{file}: {line}"
        for file, text in contents(made.folder)
        for held in ({splitline.strip() for splitline in text.splitlines()},)
        for name in made.exercises
        for line in lines[name]
        if line in held
    ]
    assert not work
    hints = {path.stem for path in made.folder.rglob("*.hints")}
    assert hints == set(made.exercises)
    files = {path.name for path in made.folder.rglob("*.py")}
    assert "judge.py" not in files
    assert "reference.py" not in files
    assert not list(made.folder.rglob("*.toml*/mistakes*"))
    assert not (made.folder / "solutions").exists()


def test_none_of_its_rooms_needs_what_is_withheld() -> None:
    files = {f"grader/{name}" for name in edition.modules() if name.endswith(".py")}
    stems = (file.removesuffix(".py").removesuffix("/__init__") for file in files)
    names = {stem.replace("/", ".") for stem in stems}
    # The plugin looks for the hidden checks before it needs them.
    for file in files - {"grader/pytest_plugin.py"}:
        for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader"):
                assert node.module in names, f"{file} imports {node.module}"


@pytest.mark.parametrize(
    ("assigned", "offered"),
    [
        (("masks", "attention", "sampling"), ["grader capstone --task sort"]),
        (CORE, ["grader capstone", "grader capstone --task sort"]),
        (("masks",), []),
    ],
)
def test_its_readme_offers_only_what_can_be_trained_in_it(
    tmp_path: Path, assigned: Sequence[str], offered: list[str]
) -> None:
    assert set(edition.TRAININGS) == set(tasks.NAMES)
    made = edition.make(tmp_path / "edition", assigned)
    readme = (made.folder / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"`(grader capstone.*?)`", readme) == offered
    assert "{{" not in readme


@pytest.mark.parametrize("made_by", [start.make, edition.make])
def test_every_link_in_its_texts_leads_to_a_file(
    tmp_path: Path, made_by: Callable[[Path, Sequence[str]], object]
) -> None:
    made_by(tmp_path / "work", ("masks", "encoder"))
    texts = [tmp_path / "work" / "README.md", *(tmp_path / "work" / "exercises").glob("*.md")]
    links = {
        (text, link)
        for text in texts
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", text.read_text(encoding="utf-8"))
    }
    assert (tmp_path / "work" / "exercises" / "README.md", "sublayer.py") in links
    assert not [(text, link) for text, link in links if not (text.parent / link).is_file()]


@pytest.mark.parametrize("made_by", [start.make, edition.make])
@pytest.mark.parametrize("packed", ["exercises", "the files", "the whole folder"])
def test_what_its_readme_says_to_submit_can_be_graded(
    tmp_path: Path, made_by: Callable[[Path, Sequence[str]], object], packed: str
) -> None:
    made_by(tmp_path / "work", ("masks", "attention"))
    assert "a zip of the folder `exercises`, or the files" in (
        tmp_path / "work" / "README.md"
    ).read_text(encoding="utf-8")
    inside = {"exercises": "work/exercises", "the files": "masks.py", "the whole folder": "work"}
    root = tmp_path / "work" / "exercises" if packed == "the files" else tmp_path
    (tmp_path / "class").mkdir()
    shutil.make_archive(str(tmp_path / "class" / "ada"), "zip", root, inside[packed])
    (ada,) = submission.contents(tmp_path / "class").submissions
    assert ada.sources["masks"] == stubs.as_handed_out("masks")
    assert not any(entry.work for entry in ada.passed_over)


def test_what_it_lacks_is_told_as_not_included(tmp_path: Path) -> None:
    made = edition.make(tmp_path / "edition", ("masks", "attention", "sampling"))
    for command, says in (
        (("capstone",), "which your edition of the kit does not include. These can be trained "
                        "here: --task sort."),
        (("watch", "multi_head"), "it is not assigned here. Assigned: masks, attention, sampling."),
    ):  # fmt: skip
        done = warm.run("-m", "grader", *command, cwd=made.folder)
        assert done.returncode == 2
        assert says in done.stderr


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(edition.EditionError, match="Name a new folder"):
        edition.make(tmp_path, ["masks"])


class Student:
    """Somebody who works in the edition alone: the kit's own folder is not to be found."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *command: str) -> tuple[int, str]:
        """A Python module with arguments, in the edition's folder; status and output."""
        program = (
            "import sys; sys.path[:] = [one for one in sys.path if one != sys.argv[1]]; "
            # Where the kit is installed for editing, something other than a path finds it.
            "sys.meta_path[:] = [one for one in sys.meta_path if 'editable' not in "
            "getattr(one, '__module__', '')]; "
            "sys.path.insert(0, ''); del sys.argv[1]; import runpy; "
            "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
        )
        environment = {**os.environ, "COLUMNS": "100"}
        done = warm.run("-c", program, str(ROOT), *command, cwd=self.folder, env=environment)
        return done.returncode, done.stdout + done.stderr


@pytest.mark.full(seconds=19)
def test_a_student_works_in_it(tmp_path: Path) -> None:
    """Board, hint, reset, help, notebook: all without the kit."""
    made = edition.make(tmp_path / "edition", CORE)
    student = Student(made.folder)
    status, output = student.run("pytest")
    assert status == 1
    assert "Points" not in output
    assert "tokens" not in output
    # The core eight are done with what is handed out.
    for name in CORE:
        answer = stubs.reference_source(name)
        (made.folder / "exercises" / f"{name}.py").write_text(answer, "utf-8")
    status, output = student.run("pytest", "exercises/")
    assert status == 0, output
    assert output.count("all public tests pass") == len(CORE)
    assert "Points" not in output
    assert "done" not in output
    assert "grader grade" not in output
    # Something is wrong; a hint; and back to the beginning.
    file = made.folder / "exercises" / "attention.py"
    file.write_text(file.read_text("utf-8").replace("math.sqrt(query.size(-1))", "query.size(-1)"))
    for _ in range(3):  # what works, a question, the mistake
        status, output = student.run("pytest", "exercises/test_attention.py", "--hint")
    assert status == 1
    assert "Your scores are divided by d_k, not by its square root." in output
    status, output = student.run("grader", "reset", "attention")
    assert (status, stubs.is_untouched(file.read_text("utf-8"))) == (0, True)
    assert "query.size(-1)" in file.with_name("attention.py.1").read_text("utf-8")
    status, output = student.run("grader", "reset", "tokens")
    assert (status, output.strip()) == (2, "tokens is not part of this edition.")
    status, output = student.run("grader", "--help")
    assert "watch" in output
    assert "release" not in output
    assert edition.zipped(made).is_file()
    with zipfile.ZipFile(edition.zipped(made)) as archive:
        assert "edition/exercises/attention.py" in archive.namelist()


def test_an_exercise_whose_tests_were_changed_is_not_done(tmp_path: Path) -> None:
    """With an emptied test, or none at all; a test that was added doesn't count."""
    made = edition.make(tmp_path / "edition", ["linear", "masks", "rope"])
    student, folder = Student(made.folder), made.folder / "exercises"
    for name in made.exercises:
        (folder / f"{name}.py").write_text(stubs.reference_source(name), "utf-8")
    emptied = folder / "test_masks.py"
    head, _, rest = emptied.read_text("utf-8").partition("def test_padding_is_hidden() -> None:\n")
    rest = rest.partition("\n\n\n")[2]
    emptied.write_text(f"{head}def test_padding_is_hidden(): ...\n\n\n{rest}", "utf-8")
    (folder / "test_rope.py").write_text("# later\n", "utf-8")
    with (folder / "test_linear.py").open("a", encoding="utf-8") as added:
        added.write("\n\ndef test_mine() -> None:\n    assert Linear(2, 3)\n")
    _, output = student.run("pytest")
    states = dict(re.findall(r"^  (linear|masks|rope) +(\S+ \S+)", output, re.M))
    assert states == {"linear": "all public", "masks": "tests changed", "rope": "tests changed"}
    assert "All public tests pass in 1 of 3 exercises." in output
    assert "exercises/test_masks.py is not as it was handed out. To restore it:" in output
    assert student.run("grader", "reset", "test_masks", "test_rope")[0] == 0
    status, output = student.run("pytest")
    assert (status, output.count("all public tests pass")) == (0, 3), output


CELLS = """
import json, sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.loads(Path("assignment.ipynb").read_text("utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        shell.run_cell("".join(cell["source"]))
shell.run_line_magic("check", "attention")
"""


@pytest.mark.full(seconds=3)
def test_the_notebook_of_an_assignment_works_with_it_alone(tmp_path: Path) -> None:
    """As on a JupyterHub whose image has the edition: its own tests, and `%check`."""
    made = edition.make(tmp_path / "edition", ["attention"])
    notebook = nbformat.writes(building.notebook("transformer", ["attention"]))
    (made.folder / "assignment.ipynb").write_text(notebook, "utf-8")
    (made.folder / "run_cells.py").write_text(CELLS, "utf-8")
    status, output = Student(made.folder).run("run_cells")
    assert status == 0
    assert len(re.findall(r"attention: passed, (\d+) of \1 tests passed\.", output)) == 2, output


@pytest.mark.full(seconds=8)
def test_an_edition_with_a_language_model_can_train_it(tmp_path: Path) -> None:
    made = edition.make(tmp_path / "edition", ["language_model", "sampling"])
    there = {*made.exercises, *made.solved}
    for task in ("sums", "prose"):
        assert set(tasks.find(task).entries) <= there
