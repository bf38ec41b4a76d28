"""Find the random numbers in a frame of requests, so that seeds can be stored instead.

Scaling and shifting random numbers keeps the ratios between their differences. A run of numbers is
looked up by these ratios, then compared number by number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.recognition.redrawing import (
    COPY,
    LITERAL,
    LOGICAL,
    NARROW,
    Condensed,
    Piece,
    as_data,
    drawn,
    raw,
    split,
)

# Numbers in a piece: at least so many, and more where the factors are not used elsewhere.
_SHORTEST, _SHORTEST_WITH_OWN_FACTORS = 4, 5
# How exact the ratios of numbers of a dtype are, and how far a float64 may be off.
_EXACT = {torch.float64: 1e-9, torch.float32: 3e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}
_ROUNDING = 1e-13
_COMPARED = 8


class _Pool:
    """All drawn numbers, indexed by the ratio of the differences of three in a row."""

    def __init__(self, seeds: Sequence[tuple[int, int]], scales: Sequence[float]) -> None:
        numbers = drawn(seeds)
        self.scales = scales
        self.views = [_View(away, numbers + away * numbers.sign()) for away in (0.0, 1.0)]

    def matches(self, numbers: Tensor) -> Iterator[Piece]:
        """Yield the runs that these numbers begin with."""
        for view in self.views:
            yield from view.matches(numbers, self.scales)


class _View:
    """All drawn numbers, moved away from zero by a constant."""

    def __init__(self, away: float, numbers: Tensor) -> None:
        self.away = away
        self.numbers = numbers
        first, second, third = numbers[:-2], numbers[1:-1], numbers[2:]
        self.ratios, self.order = ((second - first) / (third - first)).sort()

    def matches(self, numbers: Tensor, scales: Sequence[float]) -> Iterator[Piece]:
        """Yield the runs that these numbers begin with, with factors of three digits first."""
        wide = numbers[:_COMPARED].double()
        if len(numbers) < _SHORTEST or not bool(wide.isfinite().all()) or wide[0] == wide[2]:
            return
        exact = _EXACT[numbers.dtype]
        ratio = float((wide[1] - wide[0]) / (wide[2] - wide[0]))
        margin = exact * (1 + abs(ratio)) * 4
        ends = torch.tensor([ratio - margin, ratio + margin], dtype=torch.float64)
        low, high = torch.searchsorted(self.ratios, ends).tolist()
        starts = self.order[low:high]
        starts = starts[starts + len(wide) <= len(self.numbers)]
        if not len(starts):
            return
        runs = self.numbers[starts[:, None] + torch.arange(len(wide))]
        centred, own = runs - runs.mean(-1, keepdim=True), wide - wide.mean()
        scale = (centred * own).sum(-1) / (centred * centred).sum(-1)
        shift = wide.mean() - scale * runs.mean(-1)
        off = (runs * scale[:, None] + shift[:, None] - wide).abs().amax(-1)
        fits = off <= 4 * exact * wide.abs().amax()
        rows = zip(starts[fits].tolist(), scale[fits].tolist(), shift[fits].tolist(), strict=True)
        for start, factor, offset in rows:
            for simple, rest in _factors(factor, offset, numbers.dtype, scales):
                length = self._length(numbers, start, simple, rest)
                least = (
                    _SHORTEST if (simple, rest) != (factor, offset) else _SHORTEST_WITH_OWN_FACTORS
                )
                if length >= least:
                    yield Piece(length, start, simple, rest, self.away)

    def _length(self, numbers: Tensor, start: int, scale: float, shift: float) -> int:
        run = self.numbers[start : start + len(numbers)]
        redrawn = (run * scale + shift).to(numbers.dtype)
        drawn = numbers[: len(run)]
        if numbers.dtype == torch.float64:
            same = (redrawn - drawn).abs() <= _ROUNDING * (abs(scale) + abs(shift))
        else:
            same = redrawn == drawn
        return len(same) if bool(same.all()) else int((~same).int().argmax())


def _factors(
    factor: float, offset: float, dtype: torch.dtype, scales: Sequence[float]
) -> Iterator[tuple[float, float]]:
    """Yield factors of three digits that are as good, then, of exact numbers, the factors."""
    exact = _EXACT[dtype]
    rest = 0.0 if abs(offset) < 10 * exact * abs(factor) else float(f"{offset:.3g}")
    for scale in scales:
        simple = float(f"{factor / scale:.3g}") * scale
        if abs(simple - factor) <= 10 * exact * abs(factor):
            yield simple, rest
    if dtype == torch.float64:
        yield factor, offset


def condense(frame: bytes, draws: Mapping[tuple[int, int], float]) -> dict[str, Any]:
    """Return the frame as `grader.recognition.redrawing` stores it.

    `draws` holds the seed, count and scale of all numbers that were drawn.
    """
    seeds = [draw for draw in draws if draw[1]]
    pool = _Pool(seeds, sorted(set(draws.values())))
    header, tensors, contents = split(frame)
    before: dict[tuple[str, bytes], int] = {}
    buffers: list[list[Piece]] = []
    ways: list[int] = []
    literals: list[bytes] = []
    for (name, shape, order), content in zip(tensors, contents, strict=True):
        dtype = getattr(torch, name)
        count = len(content) // dtype.itemsize
        same = before.setdefault((name, content), len(buffers))
        way = 0
        if not count:
            pieces: list[Piece] = []
        elif same < len(buffers):
            pieces = [Piece(count, COPY - same)]
        else:
            numbers = torch.frombuffer(bytearray(content), dtype=dtype)
            if dtype == torch.float64 and torch.equal(numbers.float().double(), numbers):
                numbers, way = numbers.float(), NARROW
            pieces, kept = _pieces(pool, numbers)
            if order is not None and kept:
                inverse = [order.index(axis) for axis in range(len(order))]
                turned = numbers.view(shape).permute(inverse).reshape(-1)
                other, fewer = _pieces(pool, turned)
                if len(fewer) < len(kept):
                    pieces, kept, way = other, fewer, way | LOGICAL
            literals.append(kept)
        buffers.append(pieces)
        ways.append(way)
    whole = Condensed(header, seeds, buffers, ways, b"".join(literals))
    return as_data(_without_idle_seeds(whole))


def _pieces(pool: _Pool, numbers: Tensor) -> tuple[list[Piece], bytes]:
    """Return the pieces of a buffer, and the numbers that have to be kept themselves."""
    pieces: list[Piece] = []
    kept: list[Tensor] = []
    position, literal = 0, 0
    while position < len(numbers):
        best = None
        if numbers.is_floating_point():
            best = max(
                pool.matches(numbers[position:]), key=lambda piece: piece.length, default=None
            )
        if best is None and numbers.is_floating_point():
            literal, position = literal + 1, position + 1
            if position < len(numbers):
                continue
        elif best is None:
            literal, position = len(numbers), len(numbers)
        if literal:
            end = position
            kept.append(numbers[end - literal : end])
            pieces.append(Piece(literal, LITERAL))
            literal = 0
        if best is not None:
            pieces.append(best)
            position += best.length
    return pieces, raw(torch.cat(kept)) if kept else b""


def _without_idle_seeds(frame: Condensed) -> Condensed:
    """Leave out seeds whose numbers are in no piece."""
    runs = [piece for piece in frame.pieces if piece.start >= 0]
    used = [(piece.start, piece.start + piece.length) for piece in runs]
    kept: list[tuple[int, int]] = []
    moved: dict[int, int] = {}
    before = after = 0
    for seed, count in frame.seeds:
        end = before + count
        inside = [start for start, stop in used if start < end and stop > before]
        if inside:
            moved.update((start, start - before + after) for start in inside if start >= before)
            kept.append((seed, count))
            after += count
        before = end
    shifted = [
        [replace(piece, start=moved.get(piece.start, piece.start)) for piece in buffer]
        for buffer in frame.buffers
    ]
    return replace(frame, seeds=kept, buffers=shifted)
