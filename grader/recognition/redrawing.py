"""Frames of requests, stored as the seeds of their random numbers.

A frame of `grader.remote.wire` is a header and one buffer of numbers for each tensor. Most of the
numbers were drawn by `torch.randn` from a known seed, then scaled and shifted. So a buffer is
stored as pieces: a run of random numbers with a scale and a shift, a copy of an earlier buffer, or
the numbers themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.recognition.columns import bytes_of, numbers_of
from grader.remote.wire import LENGTH

# Where a piece starts: among the drawn numbers, here, or in an earlier buffer.
LITERAL = -1
COPY = -2
# How a buffer is stored: its float64 numbers as float32, and in the order of the tensor's own axes.
NARROW, LOGICAL = 1, 2
# Sums of random numbers from the same generator differ by less than this.
_SAME_SUM = 1e-6


class OtherNumbersError(Exception):
    """This version of torch draws other random numbers from the same seeds."""


@dataclass(frozen=True)
class Piece:
    """A run of numbers of a buffer.

    `start` is its position among the random numbers, `LITERAL`, or `COPY` minus the index of an
    earlier buffer. Random numbers are moved `away` from zero, then scaled and shifted.
    """

    length: int
    start: int
    scale: float = 1.0
    shift: float = 0.0
    away: float = 0.0

    def of(self, drawn: Tensor) -> Tensor:
        """Return the numbers, float64."""
        run = drawn[self.start : self.start + self.length]
        return (run + self.away * run.sign()) * self.scale + self.shift


def drawn(seeds: Sequence[tuple[int, int]]) -> Tensor:
    """Return the standard normal numbers of these seeds, each with its count, in one row."""
    parts = [
        torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        for seed, count in seeds
    ]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


def split(frame: bytes) -> tuple[bytes, list[tuple[str, list[int], list[int] | None]], list[bytes]]:
    """Return a frame's header, the dtype, shape and order of each tensor, and their buffers."""
    body = memoryview(frame)[LENGTH.size :]
    (length,) = LENGTH.unpack_from(body)
    position = LENGTH.size + length
    header = bytes(body[LENGTH.size : position])
    tensors, buffers = [], []
    for name, shape, size, order in json.loads(header)["t"]:
        tensors.append((name, shape, order))
        buffers.append(bytes(body[position : position + size]))
        position += size
    return header, tensors, buffers


@dataclass(frozen=True)
class Condensed:
    """A frame: seeds with counts, and the pieces of each buffer; `ways` says how each is stored.

    `literals` holds the numbers of all `LITERAL` pieces.
    """

    header: bytes
    seeds: Sequence[tuple[int, int]]
    buffers: Sequence[Sequence[Piece]]
    ways: Sequence[int]
    literals: bytes

    @property
    def pieces(self) -> list[Piece]:
        """The pieces of all buffers."""
        return [piece for buffer in self.buffers for piece in buffer]


def as_data(frame: Condensed) -> dict[str, Any]:
    """Return a frame as `restored` reads it."""
    pieces, seeds = frame.pieces, frame.seeds
    factors = list(dict.fromkeys((piece.scale, piece.shift, piece.away) for piece in pieces))
    number = {factor: index for index, factor in enumerate(factors)}
    return {
        "header": frame.header,
        "seeds": bytes_of(torch.tensor([seed for seed, _ in seeds])),
        "counts": bytes_of(torch.tensor([count for _, count in seeds])),
        "sum": float(drawn(seeds).abs().sum()),
        "pieces": bytes_of(torch.tensor([len(buffer) for buffer in frame.buffers])),
        "ways": bytes_of(torch.tensor(frame.ways)),
        "lengths": bytes_of(torch.tensor([piece.length for piece in pieces])),
        "starts": bytes_of(torch.tensor([piece.start for piece in pieces])),
        "factors": bytes_of(
            torch.tensor([number[piece.scale, piece.shift, piece.away] for piece in pieces])
        ),
        "scales": torch.tensor(factors, dtype=torch.float64),
        "literals": frame.literals,
    }


def restored(data: Mapping[str, Any]) -> bytes:
    """Return the body of the frame. Raises `OtherNumbersError`."""
    seeds = list(zip(_whole(data, "seeds"), _whole(data, "counts"), strict=True))
    pool = drawn(seeds)
    if abs(float(pool.abs().sum()) - data["sum"]) > _SAME_SUM:
        raise OtherNumbersError
    scales = data["scales"].tolist()
    columns = zip(*(_whole(data, name) for name in ("lengths", "starts", "factors")), strict=True)
    pieces = (Piece(n, start, *scales[f]) for n, start, f in columns)
    header, literals, position = data["header"], data["literals"], 0
    buffers: list[bytes] = []
    shapes = json.loads(header)["t"]
    for (name, shape, _, order), count, way in zip(
        shapes, _whole(data, "pieces"), _whole(data, "ways"), strict=True
    ):
        dtype_drawn = getattr(torch, name)
        dtype = torch.float32 if way & NARROW else dtype_drawn
        parts = []
        for _ in range(count):
            piece = next(pieces)
            if piece.start <= COPY:
                parts.append(_numbers(buffers[COPY - piece.start], dtype))
            elif piece.start == LITERAL:
                end = position + piece.length * dtype.itemsize
                parts.append(_numbers(literals[position:end], dtype))
                position = end
            else:
                parts.append(piece.of(pool).to(dtype))
        numbers = torch.cat(parts).to(dtype_drawn) if parts else torch.empty(0, dtype=dtype_drawn)
        if way & LOGICAL:
            numbers = numbers.view(_logical(shape, order)).permute(order).reshape(-1)
        buffers.append(raw(numbers))
    return b"".join((LENGTH.pack(len(header)), header, *buffers))


def _logical(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """Return the shape of a tensor whose axes a frame holds in this order."""
    return [shape[order.index(axis)] for axis in range(len(order))]


def raw(numbers: Tensor) -> bytes:
    """Return the bytes of a tensor, as a frame holds them."""
    plain = numbers.contiguous()
    return (plain.view(torch.int16) if plain.dtype is torch.bfloat16 else plain).numpy().tobytes()


def _numbers(content: bytes, dtype: torch.dtype) -> Tensor:
    return (
        torch.frombuffer(bytearray(content), dtype=dtype)
        if content
        else torch.empty(0, dtype=dtype)
    )


def _whole(data: Mapping[str, Any], name: str) -> list[int]:
    numbers: list[int] = numbers_of(data[name]).tolist()
    return numbers
