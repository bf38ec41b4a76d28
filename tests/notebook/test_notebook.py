"""Whatever a notebook holds, its code is found and damaged files are named, never a crash."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from grader import submission
from grader.curriculum import stubs
from grader.curriculum.project import SOLUTIONS
from grader.feedback.finding import Status
from grader.feedback.results import ExerciseResult
from grader.grading import cell_report, workers
from grader.grading.judge import Judge
from grader.grading.places import located
from grader.grading.recording import Recordings
from grader.grading.student_process import PROGRAM
from grader.remote.session import CellNote, CellNotes, Lost, cell_notes
from grader.sandbox.host import Host, HostError
from grader.submission import Submission
from grader.submission.cells import Cell, NotebookError, read
from grader.submission.notebook import layout

ATTENTION = "def attention(query, key, value, mask=None, dropout=None):\n    return {}\n"


def code(source: str, grade_id: str = "") -> Cell:
    return Cell("code", source, grade_id)


def notebook(*cells: Cell) -> Submission:
    return Submission("ada", layout(cells).sources(), cells=cells)


@pytest.fixture(scope="module")
def judge(host: Host, recordings: Recordings) -> Judge:
    return Judge(("masks", "attention"), recordings, host)


def graded(judge: Judge, exercise: str, *cells: Cell) -> ExerciseResult:
    submission = notebook(*cells)
    result = located(judge.grade(submission), submission.labels)
    return next(graded for graded in result.exercises if graded.exercise == exercise)


def said(result: ExerciseResult) -> str:
    finding = result.finding
    assert finding is not None
    locations = [f"{place.file}, line {place.line}: {place.source}" for place in finding.places]
    return "\n".join([finding.headline, finding.help, *locations])


MASKS = (
    "import torch\ndef padding_mask(ids, pad_id=0):\n    return (ids != pad_id)[:, None, None]\n",
    "def causal_mask(length, device=None):\n"
    "    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]\n",
    "def target_mask(ids, pad_id=0):\n"
    "    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)\n",
)


def test_a_right_notebook_gets_full_marks_and_no_words(judge: Judge) -> None:
    result = graded(judge, "masks", code("".join(MASKS), "masks"), code("", "masks-points"))
    assert (result.points, result.finding) == (10, None)


def test_the_line_that_stopped_a_cell_is_told_and_what_it_cost(judge: Judge) -> None:
    cell = code(f"{MASKS[0]}print(undefined)\n{MASKS[1]}{MASKS[2]}", "masks")
    result = graded(judge, "masks", cell, code("", "masks-points"))
    assert result.points is not None
    assert result.points < 10
    words = said(result)
    assert "cell of masks stopped at line 4: NameError" in words
    assert "did not run" in words
    assert "Without that line the answer would have earned 10 of 10" in words
    assert "cell of masks, line 4: print(undefined)" in words


def test_the_line_that_stopped_a_cell_is_shown_clean_and_cut(judge: Judge) -> None:
    """A terminal would obey the sequence in it, and every message would hold the megabyte."""
    line = f'assert False, "\x1b[2J{"x" * 9000}"\n'
    cell = code(line + "".join(MASKS), "masks")
    result = graded(judge, "masks", cell, code("", "masks-points"))
    (place,) = result.finding.places if result.finding else ()
    assert place.source.startswith("assert False")
    assert len(place.source) < 200
    assert place.source.isprintable()


def test_an_error_that_costs_nothing_is_not_told(judge: Judge) -> None:
    cells = (code("1 / 0"), code("".join(MASKS), "masks"), code("1 / 0"), code("", "masks-points"))
    assert graded(judge, "masks", *cells).finding is None


@pytest.mark.full(seconds=4)
def test_a_cell_that_was_cut_short_is_named(judge: Judge) -> None:
    cells = (
        code("def train():\n    while True: pass\ntrain()"),
        code("".join(MASKS), "masks"),
        code("", "masks-points"),
    )
    result = graded(judge, "masks", *cells)
    assert result.points == 10
    assert "The cell of train, line 2, was stopped after 4 seconds" in said(result)


def test_a_cell_that_is_no_python_is_told_with_its_line(judge: Judge) -> None:
    cells = (code("x = 1\ndef attention(:\n    pass", "attention"), code("", "attention-points"))
    words = said(graded(judge, "attention", *cells))
    assert "SyntaxError" in words
    assert "cell of attention, line 2" in words


def test_an_answer_below_its_tests_is_told(judge: Judge) -> None:
    cells = (code("", "masks-points"), code("".join(MASKS), "masks"))
    result = graded(judge, "masks", *cells)
    assert result.points == 0
    assert "is below the tests: move it above" in said(result)


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("listing = !cat size.txt\nsize = float(listing.n or 0)", "line 1: no command is run"),
        ("import os\nsize = float(os.popen('id -u').read() or 0)", "line 2: no command is run"),
        ("!echo 'size = 2' > size.py\nfrom size import size", "line 1: no command is run"),
        ("!wget -q https://192.0.2.1/x.py\nimport x as size", "line 1: no command is run"),
        (
            "from subprocess import PIPE, Popen\nwith Popen(['ls'], stdout=PIPE, text=True) as p:\n"
            "    size = float(p.communicate()[0] or 0) + p.wait()",
            "line 2: no command is run",
        ),
        ("%%bash --out listing\necho 2", "line 1: no command is run"),
        ("import wandb\nsize = float(wandb.Api().run('mine').summary)", "line 2: wandb is"),
    ],
)
def test_what_is_made_of_something_that_is_not_there_is_told(
    judge: Judge, cell: str, says: str
) -> None:
    wrong = code(ATTENTION.format("query * size, listing"), "attention")
    result = graded(judge, "attention", code(cell), wrong, code("", "attention-points"))
    assert f"In the cell 1 of the notebook, {says}" in said(result)


def test_what_is_only_shown_is_not_told(judge: Judge) -> None:
    """An honest notebook draws, installs and lists, beside an answer that is wrong otherwise."""
    cell = (
        "import subprocess\nimport matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n"
        "ax.plot([1])\n!pip install einops\n!ls\nsubprocess.run(['pip', 'install', 'einops'])"
    )
    wrong = code(ATTENTION.format("query, key"), "attention")
    result = graded(judge, "attention", code(cell), wrong, code("", "attention-points"))
    assert result.points is not None
    assert result.points < 15
    assert result.finding is None


def test_a_cell_under_a_magic_that_does_not_exist_is_told(judge: Judge) -> None:
    cell = code("%%tiem\n" + "".join(MASKS), "masks")
    result = graded(judge, "masks", cell, code("", "masks-points"))
    assert "Cell magic `%%tiem` not found." in said(result)


def test_a_notebook_may_train_the_capstone(judge: Judge) -> None:
    """README gives this line; what it would translate, nobody asks when it is graded."""
    cell = code("%load_ext grader\ntranslate = %capstone --seconds 9\ntranslate('1 May')\n")
    right = code("".join(MASKS), "masks")
    assert graded(judge, "masks", cell, right, code("", "masks-points")).points == 10
    own = Cell("code", f"translate = %capstone\n{''.join(MASKS)}", "masks")
    assert graded(judge, "masks", own, code("", "masks-points")).points == 10


def test_what_the_sandbox_keeps_from_an_answer_is_told() -> None:
    notes = [CellNote(0, 1, "error", text) for text in (
        "PermissionError: [Errno 1] Operation not permitted",  # socket.socket()
        "FileNotFoundError: [Errno 2] No such file or directory",  # multiprocessing.Pool()
        "FileNotFoundError: [Errno 2] No such file or directory: 'sizes.txt'",
    )]  # fmt: skip
    stood = layout([code("import socket\n" + "".join(MASKS), "masks"), code("", "masks-points")])
    findings = [
        cell_report.report("masks", CellNotes((note,)), stood, passed=False) for note in notes
    ]
    assert ["other processes" in (item.headline if item else "") for item in findings] == [1, 1, 0]


@pytest.mark.parametrize("words", ["4 seconds of CPU time", "a line of what it needs"])
def test_what_is_said_of_time_beside_full_marks_is_no_word_of_the_students(words: str) -> None:
    told = {"notes": [(0, 1, "time", words)], "undefined": []}
    if "seconds" in words:
        assert cell_notes(told).notes[0].text == words
    else:
        with pytest.raises(Lost):
            cell_notes(told)


def full(judge: Judge, *sources: str) -> bool:
    """Whether right masks get full marks in one cell with the last of these, below the others."""
    *above, last = sources
    cells = (*map(code, above), code(last + "".join(MASKS), "masks"), code("", "masks-points"))
    return graded(judge, "masks", *cells).points == 10


def test_figures_are_drawn_by_matplotlib_itself(judge: Judge) -> None:
    draws = (
        "%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\n"
        "import io\nimport matplotlib.pyplot as plt\n"
        "fig, (left, middle, right) = plt.subplots(1, 3)\nleft.plot([1, 2])\nplt.show()\n"
        "picture = io.BytesIO()\nfig.savefig(picture)\n"
        "assert picture.getvalue().startswith(b'\\x89PNG')\n"
    )
    # A kernel has shown the figures of a cell, and closed them, before the next one begins.
    assert full(judge, draws, "assert picture.tell() > 1000 and not plt.get_fignums()\n")


def test_what_is_timed_runs_once(judge: Judge) -> None:
    times = (
        "calls = []\n%timeit calls.append(1)\n",
        "%%timeit -n 1000 -r 20\ncalls.append(2)\n",
        "found = %timeit -o -n 500 calls.append(3)\n",
    )
    assert full(judge, *times, "assert calls == [1, 2, 3] and found.best >= 0\n")


def test_packages_and_extensions_are_as_if_installed(judge: Judge) -> None:
    assert full(
        judge,
        "%conda install -c conda-forge einops\n%pip install einops\nconda = 1\n",
        "%load_ext nb_black\n%black on\nblack = 1\n",
        "assert conda == black == 1\n",
    )


@pytest.mark.parametrize("magic", ["%%time", "%%capture kept"])
def test_a_line_below_a_magic_is_told_with_its_number_in_the_cell(judge: Judge, magic: str) -> None:
    cell = code(f"\n{magic}\nx = 1\nprint(undefined)\n{''.join(MASKS)}", "masks")
    words = said(graded(judge, "masks", cell, code("", "masks-points")))
    assert "cell of masks stopped at line 4: NameError" in words


def test_an_answer_below_a_magic_has_a_source(judge: Judge) -> None:
    cell = f"%%time\n{MASKS[0]}import inspect\ntext = inspect.getsource(padding_mask)\n"
    assert full(judge, cell, f"assert text == {MASKS[0].partition(chr(10))[2]!r}\n")


def test_a_sleep_in_the_event_loop_ends_its_cell_only(judge: Judge) -> None:
    sleeps = "import asyncio\ntry:\n    await asyncio.sleep(60)\nfinally:\n    ended = 1\n"
    right = "async def double(x): return 2 * x\nassert await double(ended) == 2\n"
    assert full(judge, sleeps, right)


def test_what_is_printed_takes_no_memory(judge: Judge) -> None:
    prints = "line = 'x' * 2**20\nfor _ in range(1500): print(line)\nprinted = 1\n"
    assert full(judge, prints, "assert printed == 1\n")


def test_the_kit_is_not_there_for_a_notebook(judge: Judge) -> None:
    imports = "import grader.checks, grader.judge as asked\nassert repr(asked) == 'nothing'\n"
    assert full(judge, imports)
    assert not full(judge, "import solutions\nseen = 1\n", "assert seen == 1\n")


def test_files_know_nothing_of_the_shell_of_notebooks(judge: Judge) -> None:
    asks = (
        "import builtins\nfrom IPython import get_ipython\n"
        "assert get_ipython() is None\n"
        "assert not hasattr(builtins, 'display') and not hasattr(builtins, '__IPYTHON__')\n"
    )
    result = judge.grade(Submission("ada", {"masks": asks + "".join(MASKS)}))
    assert result.exercises[0].points == 10


@pytest.mark.full(seconds=3)
def test_a_sandbox_for_files_refuses_a_notebook_instead_of_judging_it() -> None:
    cells = (code("".join(MASKS), "masks"), code("", "masks-points"))
    with Host(PROGRAM, "process") as host, pytest.raises(HostError, match="no notebooks"):
        Judge(("masks",), Recordings(7), host).grade(notebook(*cells))


def test_without_ipython_notebooks_are_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "find_spec", lambda _: None)
    plan = workers.Plan(("masks",), 7, "process", 1)
    with pytest.raises(workers.WorkforceError, match=r"pip install -c constraints\.txt"):
        next(workers.grade([notebook(code("x = 1"))], plan))


def test_pylab_brings_the_names_of_numpy(judge: Judge) -> None:
    cell = "%pylab inline\nassert np.sqrt(4) == sqrt(4) == 2 and max([1, 2]) == 2\n"
    cells = (code(cell + "".join(MASKS), "masks"), code("", "masks-points"))
    assert graded(judge, "masks", *cells).points == 10


def test_a_notebook_knows_that_it_is_one(judge: Judge) -> None:
    cell = (
        "from IPython import get_ipython as asked\n"
        "assert asked().__class__.__name__ == 'ZMQInteractiveShell'\n"
        "assert 'ipykernel' in str(asked()) and asked() is get_ipython()\n"
    )
    cells = (code(cell + "".join(MASKS), "masks"), code("", "masks-points"))
    assert graded(judge, "masks", *cells).points == 10


def test_an_error_in_a_check_names_the_line_of_the_cell(judge: Judge) -> None:
    wrong = "# mine\n" + ATTENTION.format("1 / 0")
    result = graded(judge, "attention", code(wrong, "attention"), code("", "attention-points"))
    places = [place for check in result.checks if check.finding for place in check.finding.places]
    assert places
    assert {(item.file, item.line, item.source) for item in places} == {
        ("cell of attention", 3, "return 1 / 0")
    }


def test_a_stub_is_to_do_whatever_its_exception_says() -> None:
    solution = (SOLUTIONS / "masks.py").read_text(encoding="utf-8")
    stub = stubs.stub(solution, "masks").partition('"""\n\n')[2]
    stub = "\n".join(line.partition('("masks:')[0] for line in stub.splitlines())
    assert stubs.is_untouched(notebook(code(stub, "masks")).sources["masks"])
    edited = stub.replace("raise NotImplementedError", "return None", 1)
    assert not stubs.is_untouched(notebook(code(edited, "masks")).sources["masks"])


