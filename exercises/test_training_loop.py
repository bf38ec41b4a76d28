"""Public tests of training_loop. Run them with: pytest exercises/test_training_loop.py."""

from collections.abc import Iterable
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from exercises.training_loop import evaluate, fit, train_step
from grader.feedback.comparison import assert_matches, assert_raises

SRC = torch.tensor([[5, 6]])
TGT = torch.tensor([[1, 2, 4]])


class Line(nn.Module):
    """The smallest model: its logits (B, L, 1) are a weight, 1 at first, times the target's ids.

    It remembers for each call whether it was in training mode, and whether gradients were on.
    """

    def __init__(self, pad_id: int = 0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(1.0))
        self.pad_id = pad_id
        self.calls: list[tuple[bool, bool]] = []

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """The logits."""
        logits = self.weight * tgt.unsqueeze(-1).float()
        self.calls.append((self.training, logits.requires_grad))
        return logits

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Half the squared distance of logit and label, in the mean over what isn't padding."""
        assert (logits.dim(), logits.shape[:-1]) == (3, labels.shape), (
            f"The loss was given logits of shape {tuple(logits.shape)} and labels of shape "
            f"{tuple(labels.shape)}. It takes (B, L, V) and (B, L)."
        )
        return ((logits[..., 0] - labels)[labels != self.pad_id] ** 2).mean() / 2


class Descent:
    """Gradient descent. It remembers the learning rate of each step."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float = 0.1) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": [*parameters], "lr": lr}]
        self.rates: list[float] = []

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients."""
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self, closure: Any = None) -> Any:
        """Move the parameters."""
        loss = closure() if closure is not None else None
        group = self.param_groups[0]
        self.rates.append(group["lr"])
        for weight in group["params"]:
            if weight.grad is not None:
                weight.data -= group["lr"] * weight.grad
        return loss


def prepared(pad_id: int = 0, lr: float = 0.1) -> tuple[Line, Any]:
    """A model and its optimiser."""
    model = Line(pad_id)
    return model, cast(Any, Descent(model.parameters(), lr))


def test_one_step_by_hand() -> None:
    """The decoder reads 1 and 2, and the labels are 2 and 4.

    The logits are 1 and 2, so the errors are -1 and -2 and the loss is (1 + 4) / 4. The gradient is
    the mean of -1 · 1 and -2 · 2, which is -2.5, and with a rate of 0.1 the weight becomes 1.25.
    """
    model, optimiser = prepared()
    returned = train_step(model.eval(), SRC, TGT, optimiser, model.loss)
    assert isinstance(returned, float), (
        f"train_step returned {type(returned).__name__}; it should return a Python float."
    )
    assert returned == pytest.approx(1.25), f"The loss is 1.25; train_step returned {returned:.6g}."
    assert_matches(model.weight, torch.tensor(1.25), "weight after one step")
    assert model.calls[0][0], "train_step runs the model in evaluation mode."


def test_old_gradients_are_gone() -> None:
    """In the second step the gradient is -1.875: the first is gone.

    The errors of that step are -0.75 and -1.5.

    Neither the first step's gradient nor one from before it has an effect.
    """
    model, optimiser = prepared()
    model.weight.grad = torch.tensor(100.0)
    for weight in (1.25, 1.4375):
        train_step(model, SRC, TGT, optimiser, model.loss)
        assert_matches(
            model.weight,
            torch.tensor(weight),
            "weight",
            help="`backward` adds to the gradients that are already there.",
        )


def test_gradients_are_clipped_before_they_are_used() -> None:
    """The gradient -2.5 is clipped to -1 before the step.

    So the weight becomes 1.1. With a limit of 3 the gradient is not clipped.
    """
    for limit, weight in ((1.0, 1.1), (3.0, 1.25)):
        model, optimiser = prepared()
        train_step(model, SRC, TGT, optimiser, model.loss, max_norm=limit)
        assert_matches(
            model.weight,
            torch.tensor(weight),
            f"weight after a step with max_norm={limit:g}",
            help="What is the norm of the gradients when `optimiser.step()` reads them?",
        )


def test_every_label_counts_once() -> None:
    """Three labels with loss 0 and one with loss 2: the mean is 0.5.

    The plain mean of the two batches would be different.
    """
    for pad_id in (0, 9):
        model, _ = prepared(pad_id)
        long = torch.tensor([[1, 1, 1, 1]])
        short = torch.tensor([[1, 3, pad_id, pad_id]])
        batches = [(SRC, long), (SRC, short)]
        for given, kind in ((batches, "a list"), (iter(batches), "an iterator")):
            returned = evaluate(model, given, model.loss)
            assert isinstance(returned, float), (
                f"evaluate returned {type(returned).__name__}; it should return a Python float."
            )
            assert returned == pytest.approx(0.5), (
                f"evaluate returns {returned} for {kind} of batches: three labels of loss 0 and "
                f"one of loss 2. Padding is {pad_id} here."
            )
    model, _ = prepared()
    returned = evaluate(model, [(SRC, TGT), (SRC, torch.tensor([[1, 1]]))], model.loss)
    assert returned == pytest.approx(2.5 / 3), (
        f"evaluate returns {returned} for two labels with a mean loss of 1.25 and one with 0: the "
        "sum is 2.5, the labels are 3. What is added up, and what is it divided by?"
    )


