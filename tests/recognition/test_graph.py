"""Lines that leave autograd's graph, and those that change what `backward` needs, are found."""

from __future__ import annotations

import pytest
import torch

from grader.recognition.graph import changed_before_backward, cut, edited, unseen

_SOFTMAX = """
def softmax(x, dim=-1):
    n = 0
    n += 1
    {lines}
"""


def _backward(source: str) -> str:
    """Return what `backward` says of a softmax with this source."""
    made: dict[str, object] = {"torch": torch}
    exec(source, made)
    x = torch.randn(3, 4, requires_grad=True)
    with pytest.raises(RuntimeError) as raised:
        made["softmax"](x * 1).square().sum().backward()  # type: ignore[operator]
    return f"RuntimeError: {raised.value}"


@pytest.mark.parametrize(
    ("lines", "tells", "line"),
    [
        ("e = x.exp(); s = e.sum(dim); e /= s[:, None]; return e", "`e /= s[:, None]`", 5),
        ("e = x.sigmoid()\n    e.mul_(x)\n    return e", "`e.mul_(x)` changes `e`", 6),
        ("w = torch.softmax(x, dim)\n    w[w > 0.3] = 0\n    return w", "`w[w > 0.3] = 0`", 6),
        ("e = x.exp(); t = e + 1; t += 1; e += 1; return e * t", "`e += 1` changes `e`", 5),
        ("e = x.tanh()\n    torch.nn.functional.relu(e, inplace=True)\n    return e", "`torch", 6),
    ],
)
def test_a_change_in_place_that_only_backward_notices_is_told(
    lines: str, tells: str, line: int
) -> None:
    source = _SOFTMAX.format(lines=lines)
    fact = changed_before_backward(_backward(source), source)
    assert fact is not None
    assert fact.tells.startswith(tells)
    assert fact.line == line


def test_it_is_not_told_where_two_lines_could_be_meant() -> None:
    source = _SOFTMAX.format(lines="e = x.exp(); f = x.exp(); e += 1; f += 1; return e * f")
    assert changed_before_backward(_backward(source), source) is None
    assert changed_before_backward("RuntimeError: something else", source) is None


_LAYER = """
class Layer(nn.Module):
    def __init__(self, size):
        self.weight = nn.Parameter(torch.ones(size).data)
    def forward(self, x, mask=None):
        mean = x.mean(-1)
        {lines}
"""


@pytest.mark.parametrize(
    ("lines", "parameter", "tells"),
    [
        ("y = x.detach(); return y * 2", "", "`x.detach()` leaves the graph"),
        ("y = torch.tensor(x); return y", "", "`torch.tensor(x)` leaves the graph"),
        ("with torch.no_grad(): return x * 2", "", "`with torch.no_grad()` switches"),
        ("return x * self.weight.data", "weight", "`self.weight.data`"),
        ("return x * self.weight.data", "other.weight", ""),
        ("return x.detach() * self.weight", "weight", ""),
        ("return x - x.amax(-1).detach()", "", ""),
        ("self.last = x.detach(); return x", "", ""),
        ("return x, x.detach()", "", ""),
        ("return x.detach() * mean.detach()", "", "`x.detach()` leaves"),
        ("y = x.detach()\n        return y * x.data", "", ""),
        ("return x.sum().item()", "x", "`x.sum().item()` leaves"),
        ("n = mask.sum().item(); return x.sum() / n", "x", ""),
        ("n = x.sum().item(); return x / n", "", ""),
        (
            "self.weight.requires_grad_(False); return x * self.weight",
            "weight",
            "`self.weight.requires_grad_(False)` switches the gradient of `weight` off.",
        ),
    ],
)
def test_the_only_line_that_cuts_a_gradient_off_is_told(
    lines: str, parameter: str, tells: str
) -> None:
    fact = cut(parameter, _LAYER.format(lines=lines))
    assert (fact.tells if fact else "").startswith(tells)
    assert bool(fact) == bool(tells)


def test_a_decorator_that_switches_the_graph_off_is_told() -> None:
    source = "@torch.no_grad()\ndef softmax(x):\n    return x.exp()\n"
    fact = cut("", source)
    assert fact is not None
    assert (fact.line, "`@torch.no_grad()`" in fact.tells) == (1, True)
    static = f"class F:\n    @staticmethod\n    {source}".replace("\ndef", "\n    def")
    assert cut("", static.replace("    return", "        return")) is None


def test_a_change_behind_the_back_of_autograd_is_told() -> None:
    source = "def relu(x):\n    y = x.clone()\n    y.data[y < 0] = 0\n    return y\n"
    fact = unseen(source)
    assert fact is not None
    assert fact.line == 3
    assert unseen(source.replace(".data", "")) is None
    assert unseen(source.replace("relu", "reset_parameters")) is None


@pytest.mark.parametrize(
    ("lines", "tells"),
    [
        ("x -= mean; return x", "`x -= mean` changes `x` itself"),
        ("x[x < 0] = 0; return x", "`x[x < 0] = 0` changes `x` itself"),
        ("y = x[..., 0::2]; y *= 2; return x", "`y *= 2` changes `x` as well"),
        ("a, b = x.chunk(2); b.add_(1); return a", "`b.add_(1)` changes `x` as well"),
        ("x = x - mean; x /= 2; return x", ""),
        ("y = x[x > 0]; y += 1; return y", ""),
        ("y = x.clone(); y += 1; return y", ""),
        ("mean += 1; return x * mean", ""),
        ("x += 1\n        x += 2\n        return x", ""),
    ],
)
def test_the_only_line_that_changes_what_was_given_is_told(lines: str, tells: str) -> None:
    fact = edited("x", _LAYER.format(lines=lines))
    assert (fact.tells if fact else "").startswith(tells)
    assert bool(fact) == bool(tells)
