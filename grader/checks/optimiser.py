"""Hidden checks of `optimiser`: Loshchilov and Hutter 2017, 2019; Pascanu and others 2013."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import assert_defaults, came_back
from grader.checks.framework.inputs import Numbers, random_numbers
from grader.checks.framework.precision import assert_settings_kept, either_precision
from grader.checks.optimiser_cases import (
    DEFAULTS,
    NAMES,
    SHAPES,
    Gradients,
    Group,
    OptimiserCase,
    assert_follows,
    cases,
)
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches
from grader.remote.proxy import RemoteModule
from grader.remote.session import StudentError
from grader.remote.wire import Once

# So that everything shows: the decay takes 2 % of a parameter at each step, and steps in which the
# update comes first or last differ by 1e-3.
OPTIONS = {"lr": 0.05, "betas": (0.8, 0.95), "weight_decay": 0.4}
# For checks of other things, in which a mistake with the decay does not cost a second time.
PLAIN = {**OPTIONS, "weight_decay": 0.0}


def _number(returned: Any) -> float | None:
    """A number that came back as one, or as a tensor that holds one; None if it is neither."""
    if isinstance(returned, Tensor) and returned.numel() == 1 and not returned.is_complex():
        return float(returned.item())
    return float(returned) if type(returned) in (int, float) else None


def _is_near(value: float, expected: float) -> bool:
    return abs(value - expected) <= 1e-5 * max(abs(expected), 1e-3)


def _assert_number(returned: Any, expected: float, call: str, meaning: str, help: str = "") -> None:
    value = _number(returned)
    if value is None:
        raise Mismatch(f"{call} should return {meaning}; yours returned {came_back(returned)}")
    if not _is_near(value, expected):
        raise Mismatch(f"{call} returns {value:.6g}; it should be {expected:.6g}.", help=help)


def _gradients(numbers: Numbers) -> dict[str, Tensor]:
    """Gradients of comparable norms, each smaller than all together."""
    sizes = {"matrix": 0.5, "bias": 0.8, "scale": 1.0}
    returned = {}
    for name, shape in SHAPES.items():
        drawn = numbers.normal(f"gradient of {name}", *shape)
        returned[name] = (drawn.sign() * (drawn.abs() + 0.5)) * sizes[name]
    return returned


def _norm(gradients: dict[str, Tensor]) -> float:
    return float(torch.cat([gradient.flatten() for gradient in gradients.values()]).norm())


def _model(student: Any) -> RemoteModule:
    model: RemoteModule = student.give(
        "Quadratic", {name: [*shape] for name, shape in SHAPES.items()}
    )
    return model.to(torch.float64)


def _parameters(model: RemoteModule) -> list[Any]:
    return [getattr(model, name) for name in NAMES]


def _assert_gradients(model: RemoteModule, expected: dict[str, Tensor], when: str) -> None:
    returned = model.gradients()
    for name, gradient in expected.items():
        left = returned.get(name) if isinstance(returned, dict) else None
        if left is None:
            raise Mismatch(f"`{name}` has no gradient any more {when}.")
        assert_matches(left, gradient, f"gradient of `{name}` {when}")


@check(points=1, inputs=random_numbers(), examples=3)
def test_clipping_shortens_all_gradients_together(student: Any, numbers: Numbers) -> None:
    """Gradients whose norm, taken together, is above `max_norm` are scaled to it; others stay.

    Sees a norm for each parameter, a sum of norms, another norm than L2, numbers cut one by one, a
    norm that is not returned or is that of afterwards, and gradients that are made longer.
    """
    gradients = _gradients(numbers)
    norm = _norm(gradients)
    for share in (0.9, 0.25, 1.1, 4.0):
        model = _model(student)
        model.set_gradients(gradients)
        call = f"clip_gradients of gradients with the norm {norm:.4g}, max_norm={norm * share:.4g},"
        returned = student.clip_gradients.recording(_parameters(model), norm * share)
        _assert_number(returned, norm, call, "the norm before clipping")
        factor = min(1.0, share)
        clipped = {name: gradient * factor for name, gradient in gradients.items()}
        _assert_gradients(model, clipped, f"after {call.rstrip(',')}")


@check(points=1, inputs=random_numbers(), examples=2)
def test_clipping_takes_what_parameters_there_are(student: Any, numbers: Numbers) -> None:
    """Parameters without a gradient are skipped, and `parameters` may be a generator.

    Sees a second loop over an iterator that is used up, and a norm of nothing or of zeros that is
    an error.
    """
    gradients = _gradients(numbers)
    del gradients["bias"]
    norm = _norm(gradients)
    model = _model(student)
    model.set_gradients(gradients)
    returned = student.clip_gradients.recording(Once(tuple(_parameters(model))), norm / 2)
    call = "clip_gradients of an iterator"
    _assert_number(returned, norm, call, "the norm before clipping")
    clipped = {name: gradient / 2 for name, gradient in gradients.items()}
    _assert_gradients(model, clipped, f"after {call}")
    for parameters in (_parameters(_model(student)), []):
        returned = student.clip_gradients.recording(parameters, 1.0)
        _assert_number(returned, 0.0, "clip_gradients without any gradient", "0")
    zeros = {name: torch.zeros_like(gradient) for name, gradient in gradients.items()}
    model.set_gradients(zeros)
    returned = student.clip_gradients.recording(_parameters(model), 1.0)
    call = "clip_gradients of gradients that are all zero"
    _assert_number(returned, 0.0, call, "0")
    _assert_gradients(model, zeros, f"after {call}")


@check(points=2, inputs=cases(5, OPTIONS), examples=3)
@either_precision
def test_steps_agree_with_torch(student: Any, case: OptimiserCase) -> None:
    """Five steps of AdamW are those of torch.optim.AdamW, each parameter with its own state.

    Sees a missing or wrong bias correction, decay that goes through the gradient or forgets the
    learning rate, running means that are mixed up, shared or made anew, and updates that autograd
    records. All parameters have a gradient at each step.
    """
    assert_defaults(student, "AdamW", {name: DEFAULTS[name] for name in ("lr", "eps")})
    assert_defaults(student, "AdamW", {"weight_decay": DEFAULTS["weight_decay"]})
    settings = student.global_settings()
    model = case.made(student)
    returned = case.take(model, case.optimiser(student, model), range(5))
    try:
        assert_follows(returned, case)
    except Mismatch:
        assert_follows(returned, case, help=_first_steps(student, case))
    for name in NAMES:
        assert_dtype(returned[-1][name], case.dtype, f"`{name}` after five steps")
    assert_settings_kept(settings, student.global_settings())


def _first_steps(student: Any, case: OptimiserCase) -> str:
    """What the decay alone and the first steps of a weight of 1 get wrong, in words."""

    def weight(gradients: Sequence[float], options: dict[str, Any]) -> tuple[float, float]:
        steps: tuple[Gradients, ...] = tuple(
            {name: torch.full_like(value, gradient) for name, value in case.values.items()}
            for gradient in gradients
        )
        ones = {name: torch.ones_like(value) for name, value in case.values.items()}
        one = replace(case, values=ones, gradients=steps, options=options)
        model = one.made(student)
        taken = one.take(model, one.optimiser(student, model), range(len(steps)))
        value = _number(taken[-1]["scale"])
        if value is None:
            raise Mismatch("It is not a single number any more.")
        return value, one.trajectories[0][-1]["scale"].item()

    def wrong_steps(betas: tuple[float, float], meaning: str) -> str:
        for gradients in ((2.0,), (2.0, 2.0), (2.0, 1.0), (2.0, 1.0, 3.0)):
            actual, expected = weight(gradients, {**PLAIN, "betas": betas})
            if not _is_near(actual, expected):
                shown = ", then ".join(f"{gradient:.0f}" for gradient in gradients)
                return (
                    f"Without decay, with lr=0.05 and betas={betas}{meaning}, a gradient of "
                    f"{shown} turns a weight of 1 into {actual:.6g}; it should be {expected:.6g}."
                )
        return ""

    try:
        actual, expected = weight((0.0,), OPTIONS)
        decay = (
            "With lr=0.05, weight_decay=0.4 and a gradient of 0, a step turns a weight of 1 into "
            f"{actual:.6g}; it should be {expected:.6g}."
        )
        said = [
            "" if _is_near(actual, expected) else decay,
            wrong_steps((0.8, 0.0), " (so that v̂ should be the gradient's square)"),
            wrong_steps((0.0, 0.95), " (so that m̂ should be the gradient)"),
        ]
        said = said if any(said) else [wrong_steps((0.8, 0.95), "")]
    except (KeyError, Mismatch, StudentError):
        return ""
    return "\n".join(filter(None, said))


@check(points=1, inputs=(cases(4, {}), cases(3, {"lr": 0.02, "weight_decay": 0.0})), examples=1)
@either_precision
def test_options_have_their_defaults(
    student: Any, silent: OptimiserCase, partly: OptimiserCase
) -> None:
    """Without options, the steps are those of torch's defaults."""
    betas = student.defaults("AdamW").get("betas", DEFAULTS["betas"])
    if isinstance(betas, (tuple, list)) and tuple(betas) != DEFAULTS["betas"]:
        raise Mismatch(
            f"Without `betas`, AdamW takes {tuple(betas)!r}; the default should be (0.9, 0.999)."
        )
    for case in (silent, partly):
        model = case.made(student)
        optimiser = case.optimiser(student, model)
        assert_follows(case.take(model, optimiser, range(len(case.gradients))), case)


