"""Small grids of numbers, cut out of large tensors around what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.feedback.finding import SIDES, Grid

_MAX_ROWS = 5
# A row of a pencil example is shown whole; of a longer one, a part is enough.
_WHOLE_COLUMNS = 8
_MAX_COLUMNS = 4


def cut_grid(
    yours: Tensor,
    expected: Tensor | None,
    wrong: Tensor,
    axes: Sequence[str] = (),
    sides: tuple[str, str] = SIDES,
) -> Grid | None:
    """Return the two-dimensional slice around the worst wrong number, at most 5 by 8.

    The three tensors have one shape; `wrong` is boolean. None when nothing is wrong.
    """
    if not wrong.any().item():
        return None
    index = _worst(yours, expected, wrong)
    names = list(axes) if len(axes) == wrong.dim() else [""] * wrong.dim()
    while len(index) < 2:
        index, names = [0, *index], ["", *names]
        yours, wrong = yours.unsqueeze(0), wrong.unsqueeze(0)
        expected = None if expected is None else expected.unsqueeze(0)
    lead = tuple(index[:-2])
    rows = _window(index[-2], wrong.shape[-2], _MAX_ROWS)
    width = wrong.shape[-1]
    columns = _window(index[-1], width, width if width <= _WHOLE_COLUMNS else _MAX_COLUMNS)

    def cut(tensor: Tensor) -> list[list[float]]:
        part = tensor[lead][rows.start : rows.stop, columns.start : columns.stop]
        return part.to(torch.float64).tolist() if not part.is_complex() else part.abs().tolist()

    return Grid(
        yours=tuple(map(tuple, cut(yours))),
        expected=() if expected is None else tuple(map(tuple, cut(expected))),
        differs=tuple(tuple(bool(cell) for cell in row) for row in cut(wrong)),
        rows=tuple(f"{names[-2] or 'row'} {i}" for i in rows),
        columns=tuple(f"{names[-1] or 'col'} {i}" for i in columns),
        where=_where(lead, names, rows, columns, wrong),
        sides=sides,
        kind=_kind(yours),
    )


def _worst(yours: Tensor, expected: Tensor | None, wrong: Tensor) -> list[int]:
    """Return the place of the wrong number that is furthest off; NaN is furthest of all."""
    badness = wrong.to(torch.float64)
    if expected is not None and not yours.is_complex():
        off = (yours.to(torch.float64) - expected.to(torch.float64)).abs()
        badness = torch.where(wrong, 1.0 + off.nan_to_num(nan=torch.inf), 0.0)
    flat = int(badness.argmax().item())
    index = []
    for size in reversed(wrong.shape):
        index.append(flat % size)
        flat //= size
    return index[::-1]


def _window(center: int, size: int, width: int) -> range:
    """At most `width` consecutive indices of `size`, with `center` among them."""
    start = max(0, min(center - width // 2, size - width))
    return range(start, min(size, start + width))


def _where(
    lead: tuple[int, ...], names: Sequence[str], rows: range, columns: range, wrong: Tensor
) -> str:
    parts = []
    if lead:
        named = [f"{name} {i}" for name, i in zip(names, lead, strict=False) if name]
        parts.append(", ".join(named) if named else f"[{', '.join(map(str, lead))}]")
        slices = wrong.flatten(0, -3).any(-1).any(-1)
        if len(slices) > 1:
            count = int(slices.sum().item())
            parts[0] += f" (the worst of {len(slices)} slices; {count} {_are(count)} wrong)"
    cut = [
        f"{len(shown)} of {size} {kind}"
        for shown, size, kind in (
            (rows, wrong.shape[-2], "rows"),
            (columns, wrong.shape[-1], "columns"),
        )
        if len(shown) < size
    ]
    if cut:
        parts.append(f"shown: {', '.join(cut)}")
    return "; ".join(parts)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _kind(tensor: Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "bool"
    return "float" if tensor.is_floating_point() or tensor.is_complex() else "int"
