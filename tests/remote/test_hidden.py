"""Torch's files as the jail shows them: whole, but for the bodies of what may not be used."""

from __future__ import annotations

import ast
import fnmatch
import importlib.util
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import torch

from grader import curriculum
from grader.curriculum.rules import together
from grader.remote.hidden import HIDDEN, WITHHELD, hidden_files, without

HOME = Path(torch.__file__).parent
SHOWN = hidden_files()
REFUSAL = "raise RuntimeError("


@pytest.mark.parametrize("name", HIDDEN)
def test_only_bodies_are_hidden_and_all_lines_keep_their_numbers(name: str) -> None:
    """As Python's own parser sees it, for this torch. An `@overload` has no body."""
    before = (HOME / name).read_text(encoding="utf-8")
    after = SHOWN[str(HOME / name)].decode()
    assert before.count("\n") == after.count("\n")
    met = set()
    pairs = zip(ast.parse(before).body, ast.parse(after).body, strict=True)
    for whole, shown in pairs:
        patterns = {item for item in HIDDEN[name] if fnmatchcase(getattr(whole, "name", ""), item)}
        met |= patterns
        if not patterns:
            assert ast.dump(whole) == ast.dump(shown)
            continue
        assert whole.lineno == shown.lineno
        for inner in ast.walk(shown):
            if isinstance(inner, ast.FunctionDef):
                body = ast.unparse(ast.Module(inner.body, []))
                assert body.startswith(REFUSAL) or body == "...", inner.name
    assert met == set(HIDDEN[name])


@pytest.mark.parametrize("name", WITHHELD)
def test_of_torchs_own_tests_nothing_is_shown(name: str) -> None:
    with pytest.raises(RuntimeError, match="torch keeps this to itself"):
        exec(SHOWN[str(HOME / name)], {})


def test_compiled_files_are_empty() -> None:
    compiled = [path for path in SHOWN if path.endswith(".pyc")]
    assert compiled
    assert not any(SHOWN[path] for path in compiled)


def test_every_python_function_that_a_rule_replaces_is_hidden() -> None:
    """A function behind which only operators stand that may not be used either is no use anew."""
    targets = [item for names in together(curriculum.NAMES).values() for item in names]
    functions = [target.partition(":") for target in targets if "::" not in target]
    shown = {name.removesuffix(".py").removesuffix("/__init__") for name in HIDDEN}
    for module, _, name in functions:
        file = module.removeprefix("torch.").replace(".", "/")
        if file in shown and "." not in name:
            patterns = next(
                HIDDEN[hidden_file]
                for hidden_file in HIDDEN
                if hidden_file.startswith((f"{file}.py", f"{file}/__init__"))
            )
            for one in _meant(module, name):
                assert any(fnmatchcase(one, pattern) for pattern in patterns), (module, one)


def _meant(module: str, pattern: str) -> list[str]:
    """The names of the functions in a module's file that a rule's pattern stands for."""
    if "*" not in pattern:
        return [pattern]
    file = importlib.util.find_spec(module)
    assert file is not None
    assert file.origin is not None
    tree = ast.parse(Path(file.origin).read_text(encoding="utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return fnmatch.filter(functions, pattern)


SOURCE = '''
def kept(x):
    return x


@decorated
def gone(
    x: int = (1),  # a remark: with a colon
) -> dict[str, int]:
    """Words.

    """
    if x:
        return {
            "x": x,
        }

    return {}


class Gone:
    size = 3

    def method(self): ...

    @property
    def other(self):
        return self.size


other = 3
'''


def test_without() -> None:
    shown = without(SOURCE, ["gone", "Gone"])
    names: dict[str, object] = {"decorated": lambda function: function}
    exec(compile(shown, "shown", "exec"), names)
    assert [line for line in shown.splitlines() if REFUSAL not in line and line] == [
        "def kept(x):",
        "    return x",
        "@decorated",
        "def gone(",
        "    x: int = (1),  # a remark: with a colon",
        ") -> dict[str, int]:",
        "class Gone:",
        "    size = 3",
        "    def method(self): ...",
        "    @property",
        "    def other(self):",
        "other = 3",
    ]
    assert shown.count(REFUSAL) == 2
    assert shown.count("\n") == SOURCE.count("\n")