def test_what_is_nowhere_in_the_code_is_missing(judge: Judge) -> None:
    cells = (code("x = 1"), Cell("markdown", "def attention(): ..."))
    assert "attention" not in notebook(*cells).sources
    assert graded(judge, "attention", *cells).status is Status.MISSING


@pytest.mark.parametrize(
    "source",
    [
        "# A mask is for attention.\nx = 1",
        '"""Who may attend to whom in attention."""',
        "print('attention', end='')  # attention",
        (SOLUTIONS / "masks.py").read_text(encoding="utf-8"),
    ],
    ids=["comment", "docstring", "text", "masks"],
)
def test_what_only_a_text_or_a_comment_names_is_missing(judge: Judge, source: str) -> None:
    cells = (code(source), Cell("code", "test()", "attention_points"))
    assert {*notebook(*cells).sources} <= {"masks"}
    assert graded(judge, "attention", *cells).status is Status.MISSING


@pytest.mark.parametrize(
    "source",
    [
        "if True:\n    def attention(query, key, value): ...",
        "attention = other = None",
        "from torch import softmax as attention",
        "exec('''\ndef attention(query, key, value): ...\n''')",
        "text = '''\ndef attention(query, key, value): ...",
    ],
)
def test_what_code_gives_a_meaning_is_not_missing(source: str) -> None:
    assert "attention" in notebook(code(source)).sources


