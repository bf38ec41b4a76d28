"""IPython's own shell, as it runs the cells of a notebook that is graded.

It is IPython but for what a graded notebook must not do, or what nobody is there for: no command is
run, nothing is shown, and a statement that an exercise rules out is passed over.

Page: https://ipython.readthedocs.io/en/stable/api/generated/IPython.core.interactiveshell.html
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import re
import sys
import types
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from IPython.core.autocall import ZMQExitAutocall
from IPython.core.builtin_trap import BuiltinTrap
from IPython.core.compilerop import CachingCompiler
from IPython.core.extensions import ExtensionManager
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_cell_magic,
    line_magic,
    magics_class,
    no_var_expand,
)
from IPython.core.magics.execution import ExecutionMagics
from IPython.core.magics.script import ScriptMagics
from IPython.utils.process import arg_split
from IPython.utils.text import LSString, SList
from matplotlib_inline.config import InlineBackend
from traitlets import Instance, Type, default
from traitlets.config import Config

from grader.notebook import commands
from grader.notebook.event_loop import EventLoop
from grader.remote.guard import ForbiddenCall
from grader.remote.source_lines import source_lines
from grader.remote.standins import Nothing, Withheld

# Nothing is kept for a later session.
_CONFIG = Config({"HistoryManager": {"enabled": False, "hist_file": ":memory:"}})
# Magics that most notebooks use, which IPython imports at first use.
_COMMON = ("cd", "config", "load_ext", "matplotlib", "run", "who", "writefile")
_PROMPT = re.compile(r"\s*>>>")
_SYNTAX = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


class CellTransformer(TransformerManager):  # type: ignore[misc]
    """Leave cells that are Python already as they are.

    IPython searches every line of every cell for prompts and magics, which takes longer than to run
    most cells.
    """

    def transform_cell(self, cell: str) -> str:
        """Return the Python source of a cell: the cell itself, or what IPython turns it into."""
        if _is_python(cell):
            return cell if cell.endswith("\n") else cell + "\n"
        transformed: str = super().transform_cell(cell)
        return transformed


def _is_python(cell: str) -> bool:
    """Return whether IPython would change nothing in a cell.

    It removes prompts wherever they stand, even in a string, but for docstrings.
    """
    if "In [" in cell:
        return False
    try:
        tree = compile(cell, "<cell>", "exec", _SYNTAX, dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    if ">>>" not in cell:
        return True
    docstrings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source_lines(cell), 1)
    return all(number in docstrings for number, line in lines if _PROMPT.match(line))


class CellCompiler(CachingCompiler):  # type: ignore[misc]
    """Give all code of a cell the cell's file name and line numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.file, self.text = "", ""

    def cache(self, *_args: Any, **_options: Any) -> str:
        """Return the name under which tracebacks and `inspect` find the cell's submitted text."""
        lines = source_lines(self.text)
        linecache.cache[self.file] = (len(self.text), None, lines, self.file)
        return self.file

    def ast_parse(self, source: str, *_args: Any, **_options: Any) -> ast.AST:
        """Return the syntax tree of a part of the cell, or of all of it."""
        above = self._lines_above(source)
        try:
            tree: ast.AST = super().ast_parse(source, self.file)
        except SyntaxError as error:
            error.lineno = (error.lineno or 1) + above
            raise
        return ast.increment_lineno(tree, above) if above else tree

    def __call__(self, source: Any, _file: str, symbol: str, **options: Any) -> Any:
        """Return the code of a part of the cell."""
        return super().__call__(source, self.file, symbol, **options)

    def _lines_above(self, source: str) -> int:
        at = self.text.find(source.strip("\n"))
        if at < 0:  # it holds magics; IPython has left out empty lines above them, and no others
            at = len(self.text) - len(self.text.lstrip())
        return self.text.count("\n", 0, at)


@magics_class
class Programs(ScriptMagics):  # type: ignore[misc]
    """`%%bash` and its kin, which hand a cell to another program: none is run."""

    @cell_magic("script")  # type: ignore[untyped-decorator]
    def shebang(self, line: str, _cell: str) -> None:
        """Return an empty output of the program."""
        options, _ = ScriptMagics.shebang.parser.parse_known_args(arg_split(line))
        for name in filter(None, (options.out, options.err)):
            self.shell.user_ns[name] = commands.output()