GROUPS = (
    Group(("bias",), {"lr": 0.03, "weight_decay": 0.0}),
    Group(("matrix", "scale"), {"betas": (0.5, 0.7), "eps": 0.2}),
)
BOTH = "Two groups, whose learning rates change before steps 3 and 4."
PLAIN_GROUPS = (Group(("bias",), {"lr": 0.03}), Group(("matrix", "scale"), {"betas": (0.5, 0.7)}))


@check(points=1, inputs=cases(4, OPTIONS, GROUPS, {2: (0.01, 0.08), 3: (0.2, 0.0)}), examples=2)
@either_precision
def test_groups_have_their_own_options(student: Any, case: OptimiserCase) -> None:
    """Each group uses its own options, and the learning rate that it has at each step.

    Sees options of the constructor or of the first group used for all, a learning rate that is kept
    from the start, eps ignored or under the root.
    """
    model = case.made(student)
    returned = case.take(model, case.optimiser(student, model), range(4))
    try:
        assert_follows(returned, case)
    except Mismatch:
        help = _ignored(student, case)
        assert_follows(returned, case, help=help or BOTH)


def _ignored(student: Any, case: OptimiserCase) -> str:
    """Which options of a group have no effect, in words; nothing if each has one."""
    own = {"lr": 0.03, "betas": (0.5, 0.7), "eps": 0.2, "weight_decay": 0.0}

    def steps(options: dict[str, Any]) -> dict[str, Tensor]:
        one = replace(case, groups=(Group(NAMES, options),), rates={})
        model = one.made(student)
        groups = [{"params": _parameters(model), **options}]
        taken = one.take(model, student.AdamW(groups, **one.options), range(2))
        return taken[-1]

    try:
        plain = steps({})
        ignored = [
            name
            for name, value in own.items()
            if all(torch.equal(plain[part], given) for part, given in steps({name: value}).items())
        ]
    except (KeyError, StudentError):
        return ""
    if not ignored:
        return ""
    names = " and ".join(f"`{name}`" for name in ignored)
    have = "has" if len(ignored) == 1 else "have"
    return f"A group's own {names} {have} no effect: your steps are the same with and without."


