"""Cases of `training_loop`: a model and batches for it, and what right steps make of them.

The model is another function in training mode, so that the mode shows in the losses and in the
parameters; so does everything else that a step may do wrongly. What is expected is computed here,
in a model of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.checks.framework.inputs import Numbers, inputs
from grader.feedback.comparison import Mismatch, assert_matches
from grader.remote.proxy import RemoteModule
from grader.remote.trainable import Learner, MeanLoss, Momentum

# Source and target have as many tokens, so that no exception tells of it when they are swapped.
SRC_VOCAB, TGT_VOCAB, D_MODEL, ROOM = 7, 7, 5, 9
# What the optimiser holds, in two groups; `place` is not trained where a case says so.
GROUPS = (("source", "target"), ("generator.weight", "generator.bias", "place"))
SHAPES: dict[str, tuple[int, ...]] = {
    "generator.bias": (TGT_VOCAB,),
    "generator.weight": (TGT_VOCAB, D_MODEL),
    "source": (SRC_VOCAB, D_MODEL),
    "target": (TGT_VOCAB, D_MODEL),
    "place": (ROOM, D_MODEL),
}

Values = dict[str, Tensor]
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Step:
    """An update: which batch, the learning rates of the groups, and where gradients are clipped."""

    batch: int
    rates: tuple[float, float]
    max_norm: float | None = None


@dataclass(frozen=True, repr=False)  # hypothesis would print thousands of numbers
class LoopCase:
    """A model by its parameters, and batches of different lengths with padding in them."""

    weights: Values
    batches: tuple[Batch, ...]
    pad_id: int
    # Gradients that are in the parameters at first.
    stale: Values

    @cached_property
    def loss(self) -> MeanLoss:
        """The loss."""
        return MeanLoss(self.pad_id, TGT_VOCAB)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How a model of this case is made."""
        return SRC_VOCAB, TGT_VOCAB, D_MODEL, ROOM, self.pad_id

    @cached_property
    def model(self) -> Learner:
        """A model with the case's parameters."""
        model = Learner(*self.sizes).double()
        model.load_state_dict(self.weights)
        return model

    def words(self, batch: int) -> int:
        """How many labels of a batch are not padding."""
        return int((self.batches[batch][1][:, 1:] != self.pad_id).sum())

    def losses(self) -> list[float]:
        """The mean loss of each batch in evaluation mode."""
        model = self.model.eval()
        with torch.no_grad():
            return [
                self.loss(model(src, tgt[:, :-1]), tgt[:, 1:]).item() for src, tgt in self.batches
            ]

    def norm(self, batch: int) -> float:
        """The norm of all gradients of a batch's loss in training mode."""
        model = self._trained([])[0]
        self._backward(model, batch)
        return nn.utils.clip_grad_norm_(model.parameters(), torch.inf).item()

    def expected(self, steps: Sequence[Step], held: Sequence[Sequence[str]] = GROUPS) -> Expected:
        """What these steps make of the parameters in `held`, and their losses."""
        model, losses = self._trained(steps, held)
        return Expected({name: value.detach() for name, value in model.named_parameters()}, losses)

    def _trained(
        self, steps: Sequence[Step], held: Sequence[Sequence[str]] = GROUPS
    ) -> tuple[Learner, list[float]]:
        model = Learner(*self.sizes).double()
        model.load_state_dict(self.weights)
        optimiser = Momentum(
            [{"params": [model.get_parameter(name) for name in some]} for some in held]
        )
        losses = []
        for step in steps:
            for group, rate in zip(optimiser.param_groups, step.rates, strict=True):
                group["lr"] = rate
            model.zero_grad()
            losses.append(self._backward(model, step.batch))
            if step.max_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), step.max_norm)
            optimiser.step()
        return model, losses

    def _backward(self, model: Learner, batch: int) -> float:
        src, tgt = self.batches[batch]
        loss = self.loss(model.train()(src, tgt[:, :-1]), tgt[:, 1:])
        torch.autograd.backward(loss)
        return loss.item()

    def made(self, student: Any) -> tuple[RemoteModule, RemoteModule]:
        """The model and the loss, on the student's side."""
        model: RemoteModule = student.give("Learner", *self.sizes).to(torch.float64)
        return model.load(self.weights), student.give("MeanLoss", self.pad_id, TGT_VOCAB)

    def optimiser(
        self,
        student: Any,
        model: RemoteModule,
        rates: tuple[float, float] = (0.1, 0.1),
        held: Sequence[Sequence[str]] = GROUPS,
    ) -> RemoteModule:
        """An optimiser of the parameters in `held`, on the student's side."""
        groups = [
            {"params": [_attribute(model, name) for name in some], "lr": rate}
            for some, rate in zip(held, rates, strict=True)
        ]
        made: RemoteModule = student.give("Momentum", groups)
        return made


