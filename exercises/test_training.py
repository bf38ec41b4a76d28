"""Public tests of training. Run them with: pytest exercises/test_training.py."""

from math import log, sqrt

import pytest
import torch
from torch import nn

from exercises.training import initialise, label_smoothed_loss, noam_rate, teacher_forcing
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_matches,
    assert_parts,
    assert_unchanged,
)

AXES = ("batch", "length")


def test_matrices_are_drawn() -> None:
    """An embedding and a linear map are drawn within Xavier's bounds.

    The bound is √(6 / (rows + columns)). An embedding of 40 tokens with 20 features is a matrix,
    too.
    """
    torch.manual_seed(0)
    embedding, linear = nn.Embedding(40, 20), nn.Linear(20, 34)
    model = nn.Sequential(embedding, linear)
    matrices = [(embedding.weight, sqrt(6 / (40 + 20))), (linear.weight, sqrt(6 / (34 + 20)))]
    before = [weight.clone() for weight, _ in matrices]
    initialise(model)
    for old, (new, bound) in zip(before, matrices, strict=True):
        largest, spread = new.abs().max().item(), new.std().item()
        assert not torch.equal(old, new), (
            f"initialise leaves a parameter of shape {tuple(new.shape)} unchanged. Does it draw "
            "for all with two or more axes, and write into the parameter itself?"
        )
        assert largest <= bound + 1e-6, (
            f"initialise draws {largest:.3f} for a matrix of shape {tuple(new.shape)}; by Xavier's "
            f"formula it lies between -{bound:.3f} and {bound:.3f}. Do you draw uniformly?"
        )
        assert abs(spread / (bound / sqrt(3)) - 1) < 0.1, (
            f"The numbers in a matrix of shape {tuple(new.shape)} have standard deviation "
            f"{spread:.3f}; drawn uniformly between -{bound:.3f} and {bound:.3f} they have about "
            f"{bound / sqrt(3):.3f}."
        )


def test_the_rest_stays() -> None:
    """Biases and norms are unchanged, and shared weights stay shared.

    A bias and the weight of a norm have one axis; only what has two or more is drawn.
    """
    first, norm, second = nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(4, 6)
    weight = nn.Parameter(torch.zeros(6, 4))
    first.weight = second.weight = weight
    bias, scale = first.bias.clone(), norm.weight.clone()
    initialise(nn.Sequential(first, norm, second))
    assert_matches(first.bias, bias, "bias after initialise")
    assert_matches(norm.weight, scale, "weight of the LayerNorm after initialise")
    assert first.weight is second.weight is weight, (
        "initialise replaces parameters by new ones. Change their numbers in place instead: "
        "functions whose name ends in _ do."
    )


def test_labels_are_the_next_tokens() -> None:
    """The decoder reads all but the last token; labels all but the first.

    At every position the label is the token that comes next, so both are one token shorter.
    """
    tgt = torch.tensor([[1, 7, 8, 9, 2], [1, 6, 2, 0, 0]])
    returned = teacher_forcing(tgt)
    assert_parts(returned, ("decoder_input", "labels"), "teacher_forcing")
    decoder_input, labels = returned
    expected = torch.tensor([[1, 7, 8, 9], [1, 6, 2, 0]])
    assert_matches(decoder_input, expected, "decoder's input", axes=AXES)
    expected = torch.tensor([[7, 8, 9, 2], [6, 2, 0, 0]])
    assert_matches(labels, expected, "labels", axes=AXES)
    before = torch.tensor([[1, 7, 8, 9, 2], [1, 6, 2, 0, 0]])
    assert_unchanged(tgt, before, "tgt", axes=AXES)


def test_the_rate_by_hand() -> None:
    """The rate rises up to step `warmup` and falls from there on.

    With d_model = 16 the first factor is 1/4, and 4^(-3/2) is 1/8. So the rate is step / 32 up to
    step 4, and 1 / (4 √step) from there on. By default it is highest at step 4000.
    """
    for step, expected in (
        (0, 0.0),
        (1, 1 / 32),
        (2, 1 / 16),
        (4, 1 / 8),
        (16, 1 / 16),
        (64, 1 / 32),
    ):
        rate = noam_rate(step, d_model=16, warmup=4)
        terms = f"{step**-0.5:.4g} and {step / 8:.4g}" if step else "not needed at step 0"
        assert rate == pytest.approx(expected, abs=1e-9), (
            f"noam_rate({step}, d_model=16, warmup=4) is {rate}; it should be {expected}. "
            f"The factor of d_model is 1/4, the two terms are {terms}. Which of the three differs "
            "in your code? The smaller term counts."
        )
    top = noam_rate(4000, d_model=512)
    assert noam_rate(3900, d_model=512) < top > noam_rate(4100, d_model=512), (
        "noam_rate without `warmup` is not highest at step 4000."
    )


