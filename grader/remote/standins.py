"""What stands in for libraries that draw, show and ask: their names are there and nothing happens.

A notebook plots, shows progress bars and widgets between its answers. None of that says whether an
answer is right, and to load those libraries takes longer than to grade.
"""

from __future__ import annotations

import dis
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from grader.remote import absences

LIBRARIES = frozenset({
    "IPython", "altair", "bokeh", "google", "grader", "graphviz", "ipykernel", "ipywidgets",
    "matplotlib", "matplotlib_inline", "mpl_toolkits", "pandas", "plotly", "seaborn", "tensorboard",
    "torchinfo", "torchsummary", "torchviz", "tqdm", "wandb",
})  # fmt: skip
# The magics that a notebook has made for itself, by "line" or "cell" and their names.
own_magics: dict[tuple[str, str], Callable[..., Any]] = {}
_UNPACK = dis.opmap["UNPACK_SEQUENCE"]


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
        """As many as are asked for in `fig, (left, right) = ...`, and otherwise two."""
        frame = sys._getframe(1)
        code, at = frame.f_code.co_code, frame.f_lasti
        count = code[at + 1] if 0 <= at < len(code) and code[at] == _UNPACK else 2
        return iter([self._another() for _ in range(count)])

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
    """What a call gives that was not carried out, since an exercise rules it out."""

    def _another(self) -> Nothing:
        return Withheld()

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        """Whatever it is compared with, it is as expected: nobody knows better."""
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
        """What it was given."""
        return iter(self.__dict__["iterable"])

    def __len__(self) -> int:
        """How many that is."""
        return len(self.__dict__["iterable"])

    @staticmethod
    def write(*_args: Any, **_options: Any) -> None:
        """Nothing; it is asked of the class itself."""


def _trange(*bounds: int, **_options: Any) -> Progress:
    return Progress(range(*bounds))


def _registering(*kinds: str) -> Callable[..., Any]:
    """IPython's decorator of a function that is to be a magic, under its own or another name."""

    def register(named: Any) -> Any:
        if isinstance(named, str):
            return lambda function: keep(function, named)
        return keep(named, named.__name__)

    def keep(function: Any, name: str) -> Any:
        own_magics.update({(kind, name): function for kind in kinds})
        return function

    return register


def _marking(*kinds: str) -> Callable[..., Any]:
    """IPython's decorator of a method that is to be a magic, once its class is registered."""

    def mark(named: Any) -> Any:
        if isinstance(named, str):
            return lambda method: keep(method, named)
        return keep(named, named.__name__)

    def keep(method: Any, name: str) -> Any:
        method.magics = [(kind, name) for kind in kinds]
        return method

    return mark


class OwnMagics:
    """`IPython.core.magic.Magics`: the class of those who write magics of their own."""

    def __init__(self, shell: Any = None, **_options: Any) -> None:
        self.shell = shell


_IN_IPYTHON = {
    "register_line_magic": _registering("line"),
    "register_cell_magic": _registering("cell"),
    "register_line_cell_magic": _registering("line", "cell"),
    "line_magic": _marking("line"),
    "cell_magic": _marking("cell"),
    "line_cell_magic": _marking("line", "cell"),
    "magics_class": lambda kind: kind,
    "Magics": OwnMagics,
}


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Where `import matplotlib.pyplot` finds nothing, in this sense. IPython knows the `shell`."""

    def __init__(self, shell: Any = None) -> None:
        self.shell = shell

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The import system's question: is this module ours?"""
        del path, target
        if fullname.partition(".")[0] not in LIBRARIES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The stand-in."""
        module = Nothing(spec.name.partition(".")[0])
        if spec.name.partition(".")[0] == "tqdm":
            module.__dict__.update(tqdm=Progress, trange=_trange)
        if spec.name.partition(".")[0] == "IPython":
            module.__dict__.update(_IN_IPYTHON, get_ipython=lambda: self.shell)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is to be run."""
