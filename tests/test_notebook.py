"""Whatever a notebook holds, its code is found and damaged files are named, never a crash."""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path

import pytest

from grader import curriculum, submission
from grader.curriculum import stubs
from grader.feedback.finding import Finding, Place, Status
from grader.judging.places import located
from grader.report.results import CheckResult, ExerciseResult, SubmissionResult
from grader.submission.cells import Cell, NotebookError, read
from grader.submission.magics import neutral
from grader.submission.pieces import gather

ATTENTION = "def attention(query, key, value, mask=None, dropout=None):\n    return {}\n"
LAYER_NORM = "class LayerNorm(nn.Module):\n    pass\n"


def code(source: str, grade_id: str = "") -> Cell:
    return Cell("code", source, grade_id)


def source_of(exercise: str, *cells: Cell) -> str:
    return gather(cells).sources[exercise]


def defined(source: str) -> dict[str, object]:
    namespace: dict[str, object] = {}
    exec(source, namespace)
    return namespace


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("x = 1\nprint('%d' % x)", "x = 1\nprint('%d' % x)"),
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1"),
        ("!pip install x \\\n  y\nx = 1", "pass  # !pip install x \\\n#   y\nx = 1"),
        ("files = !ls\nx = 1", "files = []  # !ls\nx = 1"),
        ("where = %pwd\nx = 1", "where = None  # %pwd\nx = 1"),
        ("%time x = 1", "x = 1"),
        ("%%time\nx = 1", "# %%time\nx = 1"),
        ("%%bash\necho hi", "# %%bash\n# echo hi"),
        ("attention?\nx = 1", "pass  # attention?\nx = 1"),
        ("if True:\n    !ls\nx = 1", "if True:\n    pass  # !ls\nx = 1"),
        ("pip install torch\nx = 1", "pass  # pip install torch\nx = 1"),
        ("'''\n%no magic\n'''\n!ls", "'''\n%no magic\n'''\npass  # !ls"),
        ("x = (7\n% 4)\n!ls", "x = (7\n% 4)\npass  # !ls"),
    ],
)
def test_magics_become_python_of_as_many_lines(cell: str, python: str) -> None:
    assert neutral(cell) == python
    ast.parse(python)


def test_every_solution_is_found_whole() -> None:
    for name in curriculum.NAMES:
        found = source_of(name, code(stubs.reference_source(name), name))
        ast.parse(found)
        for entry in curriculum.find(name).entries:
            assert entry in found


def test_a_helper_of_another_cell_comes_along_and_the_rest_stays_behind() -> None:
    found = source_of(
        "attention",
        code("%matplotlib inline\nimport math, torch\nimport matplotlib.pyplot as plt"),
        code("SCALE = 2\ndef scale(x):\n    return math.sqrt(x) * SCALE"),
        code(ATTENTION.format("scale(query)"), "attention"),
        code("plt.plot([1])\nraise SystemExit\nmodel = train()"),
    )
    assert defined(found)["attention"](9, 0, 0) == 6  # type: ignore[operator]
    assert "plt" not in found
    assert "train" not in found


def test_what_is_awaited_at_the_top_of_a_cell_is_a_value() -> None:
    found = source_of(
        "attention",
        code("async def get():\n    return 3"),
        code("three = await get()"),
        code(ATTENTION.format("three"), "attention"),
    )
    assert defined(found)["attention"](0, 0, 0) == 3  # type: ignore[operator]


def test_a_definition_that_comes_too_late_is_moved_up() -> None:
    found = source_of(
        "layer_norm",
        code("class LayerNorm(Base):\n    pass", "layer_norm"),
        code("class Base:\n    pass"),
    )
    defined(found)


def test_what_an_exercise_needs_is_imported_unless_its_own_cell_defines_it() -> None:
    multi_head = stubs.reference_source("multi_head").replace(
        "from exercises.attention import attention\n", ""
    )
    cells = [code(ATTENTION.format("'mine'"), "attention"), code(multi_head, "multi_head")]
    assert "from exercises.attention import attention" in source_of("multi_head", *cells)
    cells[1] = code(multi_head + ATTENTION.format("'anew'"), "multi_head")
    found = source_of("multi_head", *cells)
    assert "'anew'" in found
    assert "import attention" not in found
    assert "'mine'" in source_of("attention", *cells)


def test_the_solution_counts_and_not_a_later_experiment() -> None:
    cells = [
        code(ATTENTION.format("'answer'"), "attention"),
        code("%%check attention", "attention-points"),
        code(ATTENTION.format("'experiment'")),
    ]
    assert defined(source_of("attention", *cells))["attention"](0, 0, 0) == "answer"  # type: ignore[operator]