def test_what_the_code_only_uses_is_said_to_be_undefined(judge: Judge) -> None:
    result = graded(judge, "attention", code("y = lambda x: attention(x, x, x)"))
    assert said(result).startswith("No `attention` is defined before the tests of attention.\n")


def test_two_notebooks_are_the_same_only_if_their_cells_are() -> None:
    first, other = code("a = 1"), code("b = 2")
    digests = {
        notebook(*cells).digest
        for cells in (
            (first, other), (other, first), (first,), (code("a = 1", "masks"), other),
            (code("a = 1b = 2"),), (code(""), first, other),
        )
    }  # fmt: skip
    assert len(digests) == 6


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"{", "a notebook is JSON"),
        (b"\xff\xfe{}", "a notebook is JSON"),
        (b"[1, 2]", "something else"),
        (b"{}", "no cells"),
        (b'{"cells": 3}', "no cells"),
        (b"[" * 100_000, "a notebook is JSON"),
        (json.dumps({"cells": [{"cell_type": "code", "source": "x" * 500_001}]}).encode(), "more"),
        (json.dumps({"cells": [{"cell_type": "raw", "source": "x" * 500_001}]}).encode(), "text"),
        (json.dumps({"cells": [{"cell_type": "code"}] * 2001}).encode(), "2,001 cells"),
        (b"[" * 3_000_000, "a notebook is JSON"),
    ],
)
def test_a_file_that_is_no_notebook_is_named(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(data)
    with pytest.raises(NotebookError, match=says):
        read(path)
    (work,) = submission.find(path)
    assert says in work.problems["attention"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other.ipynb").write_text('{"cells": []}')
    (tmp_path / "ada.ipynb").symlink_to(tmp_path / "other.ipynb")
    with pytest.raises(NotebookError, match="link"):
        read(tmp_path / "ada.ipynb")


def test_a_pipe_is_no_notebook(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ada.ipynb")
    with pytest.raises(NotebookError, match="plain file"):
        read(tmp_path / "ada.ipynb")


def test_outputs_do_not_make_a_notebook_too_large(tmp_path: Path) -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "A" * 1_000_000}}
    cells = [{"cell_type": "code", "source": f"x = {i}", "outputs": [picture]} for i in range(20)]
    path = tmp_path / "ada.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    assert [cell.source for cell in read(path)] == [f"x = {i}" for i in range(20)]
    large = {"cell_type": "markdown", "attachments": {"a": {"image/png": "A" * 17_000_000}}}
    path.write_text(json.dumps({"cells": [large]}))
    with pytest.raises(NotebookError, match="without its outputs"):
        read(path)


def test_strange_cells_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    cells = [
        None,
        {"cell_type": "code"},
        {"cell_type": "code", "source": 7, "metadata": [1]},
        {"cell_type": ["code"], "source": "x"},
        {
            "cell_type": "code",
            "source": ["a = 1\n", 3, "b\0 = \ud800"],
            "metadata": {"nbgrader": 1},
        },
        {"cell_type": "code", "source": "c", "metadata": {"nbgrader": {"grade_id": ["x"]}}},
        {"cell_type": "markdown", "source": "m", "attachments": {"a": {"text/html": "<b>"}}},
    ]
    (tmp_path / "ada.ipynb").write_text(json.dumps({"cells": cells}))
    result = read(tmp_path / "ada.ipynb")
    assert [cell.kind for cell in result] == ["code", "code", "raw", "code", "code", "markdown"]
    assert not any(cell.attachments or "\0" in cell.source for cell in result)


def test_a_notebook_of_format_3_is_read(tmp_path: Path) -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ATTENTION.format("1")}]}]}
    (tmp_path / "ada.ipynb").write_text(json.dumps(old))
    (work,) = submission.find(tmp_path / "ada.ipynb")
    assert list(work.sources) == ["attention"]


