"""Hidden checks of `training`: Vaswani et al. 2017, sections 5.3, 5.4; Glorot and Bengio 2010."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_gradients,
    assert_not_edited,
    came_back,
    gradients,
    parts,
    pull_back,
)
from grader.checks.framework.inputs import (
    Numbers,
    distinct_sizes,
    inputs,
    random_numbers,
    transposed,
)
from grader.feedback.comparison import Mismatch, assert_matches, assert_shape
from grader.remote.fixtures import Assortment
from grader.remote.proxy import RemoteModule
from grader.remote.session import StudentError

# Sizes of an `Assortment`: no two of its matrices have the same bound, and each holds at least 1440
# numbers.
SIZES = (30, 48, 70)
PAIRS = ("decoder_input", "labels")
IDS = ("batch", "length")


def _shapes() -> dict[str, tuple[int, ...]]:
    module = Assortment(*SIZES)
    parameters = module.named_parameters(remove_duplicate=False)
    return {name: tuple(value.shape) for name, value in parameters}


def _bound(shape: tuple[int, ...]) -> float:
    """Return the bound of Xavier's uniform distribution: √(6 / (fan_in + fan_out))."""
    return math.sqrt(6 / ((shape[0] + shape[1]) * math.prod(shape[2:])))


def _assert_drawn(numbers: Tensor, before: Tensor, name: str) -> None:
    """Check that the numbers are drawn uniformly from Xavier's interval, and differ from before.

    The limits are seven standard deviations: right code exceeds one of them once in 10^11 times.
    With 1440 numbers that is 16 % of the variance (a normal distribution leaves the interval, other
    fans give another bound) and a tenth of the bound for the mean.
    """
    bound, count = _bound(tuple(numbers.shape)), numbers.numel()
    values = numbers.double()
    if torch.equal(numbers, before):
        raise Mismatch(
            f"`initialise` leaves `{name}` unchanged.",
            help="Every parameter of two or more axes is drawn, whatever it belongs to.",
        )
    if not torch.isfinite(values).all():
        raise Mismatch(f"After `initialise`, `{name}` holds numbers that are not finite.")
    largest = values.abs().max().item()
    shape = tuple(numbers.shape)
    if largest > bound * (1 + 1e-6):
        raise Mismatch(
            f"`initialise` draws {largest:.3g} for `{name}`, of shape {shape}; the bound of "
            f"Xavier's uniform distribution is {bound:.3g} there.",
            help="Which fans do you use, and which factor? Is your distribution uniform?",
        )
    variance = values.square().mean().item() / (bound**2 / 3)
    if abs(variance - 1) > 7 * math.sqrt(0.8 / count):
        raise Mismatch(
            f"The numbers that `initialise` draws for `{name}`, of shape {shape}, have "
            f"{variance:.2g} times the variance of Xavier's uniform distribution.",
            help="Which fans do you use, and which factor?",
        )
    if abs(values.mean().item()) > 7 * bound / math.sqrt(3 * count):
        raise Mismatch(f"The numbers that `initialise` draws for `{name}` do not have mean 0.")


def _initialised(student: Any, shapes: Any) -> tuple[RemoteModule, dict[str, Tensor]]:
    """Return a model that the student's function has initialised, and its parameters before."""
    model = student.give("Assortment", *SIZES)
    before = model.weights(shapes)
    student.initialise(model)
    return model, before


@check(points=2)
def test_initialise_draws_every_matrix(student: Any) -> None:
    """Every parameter of two or more axes is drawn from Xavier's uniform distribution.

    Sees another distribution, bound or factor, and embeddings, frozen parameters or parameters
    outside of layers that are left out. Another check grades what must not change.
    """
    shapes = _shapes()
    model, before = _initialised(student, shapes)
    after = model.weights(shapes)
    for name, shape in shapes.items():
        if len(shape) >= 2:
            assert_shape(after[name], shape, f"`{name}` after initialise")
            _assert_drawn(after[name], before[name], name)
    if torch.equal(after["layers.0.weight"], after["layers.1.weight"]):
        raise Mismatch("`initialise` gives two layers of the same shape the same numbers.")


