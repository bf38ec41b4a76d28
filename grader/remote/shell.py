"""What a cell is to IPython: its syntax made Python, and what its magics come to when graded.

Magics and shell lines change nothing but what the notebook's own code can see: the environment,
its names, files that it writes for itself. No command is run.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import importlib.util
import os
import re
import shlex
import sys
import types
from collections.abc import Callable
from typing import Any

from grader.remote import commands, standins
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


# Those that change something here, and the method of `Shell` that does it.
_CARRIED_OUT = {
    **{name: name for name in ("cd", "env", "mkdir", "pwd", "reset", "reset_selective", "run")},
    **{"prun": "time", "set_env": "env", "time": "time", "xdel": "xdel"},
}
# What no magic deletes.
_KEPT = {"get_ipython", "display", "In", "Out", "exit", "quit"}


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
        try:
            tree = compile(text, file, "exec", flags, dont_inherit=True)
        except SyntaxError:
            # In a cell of one line a magic needs no sign.
            name, _, rest = source.strip().partition(" ")
            if "\n" in source.strip() or name not in _LINE_MAGICS:
                raise
            text = f"{above}get_ipython().run_line_magic({name!r}, {rest!r})"
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
        if name == "capture":
            shell.names.update({word: Nothing() for word in rest.split() if word.isidentifier()})
        lines[number] = rest if name == "time" and not rest.startswith("-") else ""
    return "\n".join(lines)


class Shell(Nothing):
    """What `get_ipython()` gives. `run` runs code among the notebook's names."""

    def __init__(self, names: dict[str, Any], run: Callable[[str], Any]) -> None:
        super().__init__("shell")
        names["_exit_code"] = 0
        self.__dict__.update(names=names, user_ns=names, run=run, extended=False)

    def run_line_magic(self, name: str, line: str, *_args: Any, **_options: Any) -> Any:
        """What a line magic comes to. Raises `UsageError` for one that does not exist."""
        if ("line", name) in standins.own_magics:
            return standins.own_magics["line", name](line)
        if name in _CARRIED_OUT:
            return getattr(self, f"_{_CARRIED_OUT[name]}")(line.strip())
        if name in ("load_ext", "reload_ext"):
            self.__dict__["extended"] = line.strip() not in ("grader", "autoreload")
        elif name not in _LINE_MAGICS and name != "autoreload" and not self.extended:
            raise UsageError(f"Line magic function `%{name}` not found.")
        return Nothing() if name == "timeit" and "-o" in line.split() else None

    magic = run_line_magic

    def run_cell_magic(self, name: str, line: str, body: str) -> None:
        """What a cell magic comes to whose body is no code of the notebook."""
        if ("cell", name) in standins.own_magics:
            standins.own_magics["cell", name](line, body)
        elif name in _WRITING:
            options = line.split()
            with open(options[-1], "a" if "-a" in options else "w", encoding="utf-8") as file:
                file.write(body if body.endswith("\n") else f"{body}\n")

    def register_magic_function(self, function: Any, kind: str = "line", name: str = "") -> None:
        """Lets a function of the notebook's be a magic."""
        for one in kind.split("_"):
            standins.own_magics[one, name or function.__name__] = function

    def run_cell(self, source: str, *_args: Any, **_options: Any) -> Any:
        """Runs code as a cell of its own."""
        self.run(source)
        return Nothing()

    def getoutput(self, *_args: Any, **_options: Any) -> list[str]:
        """What a command printed: nothing, since it is not run."""
        return []

    def system(self, command: str, *_args: Any, **_options: Any) -> None:
        """Runs no command; folders are made."""
        commands.system(command)

    def _time(self, line: str) -> Any:
        return self.run(line) if line and not line.startswith("-") else None

    def _env(self, line: str) -> Any:
        key, *rest = re.split(r"\s*=\s*|\s+", line, maxsplit=1)
        if rest:
            os.environ[key] = rest[0]
            return None
        return os.environ.get(key) if key else dict(os.environ)

    def _cd(self, line: str) -> None:
        # Where there is no such folder, IPython says so and goes on.
        with contextlib.suppress(OSError):
            os.chdir(os.path.expanduser(line.strip("\"'") or "~"))

    def _mkdir(self, line: str) -> None:
        commands.system(f"mkdir {line}")

    def _pwd(self, _line: str) -> str:
        return os.getcwd()

    def _reset(self, _line: str) -> None:
        self._forget("")

    def _reset_selective(self, line: str) -> None:
        self._forget(line.removeprefix("-f").strip())

    def _forget(self, pattern: str) -> None:
        for key in [key for key in self.names if not key.startswith("_")]:
            if key not in _KEPT and re.search(pattern, key):
                del self.names[key]

    def _xdel(self, line: str) -> None:
        self.names.pop(line, None)

    def _run(self, line: str) -> None:
        options = shlex.split(line)
        path = next(one for one in options if not one.startswith("-"))
        path = path if os.path.exists(path) else f"{path}.py"
        with open(path, encoding="utf-8") as file:
            source = file.read()
        if "-i" in options:
            self.run(source)
            return
        script = {"__name__": "__main__", "__file__": path, "__builtins__": builtins}
        exec(compile(source, path, "exec", dont_inherit=True), script)
        self.names.update({key: one for key, one in script.items() if not key.startswith("__")})