def test_a_class_of_notebooks_is_found_as_nbgrader_keeps_it(tmp_path: Path) -> None:
    for name in ("ada", "bela"):
        folder = tmp_path / name / "ps1"
        folder.mkdir(parents=True)
        cell = {"cell_type": "code", "source": ATTENTION.format("1")}
        (folder / "ps1.ipynb").write_text(json.dumps({"cells": [cell]}))
    work = submission.find(tmp_path)
    assert [(item.name, list(item.sources)) for item in work] == [
        ("ada", ["attention"]),
        ("bela", ["attention"]),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "x" + "+x" * 90_000,
        "f" + "(" * 90_000,
        " " * 190_000 + "=",
        "a?" + " " * 190_000 + "b",
        "!ls\n" * 40_000,
        "x = 1\n" * 30_000,
        "\n".join(f"x{i} = x{i + 1}" for i in range(10_000)),
        "#" * 3_000_000,
        "'" * 100_001,
        "x = 1\nattention = 2\n" * 20_000,
        "attention" + " " * 400_000,
        "attention: " + ":" * 400_000,
        "%" * 400_000,
        "%%check " * 50_000,
    ],
    ids=lambda source: source[:4],
)
def test_no_cell_takes_long_to_read(source: str) -> None:
    """Whatever takes time that grows with the square of the length would take hours of these."""
    signal.setitimer(signal.ITIMER_PROF, 100)  # ends the process
    result = notebook(code(ATTENTION.format("x0") + source, "attention"), code(source))
    signal.setitimer(signal.ITIMER_PROF, 0)
    assert result.digest
    assert result.labels


def test_a_mistake_is_named_in_the_form_that_the_cells_have(judge: Judge) -> None:
    """Nothing is said of a `masked_fill` that is not there, as in a file."""
    cell = code(
        "def attention(query, key, value, mask=None, dropout=None):\n"
        "    weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(-1)\n"
        "    weights = weights if dropout is None else dropout(weights)\n"
        "    return weights @ value, weights\n"
    )
    result = graded(judge, "attention", cell)
    assert [each.mistakes for each in result.diagnoses] == [("mask-ignored",)]


def test_what_raises_is_named_with_its_line_in_the_cell(judge: Judge) -> None:
    third = MASKS[2].replace("    return", "    ids = torch.from_numpy(ids)\n    return")
    result = graded(judge, "masks", *map(code, (MASKS[0], MASKS[1], third)))
    (named,) = result.diagnoses
    assert named.mistakes == ("raises",)
    assert named.shows.endswith(", line 2: ids = torch.from_numpy(ids)")
    assert "cell" in named.shows
