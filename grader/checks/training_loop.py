"""Hidden checks of `training_loop`: what steps, evaluation and a run make of a small model."""

from __future__ import annotations

from typing import Any

import torch

from grader.checks.framework import check
from grader.checks.framework.assertions import assert_refuses
from grader.checks.framework.precision import assert_settings_kept
from grader.checks.training_loop_cases import (
    GROUPS,
    LoopCase,
    Step,
    assert_loss,
    assert_weights,
    cases,
    told_of_steps,
)
from grader.feedback.comparison import Mismatch, assert_matches
from grader.remote.proxy import RemoteModule
from grader.remote.wire import Once

RATES = (0.2, 0.5)
# Without `place`, whose gradient counts when gradients are clipped but which no optimiser moves.
PARTLY = (GROUPS[0], GROUPS[1][:2])


@check(points=2, inputs=cases(), examples=2)
def test_a_step_updates_the_model_once(student: Any, case: LoopCase) -> None:
    """A step in training mode moves the parameters along the batch's gradients, once.

    Sees labels that are not shifted, evaluation mode, a step before the gradients are there, two
    steps, none, and a loss of afterwards. The model holds no gradients from before.
    """
    settings = student.global_settings()
    model, loss = case.made(student)
    optimiser = case.optimiser(student, model, RATES)
    expected = case.expected([Step(0, RATES)])
    returned = student.train_step.recording(model.eval(), *case.batches[0], optimiser, loss)
    assert_loss(returned, expected.losses[0], "train_step")
    help = told_of_steps(optimiser, 1)
    # Where nothing moved, what is left tells whether there ever were gradients.
    if not help and not any(map(_is_real, _gradients(model).values())):
        help = "No parameter has a gradient after the step."
    assert_weights(model, expected.weights, "after one step", help=help)
    assert_settings_kept(settings, student.global_settings())


@check(points=1, inputs=cases(), examples=2)
def test_old_gradients_do_not_count(student: Any, case: LoopCase) -> None:
    """Old gradients, from before the first step or of an earlier one, have no effect.

    Sees gradients that are never cleared, or cleared between backward and step.
    """
    model, loss = case.made(student)
    optimiser = case.optimiser(student, model, RATES)
    model.set_gradients(case.stale)
    expected = case.expected([Step(number, RATES) for number in range(3)])
    for number, wanted in enumerate(expected.losses):
        returned = student.train_step.recording(model, *case.batches[number], optimiser, loss)
        assert_loss(
            returned,
            wanted,
            f"train_step in step {number + 1}",
            help="The model already had gradients before the first step." if number else "",
        )
    assert_weights(
        model, expected.weights, "after three steps", help="Which gradients did each step use?"
    )


@check(points=1, inputs=cases(), examples=2)
def test_gradients_are_clipped_before_they_are_used(student: Any, case: LoopCase) -> None:
    """With `max_norm`, the gradients of all of the model's parameters are clipped together.

    Sees clipping that is left out, done after the step or before backward, number by number, for
    the optimiser's parameters only, or without a `max_norm`.
    """
    norm = case.norm(0)
    for share in (0.3, 1.5):
        max_norm = share * norm
        step = Step(0, RATES, max_norm)
        expected = case.expected([step], PARTLY)
        model, loss = case.made(student)
        optimiser = case.optimiser(student, model, RATES, PARTLY)
        returned = student.train_step.recording(
            model, *case.batches[0], optimiser, loss, max_norm=max_norm
        )
        assert_loss(returned, expected.losses[0], f"train_step with max_norm={max_norm:.4g}")
        help = f"The norm of the model's gradients is {norm:.4g} in this step."
        left = [kept.double().norm() for kept in _gradients(model).values() if _is_real(kept)]
        if left and abs(torch.stack(left).norm().item() - min(norm, max_norm)) < 1e-4 * norm:
            help += " Afterwards the gradients are clipped; were they when they were used?"
        subject = f"after one step with max_norm={max_norm:.4g}"
        assert_weights(model, expected.weights, subject, help=help)


@check(points=2, inputs=(cases(), cases(pad_ids=(0,))), examples=1)
def test_evaluation_is_the_mean_over_all_labels(
    student: Any, odd: LoopCase, usual: LoopCase
) -> None:
    """Evaluation returns the mean over all labels, computed in evaluation mode.

    Sees an even mean of batches of different sizes, a mean weighted by sentences or with padding
    counted, a padding id of 0 taken for granted, labels not shifted, dropout left on, and batches
    that are read twice.
    """
    for case in (odd, usual):
        _assert_mean(student, case)


def _assert_mean(student: Any, case: LoopCase) -> None:
    losses, counts = case.losses(), [case.words(number) for number in range(3)]
    total = sum(loss * count for loss, count in zip(losses, counts, strict=True)) / sum(counts)
    for batches, expected in (
        (list(case.batches), total),
        (Once(case.batches), total),
        ([case.batches[1]], losses[1]),
    ):
        model, loss = case.made(student)
        returned = student.evaluate.recording(model, batches, loss)
        assert_loss(
            returned,
            expected,
            "evaluate",
            help=f"The batches have {', '.join(map(str, counts))} labels that are not padding, and "
            f"the losses {', '.join(f'{loss:.4g}' for loss in losses)}."
            if expected == total
            else "There is one batch.",
        )