@check(points=1)
def test_initialise_leaves_the_rest(student: Any) -> None:
    """Vectors, scalars and buffers are unchanged, and parameters stay the same objects.

    Sees biases set to zero, parameters replaced by new ones, so that sharing is lost and an
    optimiser holds the wrong ones, a changed `requires_grad`, and a seed.
    """
    shapes = _shapes()
    model = student.give("Assortment", *SIZES)
    before, rows, buffers = model.weights(shapes), model.parameters(), model.buffers()
    settings = student.global_settings()
    student.initialise(model)
    after = model.weights(shapes)
    drawn = after["linear.weight"]
    # The largest of uniform numbers is 1.7 times their standard deviation, of normal ones 3 times.
    spread = drawn.double().std().item()
    if torch.equal(drawn, before["linear.weight"]) or not drawn.abs().max().item() < 2 * spread:
        raise Mismatch("`initialise` does not draw the weights of an nn.Linear uniformly.")
    for name, shape in shapes.items():
        if len(shape) < 2 and not torch.equal(after[name], before[name]):
            raise Mismatch(
                f"`initialise` changes `{name}`, which has {_axes(shape)}.",
                help="Only parameters of two or more axes are drawn.",
            )
    if not torch.equal(model.buffers()["table"], buffers["table"]):
        raise Mismatch("`initialise` changes a buffer. Only parameters are drawn.")
    for old, new in zip(rows, model.parameters(), strict=True):
        if old.trainable != new.trainable:
            raise Mismatch(f"`initialise` changes `requires_grad` of `{old.name}`.")
        if old != new:
            raise Mismatch(
                f"After `initialise`, `{old.name}` is a different tensor than before, or no longer "
                "shared.",
                help="Change the numbers of a parameter in place; do not replace the parameter.",
            )
    if model.same_objects.get() is not True:
        raise Mismatch(
            "`initialise` replaces parameters by new ones: an optimiser made before it would still "
            "train the old ones.",
            help="Change the numbers of a parameter in place.",
        )
    second, _ = _initialised(student, shapes)
    if torch.equal(second.weights(["linear.weight"])["linear.weight"], after["linear.weight"]):
        raise Mismatch(
            "`initialise` gives two models the same numbers.", help="Is a seed set in it?"
        )
    if student.global_settings() != settings:
        raise Mismatch("`initialise` changes a global setting of torch.")


def _axes(shape: tuple[int, ...]) -> str:
    return "one axis" if shape else "no axis"


@check(points=2, inputs=(distinct_sizes(2, low=3), random_numbers()), examples=2)
def test_inputs_and_labels_are_one_position_apart(
    student: Any, sizes: list[int], numbers: Numbers
) -> None:
    """The decoder reads all ids but the last; the labels are all but the first.

    Sees labels that are not shifted, shifted twice, or swapped with the input, swapped axes, and a
    target that is modified.
    """
    batch, length = sizes
    for size in (length, 2):
        tgt = numbers.ids("tgt", batch, size, high=50)
        returned, after = student.teacher_forcing.echo(tgt)
        result = parts(returned, PAIRS, "teacher_forcing")
        for name, ids, expected in zip(PAIRS, result, (tgt[:, :-1], tgt[:, 1:]), strict=True):
            assert_matches(
                ids,
                expected,
                name,
                axes=IDS,
                help="Each label should be the token after the one that is read.",
            )
        assert_not_edited([tgt], after, ["tgt"])


def _noam(step: int, d_model: int, warmup: int) -> float:
    rising, falling = step / (warmup * math.sqrt(warmup)), 1 / math.sqrt(step)
    return min(rising, falling) / math.sqrt(d_model)


def _rate_of(actual: Any, call: str) -> float:
    if isinstance(actual, Tensor) and actual.numel() == 1 and not actual.is_complex():
        actual = actual.item()
    if type(actual) not in (int, float):
        raise Mismatch(f"{call} should return a float; yours returned {came_back(actual)}")
    return float(actual)


def _is_rate(actual: float, expected: float) -> bool:
    return abs(actual - expected) <= 1e-5 * abs(expected)


