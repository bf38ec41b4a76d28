"""What a cell is to IPython: its syntax made Python, and what its magics come to when graded.

Magics and shell lines change nothing but what the notebook's own code can see: the environment,
its names, files that it writes for itself. No command is run.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import os
import re
import sys
import types
from collections.abc import Callable
from typing import Any

from grader.remote.standins import Nothing

_CELL_MAGIC = re.compile(r"%%(\w+)[ \t]*(.*)")
# Cell magics whose body runs among the notebook's own names.
_TRANSPARENT = {"time", "capture", "prun"}
_WRITING = {"writefile", "file"}
# IPython's own, https://ipython.readthedocs.io/en/stable/interactive/magics.html. Another one is an
# error, which ends its cell, unless an extension may have brought it.
_LINE_MAGICS = frozenset({
    "alias", "alias_magic", "autoawait", "autocall", "automagic", "autosave", "bookmark", "cat",
    "cd", "check", "clear", "code_wrap", "colors", "conda", "config", "connect_info", "cp",
    "cpaste", "debug", "dhist", "dirs", "doctest_mode", "ed", "edit", "env", "gui", "hist",
    "history", "killbgscripts", "ldir", "less", "lf", "lk", "ll", "load", "load_ext", "loadpy",
    "logoff", "logon", "logstart", "logstate", "logstop", "ls", "lsmagic", "lx", "macro",
    "magic", "mamba", "man", "matplotlib", "micromamba", "mkdir", "more", "mv", "notebook",
    "page", "paste", "pastebin", "pdb", "pdef", "pdoc", "pfile", "pinfo", "pinfo2", "pip",
    "popd", "pprint", "precision", "prun", "psearch", "psource", "pushd", "pwd", "pycat",
    "pylab", "qtconsole", "quickref", "recall", "rehashx", "reload_ext", "rep", "rerun",
    "reset", "reset_selective", "rm", "rmdir", "run", "save", "sc", "set_env", "show", "store",
    "sx", "system", "tb", "time", "timeit", "unalias", "unload_ext", "uv", "who", "who_ls", "whos",
    "xdel", "xmode",
})  # fmt: skip


class UsageError(Exception):
    """A magic that does not exist, as IPython raises it."""


@functools.cache
def transformation() -> Callable[[str], str] | None:
    """IPython's own of a cell's text, or None where IPython is not installed.

    It is loaded without the rest of IPython, which takes a second to import.
    """
    loaded = [name for name in sys.modules if name.partition(".")[0] == "IPython"]
    kept = {name: sys.modules.pop(name) for name in loaded}
    try:
        spec = importlib.util.find_spec("IPython")
        if spec is None or spec.origin is None:
            return None
        for name in ("IPython", "IPython.core", "IPython.utils"):
            package = sys.modules[name] = types.ModuleType(name)
            package.__path__ = [os.path.join(os.path.dirname(spec.origin), *name.split(".")[1:])]
        module = importlib.import_module("IPython.core.inputtransformer2")
        return module.TransformerManager().transform_cell  # type: ignore[no-any-return]
    finally:
        for name in [one for one in sys.modules if one.partition(".")[0] == "IPython"]:
            del sys.modules[name]
        sys.modules.update(kept)


def parse(source: str, file: str, flags: int) -> ast.Module:
    """The syntax tree of a cell; magics are calls of `get_ipython()` in it.

    Lines keep their numbers, as far as IPython's transformation lets them. Raises what compiling
    raises.
    """
    flags |= ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        # What is Python is so to IPython, too. To transform it takes ten times as long.
        tree: ast.Module = compile(source, file, "exec", flags, dont_inherit=True)
    except SyntaxError:
        transform = transformation()
        if transform is None:
            raise
        above = source[: len(source) - len(source.lstrip("\n"))]
        text = above + transform(source)
        tree = compile(text, file, "exec", flags, dont_inherit=True)
    return tree


def without_cell_magic(source: str, shell: Shell) -> str:
    """What of a cell that begins with `%%` runs as code of the notebook, its lines in place."""
    lines = source.split("\n")
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        found = _CELL_MAGIC.match(line)
        if found is None:
            return "\n".join(lines)
        name, rest = found[1], found[2].strip()
        if name not in _TRANSPARENT:
            shell.run_cell_magic(name, rest, "\n".join(lines[number + 1 :]))
            return ""
        if name == "capture" and rest.isidentifier():
            shell.names[rest] = Nothing()
        lines[number] = rest if name == "time" and not rest.startswith("-") else ""
    return "\n".join(lines)


class Shell(Nothing):
    """What `get_ipython()` gives. `run` runs code among the notebook's names."""

    def __init__(self, names: dict[str, Any], run: Callable[[str], None]) -> None:
        super().__init__("shell")
        self.__dict__.update(names=names, user_ns=names, run=run, extended=False)

    def run_line_magic(self, name: str, line: str, *_args: Any, **_options: Any) -> Any:
        """What a line magic comes to. Raises `UsageError` for one that does not exist."""
        if name in ("time", "prun") and line and not line.startswith("-"):
            self.run(line)
        elif name in ("env", "set_env") and "=" in line:
            key, _, value = line.partition("=")
            os.environ[key.strip()] = value.strip()
        elif name == "reset":
            for key in [key for key in self.names if not key.startswith("_")]:
                if key not in ("get_ipython", "display", "In", "Out", "exit", "quit"):
                    del self.names[key]
        elif name == "xdel":
            self.names.pop(line.strip(), None)
        elif name == "run":
            with open(line.split()[-1], encoding="utf-8") as file:
                self.run(file.read())
        elif name in ("load_ext", "reload_ext"):
            self.__dict__["extended"] = line.strip() not in ("grader", "autoreload")
        elif name not in _LINE_MAGICS and name != "autoreload" and not self.extended:
            raise UsageError(f"Line magic function `%{name}` not found.")
        return None

    magic = run_line_magic

    def run_cell_magic(self, name: str, line: str, body: str) -> None:
        """What a cell magic comes to whose body is no code of the notebook."""
        if name in _WRITING:
            with open(line.split()[-1], "w", encoding="utf-8") as file:
                file.write(body)

    def run_cell(self, source: str, *_args: Any, **_options: Any) -> Any:
        """Runs code as a cell of its own."""
        self.run(source)
        return Nothing()

    def getoutput(self, *_args: Any, **_options: Any) -> list[str]:
        """What a command printed: nothing, since it is not run."""
        return []

    def system(self, *_args: Any, **_options: Any) -> None:
        """Runs no command."""
