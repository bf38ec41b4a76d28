"""Packed fingerprints: numbers only as exact as they are compared, equal ones stored once.

A mark is stored as its code, the size of its tensor, and its projections, quantised to a quarter of
the rounding tolerance. One of the four projections is kept, by which two different tensors look the
same once in 60,000 comparisons; half-precision tensors, which are compared less strictly, keep all
four (once in a million).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from grader.recognition.canonical_form import PROJECTIONS
from grader.recognition.columns import bits_of, bytes_of, flags_of, numbers_of
from grader.recognition.features import Prints

COARSE = 1e-3  # half precision rounds to more than this, all other dtypes to less
_STEPS = 4
_SIZES = 4  # steps per doubling of the size
_NO_SIZE = -10_000


def packed(rows: Prints) -> dict[str, Any]:
    """Return the reference's marks, the first row, and those of each answer with a mistake."""
    alike = rows.same(rows[0])
    alike[0] = False
    cells = rows[~alike]
    sizes = torch.where(
        cells.size > 0, (cells.size.double().log2() * _SIZES).round(), _NO_SIZE
    ).long()
    roundings, rounding_index = torch.unique(cells.rounding, return_inverse=True)
    steps = _steps(sizes, cells.rounding)[:, None]
    whole = (cells.values.double() / steps).round().long()
    whole *= _kept(cells.rounding)
    codes, code = torch.unique((rows.codes - rows.codes[0])[~alike], return_inverse=True)
    table = torch.cat([code[:, None], sizes[:, None], rounding_index[:, None], whole], dim=-1)
    numbers: dict[tuple[int, ...], int] = {}
    references = []
    for row in map(tuple, table.tolist()):
        # The distance back in the table, or 0 for a new one.
        references.append(len(numbers) - numbers[row] if row in numbers else 0)
        numbers.setdefault(row, len(numbers))
    unique = torch.tensor(list(numbers)).reshape(-1, table.shape[-1])
    kept = _kept(roundings[unique[:, 2]])
    return {
        "shape": list(alike.shape),
        "alike": bits_of(alike),
        "right": bytes_of(rows.codes[0]),
        "references": bytes_of(torch.tensor(references)),
        "codes": bytes_of(codes),
        "roundings": roundings.double(),
        **{
            name: bytes_of(unique[:, column])
            for column, name in enumerate(("code", "size", "rounding"))
        },
        "values": bytes_of(unique[:, 3:][kept]),
    }


def unpacked(data: Mapping[str, Any]) -> Prints:
    """Return the rows; a projection that was not kept is NaN, which nothing is compared with."""
    count, keys = data["shape"]
    alike = flags_of(data["alike"], (count, keys))
    references = numbers_of(data["references"])
    new = references == 0
    index = torch.where(new, new.cumsum(0) - 1, new.cumsum(0) - references)
    code, size, rounding_index = (numbers_of(data[name]) for name in ("code", "size", "rounding"))
    rounding = data["roundings"].float()[rounding_index]
    kept = _kept(rounding)
    values = torch.full((len(code), PROJECTIONS), torch.nan, dtype=torch.float64)
    values[kept] = numbers_of(data["values"]).double()
    values *= _steps(size, rounding)[:, None]
    right = numbers_of(data["right"])
    sizes = torch.where(size == _NO_SIZE, 0.0, 2.0 ** (size / _SIZES))
    table = Prints(numbers_of(data["codes"])[code], values.float(), sizes.float(), rounding)
    first = table[index[:keys]]

    def spread(column: Tensor, default: Tensor) -> Tensor:
        whole = default.expand(count, *default.shape).clone()
        whole[~alike] = column[index]
        return whole

    return Prints(
        right + spread(table.codes, torch.zeros_like(right)),
        spread(table.values, first.values),
        spread(table.size, first.size),
        spread(table.rounding, first.rounding),
    )


def with_reference(rows: Prints, right: Prints) -> Prints:
    """Return unpacked rows with the reference's own marks wherever they are the same as these."""
    same = rows.same(rows[0])
    same[0] = True
    return Prints(
        torch.where(same, right.codes, rows.codes),
        torch.where(same[..., None], right.values, rows.values),
        torch.where(same, right.size, rows.size),
        torch.where(same, right.rounding, rows.rounding),
    )


def _steps(sizes: Tensor, rounding: Tensor) -> Tensor:
    """Return how far apart two neighbouring values are."""
    steps = rounding.double() * 2.0 ** (sizes / _SIZES) / _STEPS
    return torch.where((rounding > 0) & (sizes != _NO_SIZE), steps, 1.0)


def _kept(rounding: Tensor) -> Tensor:
    """Return which projections are kept of marks that round so."""
    column = torch.arange(PROJECTIONS)
    many = torch.where(rounding > COARSE, PROJECTIONS, torch.where(rounding > 0, 1, 0))
    return column < many[:, None]
