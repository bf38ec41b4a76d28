"""Public tests of optimiser. Run them with: pytest exercises/test_optimiser.py."""

from copy import deepcopy
from math import sqrt

import pytest
import torch
from torch import Tensor, nn

from exercises.optimiser import AdamW, clip_gradients, cosine_rate
from grader.feedback.comparison import assert_defaults, assert_matches


def parameter(*numbers: float, gradient: tuple[float, ...] | None = None) -> nn.Parameter:
    """A parameter with these numbers, and with a gradient if one is given."""
    made = nn.Parameter(torch.tensor(numbers))
    if gradient is not None:
        made.grad = torch.tensor(gradient)
    return made


def test_gradients_are_clipped_together() -> None:
    """The gradients 3 and 4 are clipped together, to 0.6 and 0.8.

    Together they have the norm 5, and the limit is 1. The function returns the norm before
    clipping, and does not change gradients whose norm is within the limit.
    """
    first, second = parameter(1.0, 1.0, gradient=(3.0, 0.0)), parameter(1.0, gradient=(4.0,))
    alone = {
        "Each gradient is clipped by itself. What is their norm taken together?": torch.tensor(
            [1.0, 0.0]
        ),
    }
    for limit, expected in ((6.0, ([3.0, 0.0], [4.0])), (1.0, ([0.6, 0.0], [0.8]))):
        norm = clip_gradients([first, second], max_norm=limit)
        assert norm is not None, "clip_gradients returns nothing. It should return the norm."
        assert float(norm) == pytest.approx(5.0, rel=1e-5), (
            f"clip_gradients returns {float(norm):.4g} for gradients whose norm is 5."
        )
        for number, gradient in zip((first, second), expected, strict=True):
            assert_matches(
                number.grad,
                torch.tensor(gradient),
                f"gradient after clipping to {limit:g}",
                help="5 is above the limit 1, but below 6. What is scaled, and by what factor?",
                asks=alone,
            )


def test_clipping_takes_what_there_is() -> None:
    """Parameters may come from a generator, some without a gradient.

    If none has a gradient, the norm is 0.
    """
    model = nn.Linear(2, 1)
    model.weight.grad = torch.tensor([[6.0, 8.0]])
    clip_gradients(model.parameters(), max_norm=5.0)
    assert_matches(
        model.weight.grad,
        torch.tensor([[3.0, 4.0]]),
        "gradient after clipping to 5",
        help="A generator such as `model.parameters()` can be read only once.",
    )
    assert model.bias.grad is None
    norm = clip_gradients([parameter(1.0)], max_norm=1.0)
    assert float(norm) == 0.0, "Without any gradient, clip_gradients should return 0."


def test_two_steps_by_hand() -> None:
    """The first step has size lr; the second uses the first gradient too.

    Both betas are 1/2. With the gradients 2 and then -1, m is 1 and then 0, v is 2 and then 3/2, so
    the second step is 0 / √2. With the gradients 2 and 2, m̂ and √v̂ are 2 in both steps.
    """
    weight = parameter(1.0, 1.0)
    optimiser = AdamW([weight], lr=0.1, betas=(0.5, 0.5), weight_decay=0.0)
    expected = ([0.9, 0.9], [0.9, 0.8])
    for number, gradient in enumerate(([2.0, 2.0], [-1.0, 2.0])):
        weight.grad = torch.tensor(gradient)
        optimiser.step()
        assert_matches(
            weight,
            torch.tensor(expected[number]),
            f"weight after step {number + 1}",
            help="Print m, v and t after each step: m should be [1, 1] and then [0, 1.5].",
        )


def test_each_beta_by_hand() -> None:
    """m is averaged with the first beta, v with the second.

    The betas are 1/2 and 1/3, the gradients 2 and then 0. So m is 1 and then 1/2, v is 8/3 and then
    8/9. Divided by 1 - 1/4 and 1 - 1/9, that is 2/3 and 1: the second step is 2/3 of the first.
    Then the group's own betas are set to 0, and m̂ is as large as the root of v̂.
    """
    weight = parameter(1.0)
    optimiser = AdamW([weight], lr=0.1, betas=(1 / 2, 1 / 3), weight_decay=0.0)
    for gradient in (2.0, 0.0):
        weight.grad = torch.tensor([gradient])
        optimiser.step()
    assert_matches(
        weight,
        torch.tensor([1 - 0.1 - 0.1 * 2 / 3]),
        "weight after step 2 with betas=(1/2, 1/3)",
        help="Print m and v after step 2: 1/2 and 8/9. Which beta does each line use?",
    )
    before = weight.detach().clone()
    weight.grad = torch.tensor([2.0])
    optimiser.param_groups[0]["betas"] = (0.0, 0.0)
    optimiser.step()
    help = "The betas, too, come from the parameter's group."
    what = 'weight after a step with group["betas"] = (0, 0)'
    assert_matches(weight, before - 0.1, what, help=help)