@magics_class
class Replaced(Magics):  # type: ignore[misc]
    """Replacements for IPython's magics that would take seconds or need something missing."""

    @no_var_expand  # type: ignore[untyped-decorator]
    @line_cell_magic  # type: ignore[untyped-decorator]
    def timeit(self, line: str, cell: str | None = None) -> Any:
        """Run the statement once; the time is not reported."""
        options, code = self.parse_options(
            line, "n:r:tcp:qov:", posix=False, strict=False, preserve_non_opts=True
        )
        kept = " -o" if "o" in options else ""
        return ExecutionMagics(self.shell).timeit(f"-n1 -r1 -q{kept} {code}", cell)

    @line_magic  # type: ignore[untyped-decorator]
    def conda(self, line: str) -> None:
        """A command, which IPython refuses where Python is not conda's."""
        self.shell.system(f"conda {line}")

    @line_magic  # type: ignore[untyped-decorator]
    def mamba(self, line: str) -> None:
        """As `%conda`."""
        self.conda(line)

    @line_cell_magic  # type: ignore[untyped-decorator]
    def check(self, _line: str, _cell: str = "") -> None:
        """Do nothing: the verdict of the public tests is not needed here."""

    show = line_magic("show")(check)
    hints = line_magic("hints")(check)

    @line_magic  # type: ignore[untyped-decorator]
    def capstone(self, _line: str) -> Nothing:
        """Return a stand-in for the translator, without minutes of training."""
        return Nothing()


class Extensions(ExtensionManager):  # type: ignore[misc]
    """Extensions of IPython's. One that is not installed was, at the student's."""

    missing = False

    def load_extension(self, module_str: str) -> Any:
        """Load an extension. If it is missing, unknown magics may be its own."""
        try:
            return super().load_extension(module_str)
        except ModuleNotFoundError:
            self.missing = True
            return None
        finally:
            if module_str != "grader":
                self.missing |= isinstance(sys.modules.get(module_str), Nothing)