def _assert_rate(actual: Any, expected: float, call: str, help: str = "") -> None:
    rate = _rate_of(actual, call)
    if not _is_rate(rate, expected):
        raise Mismatch(f"{call} returns {rate:.6g}; it should be {expected:.6g}.", help=help)


def _what_is_wrong(student: Any, d_model: int, warmup: int) -> str:
    """What the rates say of the formula behind them; nothing where they say nothing for sure."""

    def rate(step: int, width: int = d_model) -> float:
        call = f"noam_rate({step}, d_model={width}, warmup={warmup})"
        return _rate_of(student.noam_rate(step, d_model=width, warmup=warmup), call)

    try:
        first, peak, late, later = rate(1), rate(warmup), rate(8 * warmup), rate(32 * warmup)
        wide = rate(warmup, 4 * d_model)
        second = rate(2)
    except (Mismatch, StudentError):
        return ""
    rates = (first, second, peak, late, later, wide)
    if not all(0 < abs(one) < math.inf for one in rates):
        return ""
    if not _is_rate(wide / peak, 0.5):
        return (
            "If d_model is four times as large, the rate should be half as large; yours is "
            f"multiplied by {wide / peak:.4g}."
        )
    if warmup > 2 and not _is_rate(second / first, 2.0):
        return (
            "Before `warmup`, twice the step should give twice the rate; yours is multiplied by "
            f"{second / first:.4g}."
        )
    if not _is_rate(later / late, 0.5):
        return (
            "After `warmup`, four times the step should give half the rate; yours is multiplied "
            f"by {later / late:.4g}."
        )
    factor = peak / _noam(warmup, d_model, warmup)
    if all(
        _is_rate(one / _noam(step, d_model, warmup), factor)
        for step, one in ((1, first), (2, second), (8 * warmup, late), (32 * warmup, later))
    ):
        return f"Your rate is {factor:.6g} times what it should be, before `warmup` and after it."
    return ""