def test_the_decay_does_not_go_through_the_gradient() -> None:
    """Weights shrink by lr * weight_decay, whatever their gradients are.

    Two weights of 10, the gradients 1 and 100: both decay by 0.1 · 0.2 · 10 = 0.2 and move by 0.1.
    """
    weight = parameter(10.0, 10.0, gradient=(1.0, 100.0))
    given = torch.tensor([1.0, 100.0])
    AdamW([weight], lr=0.1, weight_decay=0.2).step()
    assert_matches(weight, torch.tensor([9.7, 9.7]), "weight after one step", atol=2e-3, rtol=0.0)
    assert_matches(weight.grad, given, "gradient after the step", help="It keeps its values.")


def test_parameters_have_a_state_and_groups_have_options() -> None:
    """Each parameter has its own state, each group its own options.

    The first group has lr = 0.1; the second has 0.01, and then 0. The last parameter has no
    gradient at first: it keeps its value, and its own first step comes later.
    """
    first, second, late = parameter(1.0), parameter(1.0, 1.0), parameter(1.0)
    groups = [{"params": [first]}, {"params": [second, late], "lr": 0.01}]
    optimiser = AdamW(groups, lr=0.1, weight_decay=0.0)
    first.grad, second.grad = torch.tensor([5.0]), torch.tensor([-3.0, 0.0])
    optimiser.step()
    for name, returned, expected, help in (
        ("first", first, [0.9], "Its group sets no `lr`, so the optimiser's applies: 0.1."),
        (
            "second",
            second,
            [1.01, 1.0],
            "Its group has the `lr` 0.01. Which `lr` does your step use?",
        ),
        ("late", late, [1.0], "It has no gradient yet, so it keeps its value."),
    ):
        what = f"parameter `{name}` after one step"
        assert_matches(returned, torch.tensor(expected), what, help=help)
    optimiser.param_groups[1]["lr"] = 0.0
    optimiser.step()
    assert_matches(
        second,
        torch.tensor([1.01, 1.0]),
        'parameter `second` after a step with group["lr"] = 0',
        help="A schedule sets the learning rate of a group between two steps.",
    )
    optimiser.param_groups[1]["lr"] = 0.01
    late.grad = torch.tensor([7.0])
    optimiser.step()
    assert_matches(
        late,
        torch.tensor([0.99]),
        "parameter `late` after its first step",
        help="This is its first gradient, so its t should be 1. What is its t in your code?",
    )


def test_a_saved_state_continues() -> None:
    """An optimiser that loads another one's state takes the same next step."""
    weight = parameter(1.0, 2.0)
    old = AdamW([weight], lr=0.1)
    for gradient in ([1.0, -1.0], [3.0, 0.5]):
        weight.grad = torch.tensor(gradient)
        old.step()
    twin = nn.Parameter(weight.detach().clone())
    new = AdamW([twin], lr=0.1)
    # A copy, as in a file: the state that is saved may be the old optimiser's own.
    new.load_state_dict(deepcopy(old.state_dict()))
    weight.grad, twin.grad = torch.tensor([-2.0, 1.0]), torch.tensor([-2.0, 1.0])
    new.step()
    old.step()
    assert_matches(
        twin,
        weight.detach(),
        "weight after a resumed step",
        help='Are m, v and t all in `optimiser.state_dict()["state"]`?',
        sides=("resumed", "uninterrupted"),
    )


def test_a_closure_makes_the_gradients() -> None:
    """The closure runs with gradients on, even inside no_grad.

    `step` calls it once and returns its loss.
    """
    weight = parameter(3.0)
    optimiser = AdamW([weight], lr=0.1, weight_decay=0.0)
    calls = []

    def closure() -> Tensor:
        calls.append(1)
        optimiser.zero_grad()
        loss = weight.square().sum()
        torch.autograd.backward(loss)
        return loss

    with torch.no_grad():
        loss = optimiser.step(closure)
    assert len(calls) == 1, f"step called the closure {len(calls)} times; it should call it once."
    assert_matches(loss, torch.tensor(9.0), "loss from step(closure)")
    assert_matches(weight, torch.tensor([2.9]), "weight after step(closure)")