class Shell(InteractiveShell):  # type: ignore[misc]
    """The shell of one notebook.

    It is made once, before its process is forked, and told to `enter` by the child whose shell it
    becomes. `failed` hears of every error that ended a cell. With `past_errors` a cell goes on
    below a line that fails.
    """

    user_module: types.ModuleType
    user_ns: dict[str, Any]
    compiler_class = Type(CellCompiler)
    input_transformer_manager = Instance(CellTransformer, ())

    def __init__(self, **options: Any) -> None:
        super().__init__(config=_CONFIG, **options)
        self.failed: Callable[[BaseException], None] = print
        self.past_errors = False
        self.loop: EventLoop | None = None
        self.loop_runner = self._run_in_loop

    @default("exiter")  # type: ignore[untyped-decorator]
    def _kernel_exiter(self) -> ZMQExitAutocall:
        return ZMQExitAutocall(self)

    def init_ipython_dir(self, _folder: str | None) -> None:
        """No folder before there is a child that it is for."""

    def init_profile_dir(self, _folder: Any) -> None:
        """No folder before there is a child that it is for."""

    def init_sys_modules(self) -> None:
        """Change process-wide settings only in the process of a notebook."""

    def init_builtins(self) -> None:
        """Change process-wide settings only in the process of a notebook."""
        self.builtin_trap = BuiltinTrap(shell=self)

    def init_prompts(self) -> None:
        """Change process-wide settings only in the process of a notebook."""

    def init_magics(self) -> None:
        """IPython's and the kit's."""
        super().init_magics()
        self.register_magics(Programs, Replaced)
        self.magics_manager.register_alias("micromamba", "mamba")
        # Registered from the start, as in a kernel that uses matplotlib.
        self.configurables.append(InlineBackend.instance(parent=self))
        for name in _COMMON:
            self.find_line_magic(name)
            self.find_cell_magic(name)

    def init_extension_manager(self) -> None:
        """Create one that works without optional packages."""
        self.extension_manager = Extensions(shell=self, parent=self)
        self.configurables.append(self.extension_manager)

    def enter(self) -> None:
        """Become the shell of this process, as others do when they are made."""
        folder = os.getcwd()
        self.ipython_dir = os.path.join(folder, ".ipython")
        super().init_profile_dir(None)
        super().init_sys_modules()
        super().init_builtins()
        super().init_prompts()
        self.history_manager.dir_hist[:] = [folder]

    def run_cell(self, *arguments: Any, **options: Any) -> Any:
        """IPython's: runs a cell, or code that a magic in it takes for one."""
        result = super().run_cell(*arguments, **options)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            self.failed(error)
        return result

    def should_run_async(self, raw_cell: str, **options: Any) -> bool:
        """Return whether a cell needs an event loop. Running one always would take longer."""
        if "async" not in raw_cell and "await" not in raw_cell:
            return False
        running = self.loop is not None and self.loop.is_running()
        return not running or super().should_run_async(raw_cell, **options)

    def _run_in_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        self.loop = self.loop or EventLoop()
        return self.loop.run(coroutine)

    async def run_ast_nodes(
        self,
        nodelist: Sequence[ast.stmt],
        cell_name: str,
        interactivity: str = "last_expr",
        compiler: Any = compile,
        result: Any = None,
    ) -> bool:
        """IPython's, one statement at a time. Gives whether one of them ended the cell."""
        result = result or ExecutionResult(None)
        for number, node in enumerate(nodelist, 1):
            shows = number == len(nodelist) or interactivity == "all"
            if await super().run_ast_nodes(
                [node], cell_name, interactivity if shows else "none", compiler, result
            ):
                if not self._passed_over(node, result.error_in_exec or result.error_before_exec):
                    return True
                result.error_in_exec = result.error_before_exec = None
        return False

    def _passed_over(self, node: ast.stmt, error: BaseException | None) -> bool:
        """Return whether the cell continues below a statement that failed."""
        if isinstance(error, ForbiddenCall):
            # Its result is missing, and statements that use it are skipped as well.
            self.failed(error)
            self._withhold(node)
        elif not isinstance(error, Exception):
            return False
        elif self._needs_withheld(node):
            self._withhold(node)
        elif self.past_errors:
            self.failed(error)
        else:
            return False
        return True

    def _withhold(self, node: ast.stmt) -> None:
        """Give what a statement would have bound a meaning that nothing can be made of."""
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.With, ast.For)):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    self.user_ns[part.id] = Withheld()

    def _needs_withheld(self, node: ast.stmt) -> bool:
        names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
        return any(type(self.user_ns.get(name)) is Withheld for name in names)

    @contextlib.contextmanager
    def apart(self) -> Iterator[dict[str, Any]]:
        """Let code run among other names for a while, which begin as those of the notebook."""
        module, names = self.user_module, self.user_ns
        other = types.ModuleType("__main__")
        other.__dict__.update(names)
        self.user_module, self.user_ns = other, other.__dict__
        try:
            yield other.__dict__
        finally:
            self.user_module, self.user_ns = module, names

    def system(self, cmd: str) -> None:
        """A line after `!`: it has worked, and nothing was run."""
        commands.system(self.var_expand(cmd, depth=1))
        self.user_ns["_exit_code"] = 0

    system_raw = system_piped = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Return what a command printed: nothing, since it is not run."""
        del cmd, depth
        text = commands.output()
        return SList(text.splitlines()) if split else LSString(text)

    def enable_gui(self, gui: str | None = None) -> None:
        """Do nothing: there is no screen."""

    def enable_matplotlib(self, gui: str | None = None) -> tuple[str | None, str]:
        """`%matplotlib`, of whatever kind: figures are drawn into memory."""
        return gui, "agg"

    def ask_exit(self) -> None:
        """`exit` ends nothing: a kernel ends when the cell has."""

    def showtraceback(self, exc_tuple: Any = None, **_options: Any) -> None:
        """Show nothing. The exception is available as `sys.last_value`."""
        self._get_exc_info(exc_tuple)

    def showsyntaxerror(self, *_arguments: Any, **_options: Any) -> None:
        """Show nothing."""
        self.showtraceback()

    def _tee(self, channel: str) -> contextlib.AbstractContextManager[None]:
        """Keep no output, of which there may be too much."""
        del channel
        return contextlib.nullcontext()

    def _format_exception_for_storage(self, exception: BaseException, **_: Any) -> dict[str, Any]:
        """Keep no text of an exception: to make it calls code of the student's, and take long."""
        del exception
        return {}

    def _find_with_lazy_load(self, type_: str, magic_name: str) -> Any:
        magic = super()._find_with_lazy_load(type_, magic_name)
        if magic is None and self.extension_manager.missing:
            return lambda *_: None
        return magic


# Notebooks ask for it, to know that they are one.
Shell.__name__ = Shell.__qualname__ = "ZMQInteractiveShell"
Shell.__module__ = "ipykernel.zmqshell"