def test_code_is_found_wherever_it_stands() -> None:
    unwritten = ATTENTION.format("0").replace("return 0", "raise NotImplementedError()")
    for cells in (
        [code(ATTENTION.format("1"))],
        [code(ATTENTION.format("1"), "masks")],
        [code(ATTENTION.format("1"), "no-such-cell")],
        [code(unwritten, "attention"), code(ATTENTION.format("1"))],
        [code(ATTENTION.format("1"), "attention"), code(unwritten, "attention")],
        [code(ATTENTION.format("2"), "attention"), code(ATTENTION.format("1"), "attention")],
    ):
        assert defined(source_of("attention", *cells))["attention"](0, 0, 0) == 1  # type: ignore[operator]


def test_an_import_is_no_answer() -> None:
    cells = [code("from torch.nn import LayerNorm"), code("x = 1", "layer_norm")]
    assert "layer_norm" not in gather(cells).sources


def test_a_stub_is_to_do_whatever_its_exception_says() -> None:
    solution = (stubs.SOLUTIONS / "masks.py").read_text(encoding="utf-8")
    stub = stubs.stub(solution, "masks").partition('"""\n\n')[2]
    stub = "\n".join(line.partition('("masks:')[0] for line in stub.splitlines())
    assert stubs.is_untouched(source_of("masks", code(stub, "masks")))


def test_a_cell_that_is_no_python_spoils_only_its_own_exercise() -> None:
    cells = [code("def attention(:\n  pass", "attention"), code(LAYER_NORM, "layer_norm")]
    found = gather(cells)
    assert found.sources["attention"] == "def attention(:\n  pass"
    assert "class LayerNorm" in found.sources["layer_norm"]


def test_a_message_names_the_line_of_the_cell() -> None:
    cells = [code("import math"), code("# mine\n" + ATTENTION.format("math"), "attention")]
    pieces = gather(cells)
    line = pieces.sources["attention"].splitlines().index("    return math") + 1
    finding = Finding("It raised", places=(Place("attention.py", line, "return"),))
    check = CheckResult("c", "t", Status.ERROR, 0, 1, finding)
    exercise = ExerciseResult("attention", Status.ERROR, 0, 1, None, (check,))
    result = SubmissionResult("ada", 0, 1, (exercise,))
    said = located(result, pieces.places).exercises[0].checks[0].message
    assert said == "It raised\n  cell of attention, line 3: return"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"{", "no JSON"),
        (b"\xff\xfe{}", "no JSON"),
        (b"[1, 2]", "something else"),
        (b"{}", "no cells"),
        (b'{"cells": 3}', "no cells"),
        (b"[" * 100_000, "no JSON"),
        (json.dumps({"cells": [{"cell_type": "code", "source": "x" * 500_001}]}).encode(), "more"),
    ],
)
def test_a_file_that_is_no_notebook_is_named(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(data)
    with pytest.raises(NotebookError, match=says):
        read(path)
    (found,) = submission.find(path)
    assert says in found.problems["attention"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other.ipynb").write_text('{"cells": []}')
    (tmp_path / "ada.ipynb").symlink_to(tmp_path / "other.ipynb")
    with pytest.raises(NotebookError, match="link"):
        read(tmp_path / "ada.ipynb")


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
    found = read(tmp_path / "ada.ipynb")
    assert [cell.kind for cell in found] == ["code", "code", "raw", "code", "code", "markdown"]
    assert not any(cell.attachments or "\0" in cell.source for cell in found)


def test_a_notebook_of_format_3_is_read(tmp_path: Path) -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ATTENTION.format("1")}]}]}
    (tmp_path / "ada.ipynb").write_text(json.dumps(old))
    (found,) = submission.find(tmp_path / "ada.ipynb")
    assert list(found.sources) == ["attention"]


def test_a_class_of_notebooks_is_found_as_nbgrader_keeps_it(tmp_path: Path) -> None:
    for name in ("ada", "bela"):
        folder = tmp_path / name / "ps1"
        folder.mkdir(parents=True)
        cell = {"cell_type": "code", "source": ATTENTION.format("1")}
        (folder / "ps1.ipynb").write_text(json.dumps({"cells": [cell]}))
    found = submission.find(tmp_path)
    assert [(one.name, list(one.sources)) for one in found] == [
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
    ],
    ids=lambda source: source[:4],
)
def test_no_cell_takes_long_to_read(source: str) -> None:
    start = time.process_time()
    gather([code(ATTENTION.format("x0") + source, "attention"), code(source)])
    assert time.process_time() - start < 10
