"""A stub holds all of an exercise but the answer, and never takes the place of somebody's work."""

import importlib
import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import typer

from grader.cli.stubs import make_stubs
from grader.curriculum import NAMES, find
from grader.curriculum.project import SOLUTIONS
from grader.curriculum.stubs import (
    BEGIN,
    END,
    StubError,
    drift,
    is_untouched,
    reference_source,
    stub,
    write,
)

SOLUTION = '''"""Twice."""

from solutions.once import once


def twice(x: int) -> int:
    """Two times x."""
    ### BEGIN SOLUTION
    return once(x) + once(x)
    ### END SOLUTION


class Twice:
    """Holds a number."""

    def __init__(self, x: int) -> None:
        """Keeps x."""
        super().__init__()
        ### BEGIN SOLUTION
        self.x = x
        ### END SOLUTION
'''


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """An empty folder of exercises, and one of solutions with two in it."""
    exercises, solutions = tmp_path / "exercises", tmp_path / "solutions"
    solutions.mkdir()
    (solutions / "__init__.py").write_text('"""Answers."""\n')
    (solutions / "twice.py").write_text(SOLUTION)
    (solutions / "again.py").write_text(SOLUTION)
    return exercises, solutions


def statuses(exercises: Path, solutions: Path, *, force: bool = False) -> dict[str, str]:
    outcomes = write(exercises, solutions, ["twice", "again"], force=force)
    return {outcome.name: outcome.status for outcome in outcomes}


def test_a_stub_keeps_all_but_the_answer() -> None:
    text = stub(SOLUTION, "twice")
    assert '    raise NotImplementedError("twice: twice is not written yet")\n' in text
    assert (
        '\n        super().__init__()\n        raise NotImplementedError("twice: Twice.__init__'
        in text
    )
    assert "from exercises.once import once" in text
    assert '"""Two times x."""' in text
    for gone in ("once(x)", "self.x = x", "SOLUTION", "solutions"):
        assert gone not in text


def test_a_stub_says_what_may_not_be_used_after_what_it_asks() -> None:
    sections = ("## What the exercise asks", "- A map.", "## Where to read", "- There.")
    text = '"""Maps.\n\n' + "\n\n".join(sections) + '\n"""\n'
    made = stub(text + SOLUTION.partition("\n\n")[2], "linear")
    task, _, below = made.partition("\n\n## What may not be used\n\n")
    assert task.endswith("- A map.")
    stated_rule, _, read = below.partition("\n\n## Where to read\n\n")
    assert "nn.Linear" in stated_rule
    assert max(map(len, stated_rule.splitlines())) <= 100
    assert read.startswith("- There.")
    assert "nn.Linear" not in task + read


def test_a_text_without_where_to_read_is_named() -> None:
    text = '"""Maps.\n\n## What the exercise asks\n\n- A map.\n"""\n'
    with pytest.raises(StubError, match="does not follow"):
        stub(text + SOLUTION.partition("\n\n")[2], "linear")