def test_the_source_comes_first() -> None:
    """Each batch is a pair: the source, then the target.

    The model is called with the source first, too.
    """
    seen: list[Tensor] = []

    class Watching(Line):
        def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
            seen.append(src)
            return super().forward(src, tgt)

    for name in ("train_step", "evaluate", "fit"):
        model = Watching()
        optimiser = cast(Any, Descent(model.parameters()))
        if name == "train_step":
            train_step(model, SRC, TGT, optimiser, model.loss)
        elif name == "evaluate":
            evaluate(model, [(SRC, TGT)], model.loss)
        else:
            fit(model, [(SRC, TGT)], optimiser, model.loss, lambda _: 0.1, steps=1)
        what = f"source that the model is given by {name}"
        assert_matches(seen[-1], SRC, what, axes=("batch", "source"))


def test_evaluation_leaves_no_trace() -> None:
    """Evaluation uses its mode and no gradients; it restores the mode."""
    for training, mode in ((True, "training"), (False, "evaluation")):
        model, _ = prepared()
        model.train(training)
        evaluate(model, [(SRC, TGT)], model.loss)
        assert not any(trained for trained, _ in model.calls), (
            "evaluate runs the model in training mode."
        )
        assert not any(on for _, on in model.calls), "evaluate runs the model with gradients on."
        assert model.training is training, (
            f"The model was in {mode} mode before evaluate, and isn't afterwards."
        )
        assert model.weight.grad is None, "evaluate leaves gradients in the model."


def test_nothing_to_evaluate() -> None:
    """Without batches, evaluate raises ValueError."""
    model, _ = prepared()
    with assert_raises(ValueError, "evaluate without batches"):
        evaluate(model, [], model.loss)


def test_steps_batches_and_rates() -> None:
    """In five steps two batches take turns; step t has rate(t).

    The losses of the two batches alternate. With a rate of 0 nothing moves, so the first batch has
    the loss 1.25 each time, the second 0.
    """
    model, optimiser = prepared()
    batches = [(SRC, TGT), (SRC, torch.tensor([[3, 3]]))]
    losses = fit(model, batches, optimiser, model.loss, lambda _: 0.0, steps=5)
    if isinstance(losses, list) and len(losses) != 5:
        asked = f"Your list has {len(losses)}. Does fit stop after `steps` steps, with one loss "
        asked += "for each?"
    elif any(optimiser.rates):
        asked = "The rate should be 0 in every step, and the optimiser steps with "
        asked += f"{optimiser.rates}. Where does it read its rate?"
    else:
        asked = "Steps are counted from 1. Which batch belongs to step 1, and which to step 3?"
    assert losses == pytest.approx([1.25, 0.0, 1.25, 0.0, 1.25]), (
        f"The losses of five steps on two batches are 1.25 and 0 in turn; yours are {losses}. "
        f"{asked}"
    )
    optimiser.rates.clear()
    fit(model, batches, optimiser, model.loss, lambda step: step / 1000, steps=3)
    assert optimiser.rates == pytest.approx([0.001, 0.002, 0.003]), (
        f"With rate(t) = t / 1000, three steps have the rates 0.001, 0.002 and 0.003; yours had "
        f"{optimiser.rates}."
    )
    assert fit(model, batches, optimiser, model.loss, lambda _: 0.1, steps=0) == []


def test_fit_clips() -> None:
    """`fit` passes `max_norm` on.

    Two steps with a gradient of 1 and a rate of 0.1 end at 1.2.
    """
    model, optimiser = prepared()
    fit(model, [(SRC, TGT)], optimiser, model.loss, lambda _: 0.1, steps=2, max_norm=1.0)
    assert_matches(model.weight, torch.tensor(1.2), "weight after two steps with max_norm=1")


def test_all_gradients_are_clipped_together() -> None:
    """All gradients of the model are clipped together.

    They are 3 and 4, so their norm is 5.

    With a limit of 1 they become 0.6 and 0.8. The second belongs to the model but not to the
    optimiser; it counts all the same.
    """

    class Two(Line):
        def __init__(self) -> None:
            super().__init__()
            self.other = nn.Parameter(torch.tensor([1.0, 0.0]))

        def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
            both = 3 * self.weight + (torch.tensor([4.0, 0.0]) * self.other).sum()
            return both.expand(*tgt.shape, 1)

    model = Two()
    optimiser = cast(Any, Descent([model.weight], lr=1.0))
    train_step(model, SRC, TGT, optimiser, lambda logits, _: logits.mean(), max_norm=1.0)
    help = "The norm is that of all gradients of the model, taken as one long vector."
    assert_matches(model.weight, torch.tensor(0.4), "weight after the step", help=help)
    expected = torch.tensor([0.8, 0.0])
    assert_matches(model.other.grad, expected, "gradient after the step", help=help)


def test_evaluation_leaves_the_gradients() -> None:
    """Gradients that were there before `evaluate` are there afterwards."""
    model, _ = prepared()
    model.weight.grad = torch.tensor(7.0)
    evaluate(model, [(SRC, TGT)], model.loss)
    assert_matches(model.weight.grad, torch.tensor(7.0), "gradient after evaluate")


def test_every_group_gets_the_rate() -> None:
    """`fit` sets the learning rate of each group of the optimiser."""
    model, optimiser = prepared()
    optimiser.param_groups.append({"params": [], "lr": 0.5})
    fit(model, [(SRC, TGT)], optimiser, model.loss, lambda _: 0.25, 1)
    rates = [group["lr"] for group in optimiser.param_groups]
    assert rates == [0.25, 0.25], f"The groups' rates are {rates}; they should be [0.25, 0.25]."
