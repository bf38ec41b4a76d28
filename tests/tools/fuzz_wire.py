"""Feeds the wire's decoder mutated frames: `python -m tests.tools.fuzz_wire [COUNT] [SEED]`.

Anything but a value or `WireError` ends the run with a traceback. A million take about two minutes.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from typing import Any

import torch

from grader.remote import wire

SEEDS: list[Any] = [
    {"ok": (torch.randn(2, 3), torch.randn(2, 1, 4, dtype=torch.float64).transpose(0, 2))},
    {"ok": [1, -2.5, "text", None, True, {"name": (1, 2)}, float("nan")]},
    {"error": {"kinds": ["ValueError", "Exception"], "text": "x", "file": None, "line": 3}},
    {"ok": {"weight": torch.ones(3, dtype=torch.bfloat16), "mask": torch.ones(4) > 0}},
    [
        wire.Affine(torch.ones(2), 0.5),
        wire.Once((1, "a")),
        wire.Seeded(3),
        (b"a", b"th"),
        b"\x00\x01",
        lambda: None,
        torch.empty(0, 3),
    ],
]
TOKENS = (
    b"{ } [ ] , : null true -1 0 1e999 9223372036854775808 "
    b'"T" "U" "D" "F" "R" "A" "B" "S" "X" "bool" "complex128" "\\ud800"'
).split()


def mutate(text: bytearray, draw: random.Random) -> bytearray:
    """Bytes that differ from `text` in a few places."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        position = draw.randrange(len(text) + 1)
        kind = draw.randrange(5)
        if kind == 0 and position < len(text):
            text[position] ^= 1 << draw.randrange(8)
        elif kind == 1:
            text[position:position] = draw.choice(TOKENS)
        elif kind == 2:
            del text[position : position + draw.randrange(1, 9)]
        elif kind == 3:
            text[position:position] = text[position : position + draw.randrange(1, 33)]
        else:
            replace_token(text, draw)
    return text


def replace_token(text: bytearray, draw: random.Random) -> None:
    """Puts another token in the place of a number or a word, so that the header stays JSON."""
    tokens = list(re.finditer(rb'"[^"]*"|-?[\d.]+|true|null', text))
    if tokens:
        result = draw.choice(tokens)
        text[result.start() : result.end()] = draw.choice(TOKENS)


def main(count: int, seed: int) -> None:
    """Decodes `count` mutated frames and prints what became of them."""
    draw = random.Random(seed)
    frames = []
    for value in SEEDS:
        body = wire.encode(value)[4:]
        end = 4 + int.from_bytes(body[:4], "little")
        frames.append((body[4:end], body[end:]))
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        header, data = map(bytearray, draw.choice(frames))
        header = mutate(header, draw) if draw.random() < 0.9 else header
        data = mutate(data, draw) if draw.random() < 0.2 else data
        length = len(header) if draw.random() < 0.95 else draw.getrandbits(draw.choice((8, 32)))
        try:
            wire.decode(length.to_bytes(4, "little") + header + data)
            outcomes["decoded"] += 1
        except wire.WireError as error:
            outcomes[str(error)] += 1
    print(f"{count} mutated frames, seed {seed}")
    for outcome, number in outcomes.most_common():
        print(f"{number:9} {outcome}")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(*(given + [1_000_000, 1][len(given) :]))
