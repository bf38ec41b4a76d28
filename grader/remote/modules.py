"""Where a student's code finds the other exercises: the modules of the package `exercises`."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import inspect
import linecache
import marshal
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from grader.remote.source_lines import source_lines

PACKAGE = "exercises"
# The file name of the code of a reference.
REFERENCE = "<reference>"


class Package(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Where the import system finds the modules of `exercises`, whose texts come over a wire.

    Who makes one says which modules there are, and runs their code.
    """

    def holds(self, exercise: str) -> bool:
        """Return whether the module of an exercise comes from here."""
        raise NotImplementedError

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the import system's question: is this module ours?"""
        del path, target
        package, _, name = fullname.partition(".")
        if package != PACKAGE or not self.holds(name):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=file_name(name))

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return a module with the file name that its tracebacks show."""
        module = types.ModuleType(spec.name)
        module.__file__ = spec.origin
        return module


class Modules(Package):
    """Where `import exercises.attention` finds its code.

    What the graded exercise needs is the reference, which arrives compiled; everything else is the
    student's own. A name that the reference lacks is looked up in the student's own file, so that
    a helper kept in one exercise can be used in another.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        """Make `exercises` a package whose modules come from here."""
        self.sources = dict(sources)
        self.references: frozenset[str] = frozenset()
        self.known = {PACKAGE, *(f"{PACKAGE}.{name}" for name in self.sources)}
        self.arrived: dict[str, bytes] = {}
        self.compiled: dict[str, types.CodeType] = {}
        for name, source in self.sources.items():
            remember(name, source)
        sys.meta_path.insert(0, self)

    def load(self, exercise: str, references: Mapping[str, bytes]) -> types.ModuleType:
        """Return the student's module of an exercise, imported with what it needs and nothing else.

        Raises whatever the module raises.
        """
        self.prepare(references)
        hide(references)
        return importlib.import_module(f"{PACKAGE}.{exercise}")

    def reload(self, exercise: str, texts: Mapping[str, str]) -> types.ModuleType:
        """Return the module of an exercise, made from another text. Raises what that raises."""
        source = texts[exercise]
        sys.modules.pop(f"{PACKAGE}.{exercise}", None)
        remember(exercise, source)
        self.compiled[exercise] = compile(source, file_name(exercise), "exec", dont_inherit=True)
        return importlib.import_module(f"{PACKAGE}.{exercise}")

    def examine(self, programs: Sequence[bytes], program: bytes, token: str) -> None:
        """Only notebooks hold tests of the instructor's own."""
        raise NotImplementedError

    def told(self) -> None:
        """Return no remarks: there are none on imported files."""

    def prepare(self, references: Mapping[str, bytes]) -> None:
        """Forget what was imported, so that `exercises` is these references and the student's.

        The references are imported here, and their bytes are gone before any code of the student's
        could look for them.
        """
        self.references = frozenset(references)
        self.known.update(f"{PACKAGE}.{name}" for name in references)
        begin_anew(self.known)
        self.arrived = dict(references)
        for name in references:
            importlib.import_module(f"{PACKAGE}.{name}")
        self.arrived = {}

    def remove(self) -> None:
        """Take the package `exercises` away again."""
        sys.meta_path.remove(self)
        forget(self.known)

    def imported(self) -> dict[str, types.ModuleType]:
        """Return what can be imported from here and is, as it is now, to be put there again."""
        return {name: sys.modules[name] for name in self.known if name in sys.modules}

    def holds(self, exercise: str) -> bool:
        """Return whether it is a reference or a file of the student's."""
        return exercise in self.references or exercise in self.sources

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module's code in it."""
        name = module.__name__.partition(".")[2]
        if name in self.references:
            code = marshal.loads(self.arrived[name])
            exec(code, module.__dict__)
            _state_signatures(vars(module).values(), dict(_parts(code)))
            if name in self.sources:
                module.__dict__["__getattr__"] = _Own(self, name)
        else:
            exec(self.code(name), module.__dict__)

    def code(self, name: str) -> types.CodeType:
        """Return the student's own file, compiled once for all exercises. Raises `SyntaxError`."""
        if name not in self.compiled:
            self.compiled[name] = compile(
                self.sources[name], file_name(name), "exec", dont_inherit=True
            )
        return self.compiled[name]


class _Own:
    """A reference module's `__getattr__`: falls back on the student's own file of that name."""

    def __init__(self, modules: Modules, name: str) -> None:
        self.modules = modules
        self.name = name
        self.own: types.ModuleType | None = None

    def __call__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if self.own is None:
            self.own = types.ModuleType(f"{PACKAGE}.{self.name}")
            self.own.__file__ = file_name(self.name)
            exec(self.modules.code(self.name), self.own.__dict__)
        return getattr(self.own, attribute)


def _parts(code: types.CodeType) -> Iterator[tuple[str, types.CodeType]]:
    """Yield the code of every function in a module, with its qualified name."""
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part.co_qualname, part
            yield from _parts(part)


def _state_signatures(values: Iterable[Any], codes: Mapping[str, types.CodeType]) -> None:
    """Let `inspect.signature` find what it would otherwise read in the code of a function."""
    for value in values:
        if isinstance(value, type) and value.__qualname__ in codes:
            _state_signatures(vars(value).values(), codes)
        elif isinstance(value, types.FunctionType) and value.__qualname__ in codes:
            code = codes[value.__qualname__]
            varied = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
            count = code.co_argcount + code.co_kwonlyargcount + varied.bit_count()
            # A function with the same arguments that does nothing.
            empty = _nothing.__code__.replace(
                co_argcount=code.co_argcount,
                co_posonlyargcount=code.co_posonlyargcount,
                co_kwonlyargcount=code.co_kwonlyargcount,
                co_varnames=code.co_varnames[:count],
                co_nlocals=count,
                co_flags=_nothing.__code__.co_flags | varied,
            )
            twin = types.FunctionType(empty, {}, value.__name__, value.__defaults__)
            twin.__kwdefaults__, twin.__annotations__ = value.__kwdefaults__, value.__annotations__
            value.__signature__ = inspect.signature(twin)  # type: ignore[attr-defined]


def _nothing() -> None:
    pass


def hide(references: Mapping[str, bytes]) -> None:
    """Forget what the references were made of, wherever the request that brought it is held."""
    if isinstance(references, dict):
        references.clear()


def forget(names: Iterable[str]) -> None:
    """Take these modules out of what is imported."""
    for name in names:
        sys.modules.pop(name, None)


def begin_anew(names: Iterable[str]) -> None:
    """Put an empty package in the place of what was imported of it: these modules.

    They are not looked for. In a process that was just forked, to look at the names of all modules
    copies the pages that they are on, thousands of them.
    """
    forget(names)
    package = types.ModuleType(PACKAGE)
    package.__path__ = []
    sys.modules[PACKAGE] = package


def remember(name: str, source: str) -> None:
    """Let tracebacks, and TorchScript, find the text of a file."""
    lines = source_lines(source)
    linecache.cache[file_name(name)] = (len(source), None, lines, file_name(name))


def file_of(frame: types.FrameType) -> str:
    """Return the file of the code that a frame runs.

    That of a reference is shown to nobody, the kit included: see `grader.remote.side_doors`.
    """
    try:
        return frame.f_code.co_filename
    except OSError:
        return REFERENCE


def file_name(exercise: str) -> str:
    """Return the file name that an exercise has in tracebacks."""
    return f"{PACKAGE}/{exercise}.py"
