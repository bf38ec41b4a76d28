"""What the public tests of an exercise miss: `python -m tests.tools.public_tests [EXERCISE ...]`.

Runs them, as `pytest exercises/` does, on every known mistake in every form and on every unusual
right answer. Wrong answers that pass all of them are listed, and right ones that do not. With
`--edits` small edits of the solutions are wrong answers as well; some of those change nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import linecache
import sys
import warnings
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

import torch

from grader import curriculum
from grader.board.probe import calm
from grader.board.time_limit import TookTooLong, time_limit
from grader.curriculum import NAMES, stubs
from grader.curriculum.mistakes.variants import variants
from grader.quality.mutants import mutants
from tests import ROOT

EXERCISES = ROOT / "exercises"
VARIANTS = ROOT / "tests" / "data" / "variants"


@contextlib.contextmanager
def answered() -> Iterator[None]:
    """The package `exercises` holds the answer to every exercise while the block runs."""
    kept = {name: module for name, module in sys.modules.items() if _is_ours(name)}
    package = ModuleType("exercises")
    package.__path__ = []
    sys.modules["exercises"] = package
    for name in NAMES:
        put(name, stubs.reference_source(name))
    try:
        yield
    finally:
        for name in list(filter(_is_ours, sys.modules)):
            del sys.modules[name]
        sys.modules.update(kept)


def put(name: str, source: str) -> None:
    """Make `exercises.NAME` from a source."""
    module = ModuleType(f"exercises.{name}")
    sys.modules[module.__name__] = module
    file = f"<exercises/{name}.py>"
    # torch.jit.script reads the source of what it compiles.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), module.__dict__)


def failures(name: str, source: str, first_only: bool = False) -> dict[str, str]:
    """What the public tests of an exercise say about this source, by the name of the test."""
    names: dict[str, object] = {"__name__": f"test_{name}"}
    messages: dict[str, str] = {}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with time_limit():
                put(name, source)
                exec(_tests(name), names)
        except (Exception, SystemExit, TookTooLong) as error:
            return {"": _words(error)}
        for test, body in list(names.items()):
            if not test.startswith("test_") or not isinstance(body, FunctionType):
                continue
            try:
                with time_limit():
                    calm(body)()
            except (Exception, SystemExit, TookTooLong) as error:
                messages[test] = _words(error)
                if first_only:
                    break
    return messages


def missed(name: str, edits: bool = False) -> tuple[list[str], int]:
    """The wrong answers that pass all public tests of an exercise, and how many were tried."""
    wrong = [(" + ".join(variant.mistakes), variant.source) for variant in variants(name)]
    if edits:
        source = stubs.reference_source(name)
        lines = source.splitlines()
        wrong += [
            (f"line {mutant.line}, {mutant.what}: {lines[mutant.line - 1].strip()}", mutant.source)
            for mutant in mutants(source)
        ]
    return [label for label, source in wrong if not failures(name, source, True)], len(wrong)


def refused(name: str) -> dict[str, dict[str, str]]:
    """What the public tests say against unusual right answers, by the name of the file."""
    files = sorted((VARIANTS / name).glob("*.py"))
    messages = {file.name: failures(name, file.read_text(encoding="utf-8")) for file in files}
    return {file: by_test for file, by_test in messages.items() if by_test}


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "exercises"


def _tests(name: str) -> CodeType:
    path = EXERCISES / f"test_{name}.py"
    return compile(path.read_text(encoding="utf-8"), str(path), "exec")


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def main() -> None:
    """Print what is missed and what is refused, and the share."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("exercises", nargs="*", default=list(curriculum.NAMES))
    parser.add_argument("--edits", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tried = passed = 0
    with answered():
        for name in arguments.exercises:
            names, number = missed(name, arguments.edits)
            put(name, stubs.reference_source(name))
            tried, passed = tried + number, passed + len(names)
            print(f"{name}: {len(names)} of {number} wrong answers pass", flush=True)
            for told in names:
                print(f"    {told}", flush=True)
            for file, said in refused(name).items():
                print(f"    right, and refused: {file}: {said}", flush=True)
            put(name, stubs.reference_source(name))
    print(f"{passed} of {tried} wrong answers pass all public tests ({passed / tried:.1%})")


if __name__ == "__main__":
    main()