def test_it_finds_the_bottom() -> None:
    """Three hundred steps with a cosine schedule find the minimum.

    The minimum of (x - 3)² + 100 (y + 1)² is at (3, -1).
    """
    point = parameter(0.0, 0.0)
    optimiser = AdamW([point], lr=0.0, weight_decay=0.0)
    for step in range(300):
        optimiser.param_groups[0]["lr"] = cosine_rate(step, 0.1, 0.0, warmup=30, total=300)
        point.grad = torch.stack([2 * (point[0] - 3), 200 * (point[1] + 1)]).detach()
        optimiser.step()
    assert_matches(point, torch.tensor([3.0, -1.0]), "point", atol=0.01, rtol=0.0)


def test_the_rate_by_hand() -> None:
    """Four steps up to 1, eight down to 0.2 along a cosine, then 0.2.

    A quarter of the way down, the cosine is √½, and the rate 0.2 + 0.8 · (1 + √½) / 2.
    """
    for step, expected in (
        (0, 0.0),
        (1, 0.25),
        (4, 1.0),
        (6, 0.2 + 0.4 * (1 + sqrt(0.5))),
        (8, 0.6),
        (12, 0.2),
        (16, 0.2),
    ):
        rate = cosine_rate(step, 1.0, 0.2, warmup=4, total=12)
        assert rate == pytest.approx(expected, abs=1e-6), (
            f"cosine_rate({step}, 1.0, 0.2, warmup=4, total=12) is {rate}; it should be "
            f"{expected:.4g}. The warm-up ends at step 4; from there to step 12 the cosine's "
            f"argument goes from 0 to π. How far are both at step {step}?"
        )
    assert cosine_rate(0, 1.0, 0.2, warmup=0, total=12) == pytest.approx(1.0), (
        "Without a warm-up, step 0 has the highest rate."
    )


def test_eps_is_added_to_the_root() -> None:
    """With eps=3 and a gradient of 1, the step is lr * 1 / (1 + 3).

    m̂ is 1, and so is the root of v̂. Then the group's own eps is set to 1: the step is lr / 2.
    """
    weight = parameter(1.0, gradient=(1.0,))
    optimiser = AdamW([weight], lr=0.4, betas=(0.9, 0.0), eps=3.0, weight_decay=0.0)
    optimiser.step()
    help = "eps is added to the root of v̂, and comes from the parameter's group."
    assert_matches(weight, torch.tensor([0.9]), "weight after a step with eps=3", help=help)
    optimiser.param_groups[0]["eps"] = 1.0
    optimiser.step()
    what = 'weight after a step with group["eps"] = 1'
    assert_matches(weight, torch.tensor([0.7]), what, help=help)


def test_what_has_no_gradient_stays() -> None:
    """A parameter without a gradient keeps its value.

    It does not decay either, and the parameters after it still move."""
    still, moved = parameter(10.0), parameter(10.0, gradient=(1.0,))
    AdamW([still, moved], lr=0.1, weight_decay=0.2).step()
    assert_matches(still, torch.tensor([10.0]), "parameter without a gradient")
    assert_matches(moved, torch.tensor([9.7]), "parameter after it", atol=2e-3, rtol=0.0)


def test_the_defaults() -> None:
    """The defaults: lr 0.001, betas 0.9 and 0.999, eps 1e-8, decay 0.01.

    A weight of 100 decays by lr * 0.01 * 100 = 0.1 and moves by 0.1. Without decay, and with the
    gradients 1 and then -2, m̂ is (0.09 - 0.2) / 0.19 in the second step, and v̂ is
    (0.999 + 4) / 1.999.
    """
    assert_defaults(AdamW, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    weight = parameter(100.0, gradient=(1.0,))
    AdamW([weight], lr=0.1).step()
    assert_matches(weight, torch.tensor([99.8]), "weight after one step", atol=1e-3)
    weight = parameter(0.0, gradient=(1.0,))
    optimiser = AdamW([weight], lr=0.1, weight_decay=0.0)
    optimiser.step()
    weight.grad = torch.tensor([-2.0])
    optimiser.step()
    expected = torch.tensor([-0.1 + 0.1 * 0.11 / 0.19 / sqrt(4.999 / 1.999)])
    assert_matches(weight, expected, "weight after two steps", atol=1e-5)