# What decays never has a gradient here.
LEFT = (Group(("matrix",), {"weight_decay": 0.4}), Group(("bias", "scale"), {}))
MISSING = {
    0: ("matrix", "bias"),
    1: ("matrix", "bias"),
    2: ("matrix",),
    3: ("matrix", "scale"),
    4: ("matrix",),
}


@check(points=1, inputs=cases(5, PLAIN, LEFT, missing=MISSING, zero=True), examples=2)
@either_precision
def test_parameters_without_a_gradient_are_skipped(student: Any, case: OptimiserCase) -> None:
    """A parameter whose gradient is None is skipped, its t included; gradients keep their values.

    Sees decay or old momentum without a gradient, a state that is lost there, one step count for
    all parameters, 0/0 where a gradient is zero throughout, a gradient of zeros taken for none, and
    gradients that are edited.
    """
    model = case.made(student)
    optimiser = case.optimiser(student, model)
    returned = []
    for number, gradients in enumerate(case.gradients):
        returned += case.take(model, optimiser, [number])
        there = {name: given for name, given in gradients.items() if given is not None}
        after = model.gradients()
        for name, given in there.items():
            actual = after.get(name) if isinstance(after, dict) else None
            if (
                not isinstance(actual, Tensor)
                or actual.shape != given.shape
                or (actual != given).any()
            ):
                raise Mismatch(
                    f"`step` changes the gradient of `{name}`.",
                    help="Which line edits `parameter.grad` in place?",
                )
    assert_follows(
        returned,
        case,
        help="In each step some parameters have no gradient; `matrix` never has one.",
    )


