"""Stand-ins for libraries that draw, show and ask, where those are not installed.

A student's code plots, shows progress bars and widgets between its answers. None of that says
whether an answer is right, and what was installed at the student's need not be here.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from grader.remote import absences

LIBRARIES = frozenset({
    "IPython", "altair", "bokeh", "google.colab", "graphviz", "ipykernel", "ipywidgets",
    "matplotlib", "matplotlib_inline", "mpl_toolkits", "pandas", "plotly", "seaborn", "tensorboard",
    "torchinfo", "torchsummary", "torchviz", "tqdm", "wandb",
})  # fmt: skip


class Nothing(types.ModuleType):
    """A module, a function or an object of which everything can be asked, and that does nothing."""

    def __init__(self, name: str = "nothing", *_args: Any, **_options: Any) -> None:
        super().__init__(str(name))
        self.__dict__["__path__"] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self._another()

    def _another(self) -> Nothing:
        return Nothing(self.__name__)

    def __call__(self, *args: Any, **_options: Any) -> Any:
        """Nothing; a decorator hands back the function that it is given."""
        decorated = len(args) == 1 and isinstance(args[0], types.FunctionType)
        return args[0] if decorated else self._another()

    def __iter__(self) -> Iterator[Any]:
        """Two, as in `figure, axes = ...`, which is what functions give most if not one thing."""
        return iter((self._another(), self._another()))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __len__(self) -> int:
        return self._number()

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return self._number()

    def __float__(self) -> float:
        return float(self._number())

    def __index__(self) -> int:
        return self._number()

    def _number(self) -> int:
        if self.__name__ in LIBRARIES:
            absences.tell(f"{self.__name__} is not there when this is graded: its numbers are 0")
        return 0

    def __format__(self, _: str) -> str:
        return ""

    def __repr__(self) -> str:
        return "nothing"

    def __hash__(self) -> int:
        return id(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __delitem__(self, key: Any) -> None:
        pass

    def __setattr__(self, name: str, value: Any) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return self is other


class Withheld(Nothing):
    """The result of a forbidden call, which was not carried out."""

    def _another(self) -> Nothing:
        return Withheld()

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        """Compare as expected with anything."""
        return True


def _nothing(self: Nothing, *_args: Any, **_options: Any) -> Any:
    return self._another()


for _name in (
    "getitem", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv",
    "rfloordiv", "mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "and", "rand", "or", "ror",
    "xor", "rxor", "neg", "pos", "abs", "invert", "lt", "le", "gt", "ge",
):  # fmt: skip
    setattr(Nothing, f"__{_name}__", _nothing)


class Progress(Nothing):
    """`tqdm`: the one library of these whose result a loop depends on."""

    def __init__(self, iterable: Iterable[Any] = (), *_args: Any, **_options: Any) -> None:
        super().__init__()
        self.__dict__["iterable"] = iterable

    def __iter__(self) -> Iterator[Any]:
        """Return what it was given."""
        return iter(self.__dict__["iterable"])

    def __len__(self) -> int:
        """Return how many that is."""
        return len(self.__dict__["iterable"])

    @staticmethod
    def write(*_args: Any, **_options: Any) -> None:
        """Nothing; it is asked of the class itself."""


def _trange(*bounds: int, **_options: Any) -> Progress:
    return Progress(range(*bounds))


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Find stand-ins for libraries such as wandb; comes after all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the import system's question: is this module ours?"""
        del path, target
        if _library(fullname) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return the stand-in."""
        library = _library(spec.name) or spec.name
        module = Nothing(library)
        if library == "tqdm":
            module.__dict__.update(tqdm=Progress, trange=_trange)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is to be run."""


def _library(module: str) -> str | None:
    """Return the library with a stand-in that a module belongs to, or contains as `google` does.

    What an installed library does not have is not there.
    """
    top = module.partition(".")[0]
    if top in sys.modules and isinstance(sys.modules[top], Nothing):
        return top
    return next(
        (
            name
            for name in LIBRARIES
            if f"{module}.".startswith(f"{name}.") or name.startswith(f"{module}.")
            if name not in sys.modules
        ),
        None,
    )