def test_the_loss_by_hand() -> None:
    """The smoothed loss of four tokens, worked out with a pencil.

    ε is 0.4. The probabilities are 1/2, 1/4, 1/8 and 1/8, so -log p is 1, 2, 3 and 3 times log 2.
    The label is the second token, with 2; the mean of all four is 9/4. So the loss is
    0.6 * 2 + 0.4 * 9/4 = 2.1 times log 2. A token whose logit is 1000 below the largest has
    -log p = 1000, although its probability is rounded to 0.
    """
    logits = torch.tensor([[[1 / 2, 1 / 4, 1 / 8, 1 / 8]]]).log() + 5
    found = label_smoothed_loss(logits, torch.tensor([[1]]), pad_id=0, smoothing=0.4)
    if torch.is_tensor(found) and found.isnan().all():
        help = "No label is padding here, so the mean is over all of them. What is yours over?"
        raise Mismatch("Your loss is NaN, like the mean of no numbers at all.", help=help)
    assert_matches(
        found,
        torch.tensor(2.1 * log(2)),
        "loss",
        help="Is ε shared among all four tokens, the label included?",
        asks={
            "A loss is positive. Is a minus sign missing, or is there one too many?": torch.tensor(
                -2.1 * log(2)
            ),
            "Which of the two terms has the factor ε, and which 1 - ε?": torch.tensor(
                2.15 * log(2)
            ),
            "These are the probabilities. Where are their logarithms?": torch.tensor(-0.25),
            "The loss is zero. Over which axis do the probabilities sum to one?": torch.tensor(0.0),
            "Is ε used?": torch.tensor(2 * log(2)),
        },
    )
    for rows, length in ((3, 2), (3, 1)):
        labels = torch.ones(rows, length).long()
        same = label_smoothed_loss(logits.expand(rows, length, 4), labels, 0, 0.4)
        what = f"loss of {rows} rows of {length} positions, all equal"
        assert_matches(same, found.detach(), what, help="Is it a mean?")
    large = torch.tensor([[[0.0, 1000.0]]])
    found = label_smoothed_loss(large, torch.tensor([[0]]), pad_id=-1, smoothing=0.0)
    assert_matches(
        found,
        torch.tensor(1000.0),
        "loss of a token whose logit is 1000 below the largest",
        help="Look up log_softmax: it is more than the log of softmax.",
    )


def test_padding_is_left_out() -> None:
    """Positions whose label is padding are ignored.

    `pad_id` may be any id, even a negative number. Here it is 3, then -100. That holds without
    smoothing too.
    """
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 5)
    for pad_id, smoothing in ((3, 0.1), (-100, 0.1), (3, 0.0)):
        labels = torch.tensor([[4, pad_id, 0], [2, pad_id, pad_id]])
        before = labels.clone()
        found = label_smoothed_loss(logits, labels, pad_id=pad_id, smoothing=smoothing)
        assert_matches(labels, before, "labels after the call", axes=AXES)
        words = torch.stack([logits[0, 0], logits[0, 2], logits[1, 0]])[None]
        without = label_smoothed_loss(words, torch.tensor([[4, 0, 2]]), -100, smoothing)
        assert_matches(
            found,
            torch.as_tensor(without).detach(),
            f"loss with pad_id={pad_id} and smoothing={smoothing}",
            help="The mean is over the positions that are not padding: those whose label is "
            f"not {pad_id}, whether smaller or larger.",
            sides=("with padding", "without"),
        )


def test_gradients_of_the_loss() -> None:
    """Gradients flow back to the logits.

    With two equal logits and no smoothing, the gradient is the probability minus the wanted one:
    1/2 - 1 for the label, 1/2 - 0 for the other token. With the probabilities 3/4 and 1/4 and
    ε = 0.4, the label should get 0.8 and the other token 0.2: 1/4 - 0.8 and 3/4 - 0.2.
    """
    logits = torch.zeros(1, 1, 2, requires_grad=True)
    loss = label_smoothed_loss(logits, torch.tensor([[1]]), pad_id=-1, smoothing=0.0)
    (found,) = torch.autograd.grad(loss, logits, allow_unused=True)
    assert_matches(found, torch.tensor([[[0.5, -0.5]]]), "gradient of the logits")
    logits = torch.tensor([[[3.0, 1.0]]]).log().requires_grad_()
    loss = label_smoothed_loss(logits, torch.tensor([[1]]), pad_id=-1, smoothing=0.4)
    (found,) = torch.autograd.grad(loss, logits, allow_unused=True)
    assert_matches(
        found,
        torch.tensor([[[0.55, -0.55]]]),
        "gradient of the logits with smoothing=0.4",
        help="Do gradients flow through both terms of the loss?",
    )


def test_no_seed_is_set() -> None:
    """Two models of the same sizes start with different numbers."""
    first, second = nn.Linear(3, 4), nn.Linear(3, 4)
    initialise(first)
    initialise(second)
    assert not torch.equal(first.weight, second.weight), (
        "Two models have the same weights after initialise. Does your code set a seed?"
    )


def test_whatever_has_two_axes_or_more() -> None:
    """All parameters of two or more axes are drawn; buffers are not.

    That includes frozen parameters, those with three axes, and those outside of any layer.
    """
    model = nn.Bilinear(5, 6, 7)
    model.register_parameter("alone", nn.Parameter(torch.zeros(4, 8), requires_grad=False))
    model.register_buffer("table", torch.zeros(3, 3))
    before = model.weight.detach().clone()
    initialise(model)
    assert not torch.equal(model.weight, before), (
        "initialise leaves a parameter of shape (7, 6, 5) unchanged."
    )
    alone = model.get_parameter("alone")
    assert alone.any(), "initialise leaves a frozen parameter unchanged."
    assert not alone.requires_grad, "initialise sets requires_grad on a frozen parameter."
    assert not model.get_buffer("table").any(), "initialise changes a buffer."


def test_the_defaults() -> None:
    """The defaults: pad_id 0 and a smoothing of 0.1."""
    assert_defaults(label_smoothed_loss, pad_id=0, smoothing=0.1)
