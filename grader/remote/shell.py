"""What a cell is to IPython: its syntax made Python, and what its magics come to when graded.

Magics and shell lines change nothing but what the notebook's own code can see: the environment,
its names, files that it writes for itself. No command is run.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import inspect
import io
import os
import re
import shlex
import sys
import types
from collections.abc import Callable
from typing import Any

from grader.remote import commands, standins
from grader.remote.magics import CARRIED_OUT, Magics, expanded
from grader.remote.standins import Nothing

_CELL_MAGIC = re.compile(r"%%(\w+)[ \t]*(.*)")
# Cell magics whose body runs among the notebook's own names.
_TRANSPARENT = {"time", "capture", "prun"}
_WRITING = {"writefile", "file"}
# Those whose body is for another program, or only shown.
_CELL_MAGICS = frozenset({
    "!", "HTML", "SVG", "bash", "cmd", "code_wrap", "debug", "html", "javascript", "js", "latex",
    "markdown", "mypy", "perl", "pypy", "python", "python2", "python3", "ruby", "script", "sh",
    "svg", "sx", "system", "timeit",
})  # fmt: skip
_OUTPUT = re.compile(r"--(?:out|err)[ =](\w+)")
# IPython's own, https://ipython.readthedocs.io/en/stable/interactive/magics.html. Another one is an
# error, which ends its cell, unless an extension may have brought it.
_LINE_MAGICS = frozenset({
    "alias", "alias_magic", "autoawait", "autocall", "automagic", "autosave", "bookmark",
    "capstone", "cat", "cd", "check", "clear", "code_wrap", "colors", "conda", "config",
    "connect_info", "cp", "cpaste", "debug", "dhist", "dirs", "doctest_mode", "ed", "edit",
    "env", "gui", "hist",
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
            shell.capture(next((word for word in rest.split() if word.isidentifier()), ""))
        lines[number] = rest if name == "time" and not rest.startswith("-") else ""
    return "\n".join(lines)


class Captured(Nothing):
    """What `%%capture` keeps of a cell: the texts that it printed."""

    def __init__(self, stdout: str, stderr: str) -> None:
        super().__init__("captured")
        self.__dict__.update(stdout=stdout, stderr=stderr, outputs=[])

    def __str__(self) -> str:
        return str(self.stdout)


class Events:
    """What a notebook wants to be called before and after its cells."""

    def __init__(self) -> None:
        self.registered: list[tuple[str, Callable[..., Any]]] = []

    def register(self, event: str, function: Callable[..., Any]) -> None:
        """Calls the function at each such event from now on."""
        self.registered.append((event, function))

    def unregister(self, event: str, function: Callable[..., Any]) -> None:
        """Calls it no more."""
        self.registered.remove((event, function))

    def trigger(self, event: str) -> None:
        """Calls all that are registered for it. What they raise is shown, and ends nothing."""
        for wanted, function in [*self.registered]:
            if wanted == event:
                with contextlib.suppress(Exception):
                    takes = len(inspect.signature(function).parameters)
                    function(*[Nothing()] * min(takes, 1))


class Shell(Magics):
    """What `get_ipython()` gives. `run` runs code among the notebook's names."""

    def __init__(self, names: dict[str, Any], run: Callable[[str], Any]) -> None:
        super().__init__(names, run)
        names["_exit_code"] = 0
        self.__dict__.update(user_ns=names, extended=False, capturing=None)
        self.__dict__["events"] = Events()

    def run_line_magic(self, name: str, line: str, *_args: Any, **_options: Any) -> Any:
        """What a line magic comes to. Raises `UsageError` for one that does not exist."""
        if name not in ("time", "timeit", "prun"):
            line = expanded(line, self.names)
        if ("line", name) in standins.own_magics:
            return standins.own_magics["line", name](line)
        if name in CARRIED_OUT:
            return self.carry_out(name, line.strip())
        if name in ("load_ext", "reload_ext"):
            self.__dict__["extended"] = line.strip() not in ("grader", "autoreload")
        elif name not in _LINE_MAGICS and name != "autoreload" and not self.extended:
            raise UsageError(f"Line magic function `%{name}` not found.")
        gives = name == "capstone" or (name == "timeit" and "-o" in line.split())
        return Nothing() if gives else None

    magic = run_line_magic

    def run_cell_magic(self, name: str, line: str, body: str) -> None:
        """What a cell magic comes to whose body is no code of the notebook.

        Raises `UsageError` for one that does not exist.
        """
        if ("cell", name) in standins.own_magics:
            standins.own_magics["cell", name](line, body)
        elif name in _WRITING:
            options = shlex.split(line)
            with open(options[-1], "a" if "-a" in options else "w", encoding="utf-8") as file:
                file.write(body if body.endswith("\n") else f"{body}\n")
        elif name in _CELL_MAGICS or self.extended:
            self.names.update({name: commands.output("").n for name in _OUTPUT.findall(line)})
        else:
            raise UsageError(f"Cell magic `%%{name}` not found.")

    def register_magic_function(self, function: Any, kind: str = "line", name: str = "") -> None:
        """Lets a function of the notebook's be a magic."""
        for one in kind.split("_"):
            standins.own_magics[one, name or function.__name__] = function

    def register_magics(self, *given: Any) -> None:
        """Lets the marked methods of these objects, or classes, be magics."""
        for one in given:
            holder = one(self) if isinstance(one, type) else one
            for name in dir(holder):
                method = getattr(holder, name)
                for kind, called in getattr(method, "magics", ()):
                    standins.own_magics[kind, called] = method

    def run_cell(self, source: str, *_args: Any, **_options: Any) -> Any:
        """Runs code as a cell of its own; an error in it is shown, and ends no more than it."""
        with contextlib.suppress(Exception, SystemExit):
            self.run(source)
        return Nothing()

    def ex(self, source: str) -> None:
        """Runs code among the notebook's names."""
        self.run(source)

    def ev(self, expression: str) -> Any:
        """What an expression gives among the notebook's names."""
        return eval(expression, self.names)

    def push(self, variables: dict[str, Any], *_args: Any, **_options: Any) -> None:
        """Gives names a meaning in the notebook."""
        self.names.update(variables)

    def getoutput(self, command: str, *_args: Any, **_options: Any) -> commands.Lines:
        """What a command printed: nothing, since it is not run."""
        return commands.output(command)

    def system(self, command: str, *_args: Any, **_options: Any) -> None:
        """Runs no command; folders are made."""
        commands.system(expanded(command, self.names))

    def capture(self, name: str) -> None:
        """Keeps what the cell that is running prints, to be the value of a name."""
        self.__dict__["capturing"] = (name, sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()

    def end_capture(self) -> None:
        """Gives the name its value, if a cell was being captured."""
        if self.capturing is None:
            return
        kept, (name, *streams) = (sys.stdout, sys.stderr), self.capturing
        self.__dict__["capturing"] = None
        sys.stdout, sys.stderr = streams
        if name:
            texts = [one.getvalue() if isinstance(one, io.StringIO) else "" for one in kept]
            self.names[name] = Captured(*texts)

    def __repr__(self) -> str:
        return f"<ipykernel.zmqshell.ZMQInteractiveShell object at {id(self):#x}>"


# Notebooks ask for it, to know that they are one.
Shell.__name__ = Shell.__qualname__ = "ZMQInteractiveShell"
Shell.__module__ = "ipykernel.zmqshell"