@check(
    points=1,
    inputs=(
        st.integers(2, 600),
        st.integers(3, 4000),
        st.lists(st.integers(2, 40), min_size=2, max_size=2),
    ),
)
def test_rate_rises_and_falls(student: Any, d_model: int, warmup: int, factors: list[int]) -> None:
    """The rate is the paper's before, at and after `warmup`.

    Sees max for min, wrong exponents, `warmup` ignored, a missing factor of d_model.
    """
    up, down = factors
    for step in (1, 2, max(1, warmup // up), warmup, warmup + 1, warmup * down):
        call = f"noam_rate({step}, d_model={d_model}, warmup={warmup})"
        rate = _rate_of(student.noam_rate(step, d_model=d_model, warmup=warmup), call)
        expected = _noam(step, d_model, warmup)
        if not _is_rate(rate, expected):
            _assert_rate(rate, expected, call, help=_what_is_wrong(student, d_model, warmup))


@check(points=1, inputs=st.integers(2, 600), examples=2)
def test_rate_at_step_zero_and_by_default(student: Any, d_model: int) -> None:
    """The rate at step 0 is 0, and `warmup` is 4000 by default.

    Sees a division by zero, step 0 treated as step 1, and another default.
    """
    _assert_rate(student.noam_rate(0, d_model), 0.0, f"noam_rate(0, {d_model})")
    for step in (1, 4000, 16000):
        call = f"noam_rate({step}, {d_model})"
        _assert_rate(student.noam_rate(step, d_model), _noam(step, d_model, 4000), call)


@dataclass(frozen=True)
class TrainingCase:
    """Logits, labels of which some are padding, and the smoothing."""

    logits: Tensor
    labels: Tensor
    smoothing: float
    pad_id: int

    def loss(self, logits: Tensor) -> Tensor:
        """Return torch's loss for these logits."""
        return F.cross_entropy(
            logits.flatten(0, 1),
            self.labels.flatten(),
            ignore_index=self.pad_id,
            label_smoothing=self.smoothing,
        )

    @cached_property
    def expected(self) -> Tensor:
        """Return torch's loss."""
        return self.loss(self.logits)

    @cached_property
    def gradient(self) -> Tensor:
        """Return torch's gradient with respect to the logits."""
        logits = self.logits.clone().requires_grad_()
        return pull_back(self.loss(logits), [logits], torch.ones((), dtype=torch.float64))[0]


@inputs
def losses(
    draw: st.DrawFn, numbers: Numbers, pad_id: int | None = None, padding: bool = True
) -> TrainingCase:
    """Draw rows of different lengths. Without a `pad_id`, it is a token's id, but not 0."""
    batch, length, vocab = draw(distinct_sizes(3, low=3))
    logits = numbers.normal("logits", batch, length, vocab, scale=2.0)
    if pad_id is None:
        pad_id = vocab - 1 if draw(st.booleans()) else 1
    labels = numbers.ids("labels", batch, length, high=vocab)
    words = torch.arange(length) < 1 + (torch.arange(batch) % (length - 1))[:, None]
    # No token may have the id of padding.
    labels = torch.where(labels == pad_id, (labels + 1) % vocab, labels)
    if padding:
        labels = torch.where(words, labels, pad_id)
    smoothing = draw(st.sampled_from((0.1, 0.3, 0.75)))
    return TrainingCase(logits, labels, smoothing, pad_id)


def _assert_loss(student: Any, actual: Any, case: TrainingCase, subject: str = "loss") -> None:
    if isinstance(actual, float):
        raise Mismatch(
            "label_smoothed_loss should return a tensor without axes; yours returned a float.",
            help="No gradient flows back from a float.",
        )
    joined = "and" if " with " in subject else "with"
    subject = f"{subject} {joined} smoothing={case.smoothing}"
    try:
        assert_matches(actual, case.expected, subject)
    except Mismatch:
        help = _wrong_weights(student, case.pad_id, case.smoothing)
        assert_matches(actual, case.expected, subject, help=help)


def _wrong_weights(student: Any, pad_id: int, smoothing: float) -> str:
    """By what the loss weighs each -log p, where that is wrong: of two labels, or with padding."""
    padding = min(pad_id, 1)
    for labels in ([2, 3], [2, padding]):
        try:
            found = _weights(student, labels, padding, smoothing)
        except StudentError:
            return ""
        if found is None:
            return ""
        count = sum(label != padding for label in labels)
        *weights, added = (count * weight for weight in found)
        expected = [
            (smoothing / 4 + (1 - smoothing) * (token == label)) * (label != padding)
            for label in labels
            for token in range(4)
        ]
        case = f"4 tokens, labels {labels}, pad_id={padding} and smoothing={smoothing}"
        plus = f"plus {added / count:.4g}" if abs(added) > 1e-4 else ""
        if any(abs(a - b) > 1e-4 for a, b in zip(weights, expected, strict=True)):
            return (
                f"For {case}, your loss is {'half ' * (count == 2)}the sum of all -log p with the "
                f"weights {_rows(weights)}{plus and f', {plus}'}; they should be {_rows(expected)}."
            )
        if plus:
            return f"For {case}, your loss is the right one {plus}, whatever the logits are."
    return ""


def _weights(student: Any, labels: list[int], pad_id: int, smoothing: float) -> list[float] | None:
    """The weight of each -log p in the loss of one row, and what is added; None if it is no sum."""
    size = 4 * len(labels)
    generator = torch.Generator().manual_seed(0)
    rows, losses = [], []
    for _ in range(size + 3):
        logits = torch.randn(1, len(labels), 4, generator=generator, dtype=torch.float64)
        loss = student.label_smoothed_loss(logits, torch.tensor([labels]), pad_id, smoothing)
        if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.is_floating_point():
            return None
        rows.append([*(-logits.log_softmax(-1)).flatten().tolist(), 1.0])
        losses.append(loss.double().item())
        if not math.isfinite(losses[-1]):
            return None
    unknown, given = torch.tensor(rows, dtype=torch.float64), torch.tensor(losses).double()
    solved = torch.linalg.lstsq(unknown, given[:, None]).solution[:, 0]
    if not (unknown @ solved - given).abs().max().item() < 1e-4:
        return None
    return list(solved.tolist())


def _rows(weights: list[float]) -> str:
    """Weights of four tokens at each position, as a student would write them."""
    rounded = [f"{round(weight, 4) + 0.0:.4g}" for weight in weights]
    rows = [f"[{', '.join(rounded[start : start + 4])}]" for start in range(0, len(rounded), 4)]
    return f"[{', '.join(rows)}]"


@check(points=1, inputs=losses(pad_id=-100, padding=False), examples=3)
def test_loss_without_padding(student: Any, case: TrainingCase) -> None:
    """Without padding, the loss equals that of F.cross_entropy with label_smoothing.

    Sees ε shared among V - 1 tokens or not at all, a sum for a mean, softmax over the wrong axis,
    an axis of size 1 that gets lost, and logits of a thousand that give infinity. Mistakes with
    padding pass.
    """
    for smoothing in (case.smoothing, 0.0, 1.0):
        case_without_padding = TrainingCase(case.logits, case.labels, smoothing, case.pad_id)
        result, after = student.label_smoothed_loss.echo(
            case.logits, case.labels, case.pad_id, smoothing
        )
        _assert_loss(student, result, case_without_padding)
        assert_not_edited([case.logits, case.labels], after[:2], ["logits", "labels"])
    short = replace(case, logits=case.logits[:, :1], labels=case.labels[:, :1])
    result = student.label_smoothed_loss(short.logits, short.labels, -100, short.smoothing)
    _assert_loss(student, result, short, "loss of one position per row")
    large = TrainingCase(case.logits * 500, case.labels, case.smoothing, case.pad_id)
    result = student.label_smoothed_loss(large.logits, large.labels, -100, large.smoothing)
    _assert_loss(student, result, large, "loss for logits of a thousand")


@check(points=1, inputs=(losses(), losses(pad_id=-1), losses(pad_id=0)), examples=2)
def test_padding_is_ignored(
    student: Any, inside: TrainingCase, negative: TrainingCase, usual: TrainingCase
) -> None:
    """Positions whose label is padding are ignored in sum and count, whatever `pad_id` is.

    Sees a mean over all positions, a hard-coded padding id of 0, `gather` with a negative index,
    padding that counts where nothing is smoothed, and labels that are modified where they are
    padding.
    """
    for case in (
        inside,
        negative,
        replace(inside, smoothing=0.0),
        replace(negative, smoothing=0.0),
    ):
        result = student.label_smoothed_loss(
            case.logits, case.labels, pad_id=case.pad_id, smoothing=case.smoothing
        )
        _assert_loss(student, result, case, f"loss with pad_id={case.pad_id}")
        given = case.logits, case.labels, case.pad_id, case.smoothing
        _, after = student.label_smoothed_loss.echo(*given)
        assert_not_edited(given[:2], after[:2], ["logits", "labels"])
    usual = TrainingCase(usual.logits, usual.labels, 0.1, 0)
    result = student.label_smoothed_loss(usual.logits, usual.labels)
    _assert_loss(student, result, usual, "loss with the default pad_id, and")
    layout = transposed(usual.logits)
    result = student.label_smoothed_loss(layout, usual.labels)
    _assert_loss(student, result, usual, "loss for non-contiguous logits,")


@check(points=1, inputs=(losses(), losses(pad_id=-100)), examples=2)
def test_gradients_agree_with_torch(
    student: Any, inside: TrainingCase, negative: TrainingCase
) -> None:
    """Gradients flow back to the logits as in F.cross_entropy, and none from padding.

    Sees the graph cut by detach, item or no_grad, and NaN from the logarithm of a softmax.
    """
    for case in (inside, negative):
        cotangent = torch.ones((), dtype=torch.float64)
        for scale in (1.0, 500.0):
            scaled = TrainingCase(case.logits * scale, case.labels, case.smoothing, case.pad_id)
            logits = scaled.logits.clone().requires_grad_()
            result = student.label_smoothed_loss(
                logits, scaled.labels, scaled.pad_id, scaled.smoothing
            )
            _assert_loss(student, result, scaled)
            assert_gradients(gradients(result, [logits], cotangent), [scaled.gradient], ["logits"])