@dataclass(frozen=True)
class Expected:
    """The parameters after some steps, and the loss of each step."""

    weights: Values
    losses: list[float]


def _attribute(model: RemoteModule, name: str) -> Any:
    returned: Any = model
    for part in name.split("."):
        returned = getattr(returned, part)
    return returned


def assert_weights(model: RemoteModule, expected: Values, when: str, help: str = "") -> None:
    """The model's parameters are the expected ones."""
    returned = model.weights(SHAPES)
    for name in SHAPES:
        assert_matches(returned[name], expected[name], f"`{name}` {when}", help=help)


def told_of_steps(optimiser: RemoteModule, count: int) -> str:
    """What is to be said if some steps went wrong: whether the optimiser was called as it should.

    It is believed for this only; what is right is seen by the parameters.
    """
    calls = optimiser.steps.get()
    if not isinstance(calls, list) or not all(type(returned) is int for returned in calls):
        return ""
    if len(calls) != count:
        return f"`optimiser.step()` was called {len(calls)} times; it should be {count}."
    if not all(calls):
        return "When `optimiser.step()` was called, no parameter had a gradient."
    return ""


def assert_loss(returned: Any, expected: float, call: str, help: str = "") -> None:
    """A call returned this loss, as a Python float."""
    if type(returned) is not float:
        if isinstance(returned, Tensor):
            raise Mismatch(
                f"{call} returned a tensor; it should return a Python float.",
                help="`item()` turns a tensor of one number into a float.",
            )
        description = (
            "None: is a `return` missing?" if returned is None else f"a {type(returned).__name__}."
        )
        raise Mismatch(f"{call} should return a Python float; yours returned {description}")
    assert_matches(
        torch.tensor(returned, dtype=torch.float64),
        torch.tensor(expected, dtype=torch.float64),
        f"result of {call}",
        help=help,
    )


@inputs
def cases(
    draw: st.DrawFn,
    numbers: Numbers,
    batches: int = 3,
    pad_ids: Sequence[int] = (3, 5),
) -> LoopCase:
    """Batches of different sizes and lengths, with another number of labels in each row."""
    pad_id = draw(st.sampled_from(pad_ids))
    weights = {name: numbers.normal(name, *shape) * 0.7 for name, shape in SHAPES.items()}
    stale = {name: numbers.normal(f"stale {name}", *shape) for name, shape in SHAPES.items()}
    made = []
    for number in range(batches):
        rows, length = 2 + number, 4 + (2 * number) % 5
        src = _without(numbers.ids(f"src {number}", rows, 5, high=SRC_VOCAB - 1), pad_id)
        src[0, 5 - number :] = pad_id
        tgt = _without(numbers.ids(f"tgt {number}", rows, length, high=TGT_VOCAB - 1), pad_id)
        tgt[0, 2] = 0 if pad_id else 1  # an ordinary token here
        # Each row has one label or more, the first row all of them.
        kept = (
            torch.arange(length)
            < torch.tensor([length - row % (length - 1) for row in range(rows)])[:, None]
        )
        made.append((src, torch.where(kept, tgt, pad_id)))
    return LoopCase(weights, tuple(made), pad_id, stale)


def _without(ids: Tensor, pad_id: int) -> Tensor:
    """Ids in which none is padding."""
    return ids + (ids >= pad_id).long()
