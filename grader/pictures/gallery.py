"""The panels of every exercise, and a file with the numbers that right answers give for them.

`expected.json` is all that `grader show` needs to know of the answers: it holds what they compute
for inputs that are always the same, and no line of them. `grader stubs` makes it from the solutions
(`outdated`, `write`); an edition for students ships it as it is.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grader.pictures import language, learning, models, pieces, writing
from grader.pictures.panels import Answers, Panel

PANELS: dict[str, tuple[Panel, ...]] = (
    pieces.PANELS | models.PANELS | learning.PANELS | language.PANELS | writing.PANELS
)
FILE = Path(__file__).parent / "expected.json"
_DTYPES = {"bool": torch.bool, "int64": torch.int64, "float32": torch.float32}


def expected(exercise: str) -> tuple[Tensor, ...]:
    """Return what right code computes for each panel of the exercise."""
    return tuple(
        torch.tensor(numbers["values"], dtype=_DTYPES[numbers["dtype"]]).reshape(numbers["shape"])
        for numbers in _file()[exercise]
    )


def computed(panel: Panel, answers: Answers) -> Any:
    """Return what the code behind `answers` gives for a panel. Its exceptions pass through."""
    with torch.random.fork_rng(devices=()), torch.no_grad():
        return panel.compute(answers)


def outdated(answers: Answers) -> bool:
    """Return whether the file is missing or holds other numbers than these right answers give."""
    try:
        there = {name: expected(name) for name in PANELS}
    except (OSError, ValueError, KeyError):
        return True
    return any(
        len(there[name]) != len(panels)
        or not all(
            old.shape == new.shape
            and torch.allclose(old.double(), new.double(), 1e-4, panel.tolerance or 1e-5)
            for panel, old, new in zip(panels, there[name], _right(panels, answers), strict=True)
        )
        for name, panels in PANELS.items()
    )


def write(answers: Answers) -> bool:
    """Bring the file up to date. Return whether it was not."""
    if not outdated(answers):
        return False
    data = {
        name: [
            {
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "shape": list(tensor.shape),
                "values": [_short(number) for number in tensor.flatten().tolist()],
            }
            for tensor in _right(panels, answers)
        ]
        for name, panels in PANELS.items()
    }
    FILE.write_text(_as_text(data), encoding="utf-8", newline="\n")
    _file.cache_clear()
    return True


def _right(panels: tuple[Panel, ...], answers: Answers) -> list[Tensor]:
    tensors = []
    for panel in panels:
        result = computed(panel, answers)
        tensor: Tensor = (result[panel.part] if panel.parts else result).detach()
        tensors.append(tensor.float() if tensor.is_floating_point() else tensor)
    return tensors


def _short(number: float | int | bool) -> float | int | bool:
    return float(f"{number:.7g}") if isinstance(number, float) else number


def _as_text(data: dict[str, list[dict[str, Any]]]) -> str:
    """Return JSON with a line for each panel."""
    parts = []
    for name, panels in data.items():
        lines = ",\n  ".join(json.dumps(panel, separators=(",", ":")) for panel in panels)
        parts.append(f'"{name}": [\n  {lines}\n ]')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


@cache
def _file() -> dict[str, list[dict[str, Any]]]:
    data: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return data
