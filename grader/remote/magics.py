"""Line magics of IPython that change what a notebook's own code can see, carried out.

Page: https://ipython.readthedocs.io/en/stable/interactive/magics.html
"""

from __future__ import annotations

import builtins
import contextlib
import os
import re
import shlex
import string
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from grader.remote import commands
from grader.remote.standins import Nothing

# What no magic deletes.
_KEPT = {"get_ipython", "display", "In", "Out", "exit", "quit"}
# What a notebook without code of its own has; `%who` does not show it.
_HIDDEN = _KEPT | {"pylab"}
_NAME = re.compile(r"\$(\$|[A-Za-z_][\w.]*)")
# What `%pylab` brings, https://ipython.readthedocs.io/en/stable/interactive/magics.html#magic-pylab
_PYLAB = """
import matplotlib
from matplotlib import pylab, mlab, pyplot
import numpy
import numpy as np
plt = pyplot
from numpy import *
from numpy.fft import *
from numpy.random import *
from numpy.linalg import *
"""
_PYTHONS = ("abs", "bool", "bytes", "max", "min", "pow", "round")


class _Expressions(string.Formatter):
    """What stands in braces is any expression."""

    def get_field(self, field_name: str, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        """What the expression gives among these names."""
        del args
        return eval(field_name, dict(kwargs)), field_name


def expanded(line: str, names: dict[str, Any]) -> str:
    """A magic's line with the values of `{expression}` and `$name`, where they can be had."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] == "$" else str(eval(match[1], dict(names)))

    if "{" not in line and "$" not in line:
        return line
    try:
        return _NAME.sub(value, _Expressions().vformat(line, (), names))
    except Exception:
        return line


class Magics(Nothing):
    """The magics, each a method that takes what stands behind its name.

    `run` runs code among the notebook's `names`.
    """

    def __init__(self, names: dict[str, Any], run: Callable[[str], Any]) -> None:
        super().__init__("shell")
        self.__dict__.update(names=names, run=run, stored={}, left=[])
        names["_dh"] = [os.getcwd()]

    def carry_out(self, name: str, line: str) -> Any:
        """What a magic of `CARRIED_OUT` gives."""
        return getattr(self, f"_{CARRIED_OUT[name]}")(line)

    def _time(self, line: str) -> Any:
        return self.run(line) if line and not line.startswith("-") else None

    def _env(self, line: str) -> Any:
        key, *rest = re.split(r"\s*=\s*|\s+", line, maxsplit=1)
        if rest:
            os.environ[key] = rest[0]
            return None
        return os.environ.get(key) if key else dict(os.environ)

    def _cd(self, line: str) -> None:
        folder = line.removeprefix("-q").strip().strip("\"'") or "~"
        visited = self.names.get("_dh", [])
        if folder == "-":
            folder = visited[-2] if len(visited) > 1 else "."
        # Where there is no such folder, IPython says so and goes on.
        with contextlib.suppress(OSError):
            os.chdir(os.path.expanduser(folder))
            visited.append(os.getcwd())

    def _pushd(self, line: str) -> None:
        self.left.append(os.getcwd())
        self._cd(line)

    def _popd(self, _line: str) -> None:
        if self.left:
            self._cd(self.left.pop())

    def _mkdir(self, line: str) -> None:
        commands.system(f"mkdir {line}")

    def _pwd(self, _line: str) -> str:
        return os.getcwd()

    def _output(self, line: str) -> commands.Lines:
        return commands.output(line)

    def _who_ls(self, line: str) -> list[str]:
        kinds = line.split()
        return sorted(
            name
            for name, value in self.names.items()
            if not name.startswith("_") and name not in _HIDDEN
            if not kinds or type(value).__name__ in kinds
        )

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

    def _store(self, line: str) -> None:
        words = line.split()
        if words[:1] == ["-r"]:
            wanted = words[1:] or [*self.stored]
            self.names.update({name: self.stored[name] for name in wanted if name in self.stored})
        else:
            self.stored.update({name: self.names[name] for name in words if name in self.names})

    def _pylab(self, _line: str) -> None:
        exec(_PYLAB, self.names)
        for name in _PYTHONS:
            self.names[name] = getattr(builtins, name)

    def _run(self, line: str) -> None:
        words = shlex.split(line)
        position = next((i for i, word in enumerate(words) if not word.startswith("-")), None)
        if position is None:
            return
        options, path, arguments = words[:position], words[position], words[position + 1 :]
        if not os.path.exists(path):
            if not os.path.exists(f"{path}.py"):
                raise FileNotFoundError(f"File `{path!r}` not found.")
            path = f"{path}.py"
        with open(path, encoding="utf-8") as file:
            source = file.read()
        name = os.path.splitext(os.path.basename(path))[0] if "-n" in options else "__main__"
        script = {"__name__": name, "__file__": path, "__builtins__": builtins}
        # An error is shown and ends the script, not the cell.
        with _arguments(path, arguments), contextlib.suppress(Exception, SystemExit):
            if "-i" in options:
                self.run(source)
            else:
                exec(compile(source, path, "exec", dont_inherit=True), script)
        self.names.update({key: one for key, one in script.items() if not key.startswith("__")})


@contextlib.contextmanager
def _arguments(path: str, given: list[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, [path, *given]
    try:
        yield
    finally:
        sys.argv = before


# The magics, and the method that does what each comes to.
CARRIED_OUT = {
    **{
        name: name
        for name in (
            "cd", "env", "mkdir", "popd", "pushd", "pwd", "pylab", "reset", "reset_selective",
            "run", "store", "time", "who_ls", "xdel",
        )
    },
    **{"prun": "time", "set_env": "env", "sx": "output", "system": "output"},
}  # fmt: skip
