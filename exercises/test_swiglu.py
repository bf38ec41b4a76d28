"""Public tests of swiglu. Run them with: pytest exercises/test_swiglu.py."""

from math import log

import torch
from torch import Tensor, nn

from exercises.swiglu import SwiGLU
from grader.feedback.comparison import (
    assert_dtype,
    assert_finite,
    assert_matches,
    assert_parameters,
    assert_unchanged,
)
from grader.feedback.gradients import assert_gradients

AXES = ("batch", "length", "d_model")


def with_weights(gate: Tensor, up: Tensor, down: Tensor) -> SwiGLU:
    """A network with these weights, each (out, in), and no biases."""
    d_ff, d_model = gate.shape
    network = SwiGLU(d_model, d_ff)
    for name, weight in (("gate_proj", gate), ("up_proj", up), ("down_proj", down)):
        getattr(network, name).weight = nn.Parameter(weight.clone())
    return network


def test_the_parameters() -> None:
    """Three weights by name, and with `bias=True` three biases."""
    weights = {"gate_proj.weight": (5, 3), "up_proj.weight": (5, 3), "down_proj.weight": (3, 5)}
    biases = {"gate_proj.bias": (5,), "up_proj.bias": (5,), "down_proj.bias": (3,)}
    reaches = "Does `bias` reach each nn.Linear?"
    asks = {"*.bias": f"What is the default of `bias` in your `def` line? {reaches}"}
    assert_parameters(SwiGLU(3, 5), weights, "SwiGLU(3, 5)", asks)
    asks = {"*.bias": reaches}
    both = {**weights, **biases}
    assert_parameters(SwiGLU(3, 5, bias=True), both, "SwiGLU(3, 5, bias=True)", asks)


def test_by_hand() -> None:
    """A gate of ln 3 passes on 3/4 of itself, a gate of -ln 3 a quarter.

    up_proj passes on the first feature, ln 3, in both places.
    """
    network = with_weights(torch.eye(2), torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.eye(2))
    x = torch.tensor([[[log(3), -log(3)]]])
    expected = torch.tensor([[[0.75 * log(3) * log(3), -0.25 * log(3) * log(3)]]])
    assert_matches(
        network(x),
        expected,
        "SwiGLU output",
        axes=AXES,
        help="SiLU is the number times its own sigmoid. Which of the two maps goes through it?",
        asks={
            "Does up_proj go through SiLU instead of gate_proj?": torch.tensor(
                [[[0.75 * log(3) * log(3), -0.75 * log(3) * log(3)]]]
            ),
            "This is the sigmoid of the gate alone. Where is the gate itself?": torch.tensor(
                [[[0.75 * log(3), 0.25 * log(3)]]]
            ),
            "Is the gate multiplied by what up_proj returns, or added to it?": torch.tensor(
                [[[1.75 * log(3), 0.75 * log(3)]]]
            ),
            "Does the gate go through SiLU?": torch.tensor([[[log(3) ** 2, -(log(3) ** 2)]]]),
            "What does up_proj read: x, or what came out of gate_proj and SiLU?": torch.tensor(
                [[[0.75**2 * log(3) ** 2, -0.25 * 0.75 * log(3) ** 2]]]
            ),
            "Is up_proj used?": torch.tensor([[[0.75 * log(3), -0.25 * log(3)]]]),
        },
    )


def test_which_of_the_two_is_the_gate() -> None:
    """gate_proj goes through SiLU, up_proj doesn't.

    SiLU leaves a large gate unchanged, so 20 times an up of -1 is -20. The other way round, -1
    would become -0.2689.
    """
    network = with_weights(torch.tensor([[20.0]]), torch.tensor([[-1.0]]), torch.tensor([[1.0]]))
    output = network(torch.tensor([[[1.0]]]))
    expected = torch.tensor([[[-20.0]]])
    assert_matches(output, expected, "SwiGLU output", axes=AXES, help="Which one is the gate?")


def test_biases_are_used() -> None:
    """The three biases are used: gate_proj and up_proj return only theirs.

    SiLU leaves a gate of 20 unchanged, and 20 * 3 is 60. down_proj adds its bias, 0 and 5.
    """
    network = SwiGLU(2, 1, bias=True)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        parameters = dict(network.named_parameters())
        parameters["gate_proj.bias"].fill_(20.0)
        parameters["up_proj.bias"].fill_(3.0)
        parameters["down_proj.weight"].fill_(1.0)
        parameters["down_proj.bias"].copy_(torch.tensor([0.0, 5.0]))
    expected = torch.tensor([[[60.0, 65.0]]])
    assert_matches(network(torch.ones(1, 1, 2)), expected, "SwiGLU output", axes=AXES)


def test_large_gates() -> None:
    """Gates of 1000 and -999 give 1000 and 0, with finite gradients.

    up_proj returns 1000 - 999 = 1 here, so the output is SiLU of the gates.
    """
    network = with_weights(torch.eye(2), torch.ones(2, 2), torch.eye(2))
    x = torch.tensor([[[1000.0, -1000.0 + 1.0]]], requires_grad=True)
    output = network(x)
    assert_matches(output, torch.tensor([[[1000.0, 0.0]]]), "SwiGLU output", axes=AXES)
    output.sum().backward()
    assert_finite(
        x.grad,
        "gradient of x",
        axes=AXES,
        help="Does an exp become infinite? torch.sigmoid avoids that.",
    )


def test_each_token_is_on_its_own() -> None:
    """A token comes out the same alone, and bfloat16 gives bfloat16.

    There is no sum or mean over the tokens, and the dtype comes from x and the weights.
    """
    torch.manual_seed(0)
    network, x = SwiGLU(3, 5), torch.randn(2, 4, 3)
    before = x.clone()
    output = network(x)
    assert_matches(network(x[1:, 2:3]), output[1:, 2:3], "output of a token alone", axes=AXES)
    assert_matches(network(x[1, 2]), output[1, 2], "output of a token without other axes")
    turned = network(x.transpose(0, 1))
    assert_matches(turned, output.transpose(0, 1), "output of a transposed view")
    assert_unchanged(x, before, "x", axes=AXES)
    half = network.to(torch.bfloat16)(x.to(torch.bfloat16))
    assert_dtype(half, torch.bfloat16, "SwiGLU output for bfloat16")


def test_it_learns() -> None:
    """Every parameter receives a gradient."""
    torch.manual_seed(1)
    network = SwiGLU(3, 5, bias=True)
    network(torch.randn(2, 4, 3)).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, f"No gradient reaches {name}."
        assert parameter.grad.abs().sum() > 0, f"The gradient of {name} is zero."


def test_gradients() -> None:
    """Gradients flow back to x and to all three maps."""
    torch.manual_seed(7)
    module, x = SwiGLU(2, 3), torch.randn(1, 2, 2).requires_grad_()
    given = {"x": x, **dict(module.named_parameters())}
    assert_gradients(lambda: module(x), given, "SwiGLU output")