def test_the_reference_imports_from_the_exercises() -> None:
    text = reference_source("encoder")
    assert "from exercises.sublayer import SublayerConnection" in text
    assert "from solutions" not in text
    assert "self.sublayers[0](x, " in text


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_an_answer_is_in_its_stub(name: str) -> None:
    source = (SOLUTIONS / f"{name}.py").read_text(encoding="utf-8")
    answer: set[str] = set()
    outside: set[str] = set()
    inside = False
    for line in source.splitlines():
        if line.strip() in (BEGIN, END):
            inside = line.strip() == BEGIN
        else:
            (answer if inside else outside).add(line.strip())
    given = {line.strip() for line in stub(source, name).splitlines()}
    assert answer - outside
    assert not given & (answer - outside)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of fresh stubs that `import exercises` finds meanwhile."""
    folder = tmp_path_factory.mktemp("desk")

    def forget() -> None:
        for key in [key for key in sys.modules if key.split(".")[0] == "exercises"]:
            del sys.modules[key]

    write(folder / "exercises", SOLUTIONS, NAMES)
    (folder / "exercises" / "__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        forget()
        yield folder / "exercises"
        forget()


def functions_of(entry: Any) -> list[FunctionType]:
    """The function itself, or the methods of the class."""
    candidates = [entry] if isinstance(entry, FunctionType) else vars(entry).values()
    return [candidate for candidate in candidates if isinstance(candidate, FunctionType)]


@pytest.mark.parametrize("name", NAMES)
def test_a_stub_imports_and_says_what_is_not_written(name: str, desk: Path) -> None:
    module = importlib.import_module(f"exercises.{name}")
    assert module.__file__ == str(desk / f"{name}.py")
    for entry_name in find(name).entries:
        entry = getattr(module, entry_name)
        functions = functions_of(entry)
        assert functions
        for function in functions:
            arguments: dict[str, Any] = dict.fromkeys(inspect.signature(function).parameters)
            if "self" in arguments:
                arguments["self"] = entry.__new__(entry)
            message = rf"^{name}: {re.escape(function.__qualname__)} is not written yet$"
            with pytest.raises(NotImplementedError, match=message):
                function(**arguments)


def test_files_are_written_once_and_updated_while_nobody_has_edited_them(
    folders: tuple[Path, Path],
) -> None:
    exercises, solutions = folders
    assert drift(exercises, solutions) == ["again", "twice"]
    assert statuses(exercises, solutions) == {"twice": "written", "again": "written"}
    assert drift(exercises, solutions) == []
    assert statuses(exercises, solutions) == {"twice": "unchanged", "again": "unchanged"}

    (solutions / "twice.py").write_text(SOLUTION.replace("Two times x.", "x, two times."))
    assert drift(exercises, solutions) == ["twice"]
    assert statuses(exercises, solutions) == {"twice": "written", "again": "unchanged"}
    assert "x, two times." in (exercises / "twice.py").read_text()


@pytest.mark.parametrize(
    "work",
    [
        "{stub}# my notes\n",
        "# my notes\n{stub}",
        "def twice(x):\n    return x + x\n",
        "",
    ],
)
def test_the_work_of_a_student_is_kept(folders: tuple[Path, Path], work: str) -> None:
    exercises, solutions = folders
    statuses(exercises, solutions)
    path = exercises / "twice.py"
    edited = work.format(stub=path.read_text())
    path.write_text(edited)
    assert not is_untouched(edited)
    assert drift(exercises, solutions) == ["twice"]
    assert statuses(exercises, solutions) == {"twice": "kept", "again": "unchanged"}
    assert path.read_text() == edited
    assert statuses(exercises, solutions, force=True) == {"twice": "written", "again": "unchanged"}
    assert path.read_text() == stub(SOLUTION, "twice")


def test_a_file_that_is_no_utf_8_is_kept(folders: tuple[Path, Path]) -> None:
    exercises, solutions = folders
    statuses(exercises, solutions)
    (exercises / "twice.py").write_bytes(b"# \xff\xfe\n")
    assert statuses(exercises, solutions)["twice"] == "kept"


def test_line_ends_of_windows_are_no_edit() -> None:
    assert is_untouched(stub(SOLUTION, "twice").replace("\n", "\r\n"))


BEGIN_LINE, END_LINE = f"    {BEGIN}\n", f"    {END}\n"


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        (f"def f():\n{BEGIN_LINE}    pass\n", 2, "never ends"),
        (f"def f():\n    pass\n{END_LINE}", 3, "never began"),
        (f"def f():\n{BEGIN_LINE}{BEGIN_LINE}    pass\n{END_LINE}{END_LINE}", 3, "from line 2"),
        ("def f():\n    ## BEGIN SOLUTION\n    pass\n", 2, "spelt exactly"),
        (f"def f():\n{BEGIN_LINE}    pass  {END}\n", 3, "alone on its line"),
        (f"{BEGIN}\nx = 1\n{END}\n", 1, "body of one function"),
        (f"def f():\n{BEGIN_LINE}    pass\n{END}\n", 2, "indented"),
        ("def f():\n    pass\n", None, "marks no answer"),
        (f"def f(:\n{BEGIN_LINE}    pass\n{END_LINE}", 1, "no valid Python"),
    ],
)
def test_wrong_marks_are_named_with_their_line_and_the_next_command(
    folders: tuple[Path, Path], source: str, line: int | None, says: str
) -> None:
    exercises, solutions = folders
    (solutions / "again.py").write_text(source)
    with pytest.raises(StubError, match=says) as caught:
        write(exercises, solutions, ["twice", "again"])
    message = str(caught.value)
    assert caught.value.line == line
    assert message.startswith("solutions/again.py" + (f", line {line}: " if line else ": "))
    assert message.endswith("grader stubs")
    assert not exercises.exists()


def test_a_solution_that_is_not_there_is_named(folders: tuple[Path, Path]) -> None:
    with pytest.raises(StubError, match=r"solutions/thrice\.py: no such file"):
        write(*folders, ["thrice"])


@pytest.mark.full(seconds=3)
def test_the_command_brings_stubs_up_to_date_and_keeps_a_students_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(check: bool) -> tuple[int, str, str]:
        try:
            make_stubs(check=check, force=False, folder=tmp_path)
        except typer.Exit as ended:
            return ended.exit_code, *capsys.readouterr()
        return 0, *capsys.readouterr()

    assert command(check=False)[0] == 0
    assert {path.stem for path in tmp_path.glob("*.py")} == set(NAMES)
    status, _, output = command(check=True)
    assert status == 1
    assert "test_masks.py" in output
    for path in (SOLUTIONS.parent / "exercises").glob("test_*.py"):
        shutil.copy(path, tmp_path)
    assert command(check=True)[0] == 0
    work = tmp_path / "masks.py"
    work.write_text("half finished")
    _, done, _ = command(check=False)
    assert work.read_text() == "half finished"
    assert "kept" in done
    assert command(check=True)[0] == 1