@check(points=1, inputs=cases(), examples=1)
def test_evaluation_leaves_the_model_as_it_was(student: Any, case: LoopCase) -> None:
    """Evaluation changes neither the mode nor the parameters nor their gradients.

    Sees a model left in evaluation mode, or always put into training mode, gradients that are
    cleared or recorded, and an evaluation that is refused without batches in another way than by
    ValueError.
    """
    losses, counts = case.losses(), [case.words(number) for number in range(3)]
    total = sum(loss * count for loss, count in zip(losses, counts, strict=True)) / sum(counts)
    for training in (True, False):
        model, loss = case.made(student)
        model.set_gradients(case.stale)
        returned = student.evaluate.recording(model.train(training), list(case.batches), loss)
        assert_loss(returned, total, "evaluate")
        _assert_mode(model, training)
        _assert_unrecorded(model)
        assert_weights(model, case.weights, "after evaluate")
        gradients = _gradients(model)
        for name, before in case.stale.items():
            after = gradients.get(name)
            if after is None:
                raise Mismatch(f"`evaluate` clears the gradient of `{name}`.")
            assert_matches(after, before, f"gradient of `{name}` after evaluate")
    model, loss = case.made(student)
    reason = "evaluate with no batch: there is no mean of nothing"
    assert_refuses(ValueError, lambda: student.evaluate.recording(model, [], loss), reason)


def _gradients(model: RemoteModule) -> dict[str, Any]:
    returned = model.gradients()
    return returned if isinstance(returned, dict) else {}


def _is_real(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_complex()


def _assert_mode(model: RemoteModule, training: bool) -> None:
    if model.training.get() is not training:
        modes = {True: "training", False: "evaluation"}
        raise Mismatch(
            f"The model comes to `evaluate` in {modes[training]} mode and leaves it in "
            f"{modes[not training]} mode.",
            help="Keep `model.training` before you change it.",
        )


def _assert_unrecorded(model: RemoteModule) -> None:
    calls = model.calls.get()
    if not isinstance(calls, list) or any(call != (False, False) for call in calls):
        raise Mismatch(
            "`evaluate` runs the model with gradients on, so everything that is computed is kept "
            "in memory.",
            help="See `torch.no_grad`.",
        )


def _rates(steps: int) -> list[float]:
    """A rate for each step, and others for the numbers before the first and after the last."""
    return [0.9, *(0.1 + 0.15 * (step % 3) + 0.02 * step for step in range(steps)), 0.7]


@check(points=2, inputs=cases(), examples=2)
def test_each_step_has_its_batch_and_its_rate(student: Any, case: LoopCase) -> None:
    """The batches take turns, and in step t every group has the learning rate `rate(t)`.

    Sees a schedule that is off by one, set after the step or for the first group only, batches in
    another order, one batch again and again, too many or too few steps.
    """
    steps = 7
    rates = _rates(steps)
    model, loss = case.made(student)
    optimiser = case.optimiser(student, model)
    schedule = student.give("Rates", rates)
    expected = case.expected([Step(t % 3, (rates[t + 1],) * 2) for t in range(steps)])
    returned = student.fit.recording(model, list(case.batches), optimiser, loss, schedule, steps)
    _assert_losses(returned, expected.losses, rates)
    assert_weights(model, expected.weights, f"after fit with {steps} steps")


@check(points=1, inputs=cases(), examples=1)
def test_a_run_of_any_length(student: Any, case: LoopCase) -> None:
    """`fit` clips if asked to, and can make fewer steps than there are batches, or none.

    Sees a `max_norm` that isn't passed on, runs that end only where the batches do, and a model
    that was in evaluation mode.
    """
    max_norm = 0.4 * case.norm(0)
    rates = _rates(2)
    model, loss = case.made(student)
    optimiser = case.optimiser(student, model)
    expected = case.expected([Step(t, (rates[t + 1],) * 2, max_norm) for t in range(2)])
    call = (list(case.batches), optimiser, loss, student.give("Rates", rates))
    returned = student.fit.recording(model.eval(), *call, 2, max_norm)
    _assert_losses(returned, expected.losses, rates)
    assert_weights(model, expected.weights, f"after fit with 2 steps and max_norm={max_norm:.4g}")
    returned = student.fit.recording(model, *call, 0)
    _assert_losses(returned, [], rates)
    assert_weights(model, expected.weights, "after fit with 0 steps")


def _assert_losses(returned: Any, expected: list[float], rates: list[float]) -> None:
    if not isinstance(returned, list):
        description = (
            "None: is a `return` missing?" if returned is None else f"a {type(returned).__name__}."
        )
        raise Mismatch(f"fit should return the list of the losses; yours returned {description}")
    if len(returned) != len(expected):
        raise Mismatch(
            f"fit with {len(expected)} steps should return {len(expected)} losses; yours returned "
            f"{len(returned)}."
        )
    for number, (value, loss) in enumerate(zip(returned, expected, strict=True), start=1):
        help = "" if number == 1 else f"The rate of step {number - 1} is {rates[number - 1]:.3g}."
        if isinstance(value, torch.Tensor):
            raise Mismatch(
                f"fit returned a tensor as the loss of step {number}; it should be a Python float.",
                help="`item()` turns a tensor of one number into a float.",
            )
        assert_loss(value, loss, f"fit in step {number}", help=help)
