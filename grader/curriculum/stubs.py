"""Make a student's file, the stub, from a solution.

The text of an exercise exists once, in `solutions/<name>.py`. Its stub is the same file with every
answer, the region from `### BEGIN SOLUTION` to `### END SOLUTION`, replaced by an exception that
says "not written yet", and with imports from `exercises` in place of `solutions`.

The last line of a stub holds a hash of the rest. As long as it fits, nobody has edited the file and
a newer stub may take its place. A file that it does not fit is somebody's work.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.curriculum.exercises import CurriculumError
from grader.curriculum.project import EXERCISES, SOLUTIONS
from grader.curriculum.rules import RULE_HEADING, rule

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"

# The folder of the texts' pictures, inside that of the exercises.
PICTURES = "pictures"

# The sections of an exercise's text between which the rule is inserted.
TASK = "## What the exercise asks"
READING = "## Where to read"
# The section of the page, and the line by which every text points to it.
COMMON = "## What every exercise asks"
COMMON_LINE = f'- And what every exercise asks: see "{COMMON[3:]}" in exercises/README.md.'

# A student's edition has this folder instead of solutions: the original of every file.
HANDED_OUT = Path(__file__).resolve().parent / "as_handed_out"

LINE_LENGTH = 100

_MARKER = re.compile(r"#\s*(BEGIN|END)\s+SOLUTION\b", re.IGNORECASE)
_IMPORT = re.compile(r"\bfrom solutions(?=\.\w+ import | import )")
_SEAL = "# Made by grader stubs, "


class StubError(CurriculumError):
    """A solution of which no stub can be made. The message says where, why and what to do."""

    def __init__(self, name: str, line: int | None, problem: str, remedy: str) -> None:
        """Names `solutions/<name>.py`, the line in it if there is one, and the way out."""
        self.name = name
        self.line = line
        place = f"solutions/{name}.py" + ("" if line is None else f", line {line}")
        super().__init__(f"{place}: {problem}. {remedy}, then run: grader stubs")


@dataclass(frozen=True)
class Outcome:
    """What was done with one file.

    `written`: new, or in place of a stub that nobody had edited. `unchanged`: it was right already.
    `kept`: somebody has edited it, so it was left alone.
    """

    name: str
    path: Path
    status: Literal["written", "unchanged", "kept"]


@dataclass(frozen=True)
class _Region:
    """An answer: the indices of its marker lines, and the function that it is the body of."""

    begin: int
    end: int
    indent: str
    function: str


def stub(source: str, name: str) -> str:
    """Return the stub of the solution `source` of exercise `name`.

    Raises `StubError` when the marks do not pair, or would leave an answer standing.
    """
    lines = source.split("\n")
    # From the last to the first, so that the indices of the others stay right.
    for region in reversed(_regions(lines, name)):
        message = f"{name}: {region.function} is not written yet"
        lines[region.begin : region.end + 1] = _raising(region.indent, message)
    banner = f"# Put your code where NotImplementedError is. Then: pytest exercises/test_{name}.py"
    text = with_rule("\n".join(lines), name)
    body = for_exercises(f"{banner}\n{text}").rstrip("\n") + "\n"
    return f"{body}\n\n{_SEAL}{_hash(body)}\n"


def with_rule(text: str, name: str) -> str:
    """Insert what may not be used in exercise `name` into its text, before "Where to read".

    Raises `StubError` where that section does not follow "What the exercise asks".
    """
    stated = rule(name).stated
    if not stated:
        return text
    before, heading, after = text.partition(f"\n{READING}\n")
    if not heading or f"\n{TASK}\n" not in before:
        problem = f'"{READING}" does not follow "{TASK}"'
        raise StubError(name, None, problem, "Write both sections, in this order")
    wrapped = textwrap.fill(stated, 100, break_long_words=False, break_on_hyphens=False)
    return f"{before}\n{RULE_HEADING}\n\n{wrapped}\n{heading}{after}"


def common_demands() -> str:
    """Return the section "What every exercise asks" of exercises/README.md, without its heading.

    Raises `CurriculumError` when the page has no such section.
    """
    page = (EXERCISES / "README.md").read_text(encoding="utf-8")
    _, heading, after = page.partition(f"\n{COMMON}\n")
    if not heading:
        raise CurriculumError(f'exercises/README.md has no section "{COMMON}". Write it.')
    return after.partition("\n## ")[0].strip()


def _raising(indent: str, message: str) -> list[str]:
    """Return the lines that stand where an answer was, formatted as ruff would format them."""
    line = f'{indent}raise NotImplementedError("{message}")'
    if len(line) <= LINE_LENGTH:
        return [line]
    return [f"{indent}raise NotImplementedError(", f'{indent}    "{message}"', f"{indent})"]


def as_handed_out(name: str) -> str:
    """Return the file of an exercise as a student gets it. Raises `CurriculumError`."""
    if HANDED_OUT.is_dir():
        try:
            return (HANDED_OUT / f"{name}.txt").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise CurriculumError(f"{name} is not part of this edition.") from None
    return stub(solution(name), name)


def tests_as_handed_out(name: str) -> str:
    """Return the public tests of an exercise as a student gets them. Raises `CurriculumError`."""
    if HANDED_OUT.is_dir():
        return as_handed_out(f"test_{name}")
    return (EXERCISES / f"test_{name}.py").read_text(encoding="utf-8")


def is_mark(line: str) -> bool:
    """Return whether a line of a solution only says where an answer begins or ends."""
    return line.strip() in (BEGIN, END)


def further_reading(name: str) -> str:
    """Return the first place that the exercise's text sends to, in its section "Where to read"."""
    text = ast.get_docstring(ast.parse(solution(name))) or ""
    _, _, section = text.partition(f"{READING}\n")
    first, *lines = section.strip().splitlines() or [""]
    continued = itertools.takewhile(lambda line: line.startswith("  "), lines)
    return " ".join([first.removeprefix("- "), *(line.strip() for line in continued)])