@check(points=1, inputs=cases(5, PLAIN, PLAIN_GROUPS, {2: (0.01, 0.08)}), examples=1)
@either_precision
def test_a_saved_state_resumes(student: Any, case: OptimiserCase) -> None:
    """A new optimiser that loads an old one's state continues as the old one would have.

    Sees running means and counts that are kept elsewhere than in `state`, or begun anew.
    """
    model = case.made(student)
    optimiser = case.optimiser(student, model)
    returned = case.take(model, optimiser, range(3))
    state, twin = optimiser.state_dict.kept().copy(), model.copy()
    resumed = case.optimiser(student, twin, lr=0.5)
    resumed.load_state_dict(state)
    returned += case.take(twin, resumed, range(3, 5))
    assert_follows(returned, case, help="After step 3 the state is loaded into a new optimiser.")


@check(points=1, inputs=cases(2, PLAIN), examples=1)
@either_precision
def test_a_closure_is_called_with_gradients_on(student: Any, case: OptimiserCase) -> None:
    """`step` calls a closure once, with gradients on even inside no_grad, and returns its loss.

    Sees a closure that is never called, called after the update or where nothing is recorded, and a
    loss that is not returned.
    """
    model = case.made(student)
    optimiser = case.optimiser(student, model)
    # The closure makes each parameter's value its gradient.
    gradients: Gradients = {name: value.clone() for name, value in case.values.items()}
    first = replace(case, gradients=(gradients,))
    loss = optimiser.step(model.closure)
    if model.evaluations.get() != 1:
        raise Mismatch(
            f"`step(closure)` calls the closure {model.evaluations.get()} times, not once."
        )
    value = torch.stack([start.double().square().sum() / 2 for start in case.values.values()]).sum()
    assert_matches(
        loss, value, "result of step(closure)", help="It should be what the closure returned."
    )
    assert_follows([model.weights(NAMES)], first)


@check(
    points=1,
    inputs=(st.integers(3, 30), st.integers(4, 60), random_numbers()),
    examples=6,
)
def test_the_rate_follows_a_cosine(student: Any, warmup: int, half: int, numbers: Numbers) -> None:
    """The rate rises up to `warmup`, falls along a cosine up to `total`, and stays at `min_rate`.

    Sees a cosine over the wrong span, a minimum or a half that is left out, a rate that rises again
    after the end, and a division by a warm-up of zero.
    """
    high = 1.0 + numbers.normal("high", 1).abs().item()
    low = high * numbers.normal("low", 1).sigmoid().item()
    for rising in (warmup, 0):
        total = rising + 2 * half
        middle = {rising // 2, rising, rising + 1, rising + half // 2, rising + half}
        for step in sorted({0, 1, *middle, total - 1, total, total + 1, total + half, 2 * total}):
            call = f"cosine_rate({step}, {high:.4g}, {low:.4g}, warmup={rising}, total={total})"
            returned = student.cosine_rate(step, high, low, warmup=rising, total=total)
            expected = _rate(step, high, low, rising, total)
            value = _number(returned)
            is_wrong = value is not None and not _is_near(value, expected)
            help = _wrong_part(student, high, low, rising, total) if is_wrong else ""
            _assert_number(returned, expected, call, "a float", help)


def _wrong_part(student: Any, high: float, low: float, warmup: int, total: int) -> str:
    """Which of the three parts of the curve is wrong, if the others are right."""

    def is_right(step: int) -> bool:
        returned = _number(student.cosine_rate(step, high, low, warmup=warmup, total=total))
        return returned is not None and _is_near(returned, _rate(step, high, low, warmup, total))

    parts = {
        "before step `warmup`": range(warmup),
        "from step `warmup` to `total`": range(warmup, total + 1),
        "after step `total`": range(total + 1, 2 * total + 1),
    }
    try:
        wrong = [part for part, steps in parts.items() if not all(map(is_right, steps))]
    except StudentError:
        return ""
    return f"Only rates {wrong[0]} are wrong." if len(wrong) == 1 else ""


def _rate(step: int, high: float, low: float, warmup: int, total: int) -> float:
    if step < warmup:
        return high * step / warmup
    turned = min(step - warmup, total - warmup) / (total - warmup) * math.pi
    return low + (high - low) * (0.5 + 0.5 * math.cos(turned))
