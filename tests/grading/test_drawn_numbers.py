"""Frames of requests are kept as seeds, and come back as they were."""

from __future__ import annotations

import pytest
import torch

from grader.checks.framework.inputs import Numbers, remembered_draws
from grader.grading.diagnosis.drawn_numbers import condense
from grader.recognition import redrawing
from grader.recognition.columns import bits_of, bytes_of, flags_of, numbers_of
from grader.remote import wire
from grader.remote.session import tensors

NUMBERS = Numbers(run=17, case=3)


def requests() -> list[object]:
    """What checks send: drawn numbers as they are, worked on, in parts, and others."""
    x = NUMBERS.normal("x", 5, 7, 4)
    weight = 1.0 + 0.3 * NUMBERS.normal("weight", 30)
    changed = x.clone()
    changed[2, 3] = 0.0
    return [
        {"op": "call", "args": [x, x.clone(), x.transpose(-1, -2), x[1:3, 2]]},
        {"op": "call", "args": [1e3 * x + 5, x.float(), x.bfloat16(), x.float().double()]},
        {"op": "load", "weights": {"weight": weight, "other": NUMBERS.normal("w", 3, scale=0.2)}},
        {"op": "call", "args": [changed, x + x.sign(), torch.cat([x[0], -x[3]]), x / (1 + x * x)]},
        {"op": "call", "args": [torch.arange(9), x > 0, torch.empty(0, 3), wire.Affine(x, 2.0)]},
        {"op": "call", "args": [torch.tensor([float("nan"), -float("inf"), 0.0] * 9), b"7" * 300]},
    ]


def test_a_frame_comes_back_from_its_seeds() -> None:
    with remembered_draws() as draws:
        sent = requests()
    frame = wire.encode(sent)
    kept = wire.encode(condense(frame, draws))
    arrived = wire.decode_trusted(redrawing.restored(wire.decode_trusted(wire.body(kept))))
    for before, after in zip(tensors(wire.crossed(sent)), tensors(arrived), strict=True):
        assert (before.dtype, before.shape, before.stride()) == (
            after.dtype, after.shape, after.stride(),
        )  # fmt: skip
        torch.testing.assert_close(before, after, rtol=1e-12, atol=1e-12, equal_nan=True)
    literals = wire.decode_trusted(wire.body(kept))["literals"]
    assert len(literals) < 0.3 * len(frame)


def test_numbers_that_torch_draws_otherwise_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with remembered_draws() as draws:
        data = condense(wire.encode(requests()), draws)
    other = redrawing.drawn([(1, 400)])
    monkeypatch.setattr(redrawing, "drawn", lambda seeds: other[: sum(n for _, n in seeds)])
    with pytest.raises(redrawing.OtherNumbersError):
        redrawing.restored(data)


@pytest.mark.parametrize("numbers", [[], [0], [-1, 1, 255, -256, 70_000], [2**40, -(2**40)]])
def test_whole_numbers_come_back_from_their_bytes(numbers: list[int]) -> None:
    assert numbers_of(bytes_of(torch.tensor(numbers))).tolist() == numbers


def test_flags_come_back_from_their_bytes() -> None:
    flags = torch.arange(39).view(3, 13) % 3 == 0
    assert torch.equal(flags_of(bits_of(flags), (3, 13)), flags)