def is_untouched(source: str) -> bool:
    """Return whether `source` is an unedited stub, of this version of the kit or another."""
    source = source.replace("\r\n", "\n")
    body, seal, digest = source.rpartition(_SEAL)
    return bool(seal) and digest.strip() == _hash(body.rstrip("\n") + "\n")


def solution(name: str, solutions_dir: Path = SOLUTIONS) -> str:
    """Return the source of an exercise's answer, as it stands in `solutions/`.

    Raises `StubError` when there is none.
    """
    try:
        return (solutions_dir / f"{name}.py").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StubError(
            name, None, f"no such file in {solutions_dir.parent}", "Write it, or name another"
        ) from None
    except UnicodeDecodeError:
        raise StubError(name, None, "it is not UTF-8", "Save it as UTF-8") from None


def reference_source(name: str, solutions_dir: Path = SOLUTIONS) -> str:
    """Return the solution of `name`, importing from `exercises` as a student's file does.

    Raises `StubError` when there is none.
    """
    return for_exercises(solution(name, solutions_dir))


def write(
    exercises_dir: Path, solutions_dir: Path, names: Iterable[str], force: bool = False
) -> list[Outcome]:
    """Write the stubs of `names` to `exercises_dir`.

    A file that somebody has edited is kept, unless `force`. All stubs are made before the first is
    written: after a `StubError` every file is as it was.
    """
    stubs = {name: stub(solution(name, solutions_dir), name) for name in names}
    exercises_dir.mkdir(parents=True, exist_ok=True)
    return [_write(exercises_dir / f"{name}.py", text, force) for name, text in stubs.items()]


def drift(exercises_dir: Path, solutions_dir: Path) -> list[str]:
    """Return the exercises whose file is missing or not the stub of their current solution.

    Raises `StubError` as `stub` does.
    """
    names = sorted(p.stem for p in solutions_dir.glob("*.py") if not p.stem.startswith("_"))
    return [
        name
        for name in names
        if _read(exercises_dir / f"{name}.py") != stub(solution(name, solutions_dir), name)
    ]


def no_public_tests(name: str) -> str:
    """Return what to say where an exercise has no file of public tests."""
    return (
        f"{name} has no public tests. Write exercises/test_{name}.py, with functions test_… that "
        "take nothing; exercises/test_masks.py is an example."
    )


def _write(path: Path, text: str, force: bool) -> Outcome:
    present = _read(path)
    if present == text:
        return Outcome(path.stem, path, "unchanged")
    if present is not None and not is_untouched(present) and not force:
        return Outcome(path.stem, path, "kept")
    path.write_text(text, encoding="utf-8", newline="\n")
    return Outcome(path.stem, path, "written")


def _read(path: Path) -> str | None:
    """Return the text of a file, None if there is none. A student's need not be UTF-8."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def for_exercises(source: str) -> str:
    """Return a file whose imports from `solutions`, if it has any, are from `exercises`."""
    return _IMPORT.sub("from exercises", source)


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _regions(lines: list[str], name: str) -> list[_Region]:
    try:
        functions = _functions(ast.parse("\n".join(lines)))
    except SyntaxError as error:
        raise StubError(name, error.lineno, f"no valid Python: {error.msg}", "Fix it") from None
    regions = []
    for begin, end in _pairs(lines, name):
        indent, end_indent = (lines[i][: -len(lines[i].lstrip())] for i in (begin, end))
        around = [span for span in functions if begin + 1 in span]
        if not around or indent != end_indent:
            problem = "an answer must be the body of one function, both marks indented as it is"
            raise StubError(name, begin + 1, problem, "Move or indent the marks")
        innermost = min(around, key=len)
        regions.append(_Region(begin, end, indent, functions[innermost]))
    return regions


def _pairs(lines: list[str], name: str) -> list[tuple[int, int]]:
    """Return the indices of the marks, two by two."""
    pairs: list[tuple[int, int]] = []
    begin: int | None = None
    for index, line in enumerate(lines):
        if _MARKER.search(line) is None:
            continue
        mark = line.strip()
        if mark not in (BEGIN, END):
            problem = "a mark must stand alone on its line, spelt exactly"
            raise StubError(name, index + 1, problem, f'Write "{BEGIN}" or "{END}"')
        if mark == BEGIN and begin is not None:
            problem = f"this answer begins inside the one from line {begin + 1}"
            raise StubError(name, index + 1, problem, f'Put "{END}" before it')
        if mark == BEGIN:
            begin = index
        elif begin is None:
            problem = "an answer ends here that never began"
            raise StubError(name, index + 1, problem, f'Put "{BEGIN}" before it')
        else:
            pairs.append((begin, index))
            begin = None
    if begin is not None:
        problem = "the answer that begins here never ends"
        raise StubError(name, begin + 1, problem, f'Put "{END}" after it')
    if not pairs:
        raise StubError(name, None, "it marks no answer", f'Put "{BEGIN}" and "{END}" around it')
    return pairs


def _functions(tree: ast.AST, prefix: str = "") -> dict[range, str]:
    """Return the lines of every function, counted from 1, and its name with that of its class."""
    functions: dict[range, str] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert node.end_lineno is not None
            if isinstance(node, ast.FunctionDef):
                functions[range(node.lineno, node.end_lineno + 1)] = prefix + node.name
            functions |= _functions(node, f"{prefix}{node.name}.")
    return functions
