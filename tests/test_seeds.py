"""The pieces as published lessons show them: with their numbers, and right where they are not."""

import torch

from solutions.activations import gelu, tanh
from solutions.dropout import Dropout


def test_tanh_and_gelu_where_a_lesson_has_nan() -> None:
    """`(eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)` overflows from 89 on, and a GELU made of it from 13 on."""
    x = torch.tensor([-1e30, -100.0, -13.0, 13.0, 100.0, 1e30], requires_grad=True)
    signs = torch.tensor([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    naive = (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())
    assert naive.isnan().tolist() == [True, True, False, False, True, True]
    right = x.detach().clamp(min=0)
    torch.testing.assert_close(tanh(x), signs)
    for output in (gelu(x), gelu(x, approximate="tanh")):
        torch.testing.assert_close(output, right)
        slopes = torch.autograd.grad(output.sum(), x)[0]
        torch.testing.assert_close(slopes, (signs + 1) / 2)


def test_dropout_where_a_lesson_divides_zero_by_zero() -> None:
    """`mask * x / (1 - p)` is NaN at p = 1, and float32 for bfloat16 at every p."""
    x = torch.tensor([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], requires_grad=True)
    assert torch.equal(Dropout(0.0)(x), x)
    everything = Dropout(1.0)(x)
    assert torch.equal(everything, torch.zeros(2, 3))
    assert torch.equal(torch.autograd.grad(everything.sum(), x)[0], torch.zeros(2, 3))
    assert torch.equal(Dropout(1.0).eval()(x), x)
    assert Dropout(0.1)(x.bfloat16()).dtype is torch.bfloat16
