"""Public tests of training. Run them with: pytest exercises/test_training.py."""

from math import log, sqrt

import pytest
import torch
from torch import nn

from exercises.training import initialise, label_smoothed_loss, noam_rate, teacher_forcing
from grader.feedback.comparison import assert_matches, assert_parts

AXES = ("batch", "length")


def test_matrices_are_drawn() -> None:
    """Embedding and linear map are drawn within Xavier's bounds.

    Those are √(6 / (rows + columns)). An embedding of 40 words with 20 features is a matrix too.
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
            f"initialise does not draw a parameter of shape {tuple(new.shape)}. "
            "Which parameters have two axes or more?"
        )
        assert largest <= bound + 1e-6, (
            f"initialise draws {largest:.3f} for a matrix of shape {tuple(new.shape)}; Xavier's "
            f"numbers lie between -{bound:.3f} and {bound:.3f}. Are they drawn uniformly?"
        )
        assert abs(spread / (bound / sqrt(3)) - 1) < 0.1, (
            f"The numbers in a matrix of shape {tuple(new.shape)} have a deviation of "
            f"{spread:.3f}; between -{bound:.3f} and {bound:.3f} it should be about "
            f"{bound / sqrt(3):.3f}."
        )


def test_the_rest_stays() -> None:
    """Biases and norms stay as they are, and what is shared stays shared."""
    first, norm, second = nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(4, 6)
    weight = nn.Parameter(torch.zeros(6, 4))
    first.weight = second.weight = weight
    bias, scale = first.bias.clone(), norm.weight.clone()
    initialise(nn.Sequential(first, norm, second))
    assert_matches(first.bias, bias, "bias after initialise")
    assert_matches(norm.weight, scale, "weight of the LayerNorm after initialise")
    assert first.weight is second.weight is weight, (
        "initialise puts new parameters in the place of the old ones. Change their numbers in "
        "place: a function whose name ends in _ does."
    )


def test_labels_are_the_next_words() -> None:
    """The decoder reads all but the last word; labels are all but the first."""
    tgt = torch.tensor([[1, 7, 8, 9, 2], [1, 6, 2, 0, 0]])
    returned = teacher_forcing(tgt)
    assert_parts(returned, ("decoder_input", "labels"), "teacher_forcing")
    decoder_input, labels = returned
    expected = torch.tensor([[1, 7, 8, 9], [1, 6, 2, 0]])
    assert_matches(decoder_input, expected, "decoder's input", axes=AXES)
    expected = torch.tensor([[7, 8, 9, 2], [6, 2, 0, 0]])
    assert_matches(labels, expected, "labels", axes=AXES)


def test_the_rate_by_hand() -> None:
    """The rate rises up to step `warmup` and falls from there on.

    With d_model = 16 the first factor is 1/4, and 4^(-3/2) is 1/8. So the rate is step / 32 up to
    step 4, and 1 / (4 √step) from there on. If nothing is said, it is highest at step 4000.
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
        assert rate == pytest.approx(expected, abs=1e-9), (
            f"noam_rate({step}, d_model=16, warmup=4) is {rate}; it should be {expected}."
        )
    top = noam_rate(4000, d_model=512)
    assert noam_rate(3900, d_model=512) < top > noam_rate(4100, d_model=512), (
        "The rate of noam_rate without `warmup` is not highest at step 4000."
    )


def test_the_loss_by_hand() -> None:
    """Four words, and 0.4 of the label shared out among all of them.

    The probabilities are 1/2, 1/4, 1/8 and 1/8, so -log p is 1, 2, 3 and 3 times log 2. The label,
    the second word, has 2, the mean of all is 9/4: the loss is 0.6 * 2 + 0.4 * 9/4 = 2.1 times
    log 2. And a word that is behind by 1000 has -log p = 1000, although the computer's softmax
    makes 0 of its probability.
    """
    logits = torch.tensor([[[1 / 2, 1 / 4, 1 / 8, 1 / 8]]]).log() + 5
    found = label_smoothed_loss(logits, torch.tensor([[1]]), pad_id=0, smoothing=0.4)
    assert_matches(
        found,
        torch.tensor(2.1 * log(2)),
        "loss",
        help="Is ε shared out among all four words, the label included?",
    )
    twice = label_smoothed_loss(logits.expand(3, 2, 4), torch.ones(3, 2).long(), 0, 0.4)
    assert_matches(twice, found.detach(), "loss of the same place six times", help="It is a mean.")
    large = torch.tensor([[[0.0, 1000.0]]])
    found = label_smoothed_loss(large, torch.tensor([[0]]), pad_id=-1, smoothing=0.0)
    assert_matches(
        found,
        torch.tensor(1000.0),
        "loss of a word that is behind by 1000",
        help="Look up log_softmax, which is not log(softmax).",
    )


def test_padding_is_left_out() -> None:
    """Places whose label is padding change nothing.

    Padding may be marked by a word's id or by a negative number. Here one is 3, one -100.
    """
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 5)
    for pad_id in (3, -100):
        labels = torch.tensor([[4, pad_id, 0], [2, pad_id, pad_id]])
        before = labels.clone()
        found = label_smoothed_loss(logits, labels, pad_id=pad_id)
        assert_matches(labels, before, "labels after the call", axes=AXES)
        words = torch.stack([logits[0, 0], logits[0, 2], logits[1, 0]])[None]
        without = label_smoothed_loss(words, torch.tensor([[4, 0, 2]]), pad_id=pad_id)
        assert_matches(
            found,
            torch.as_tensor(without).detach(),
            f"loss with pad_id={pad_id}",
            help="The mean is over the places that are no padding.",
            sides=("with padding", "without"),
        )


def test_the_loss_can_be_learnt_from() -> None:
    """Gradients flow back to the logits.

    With two words of the same score and no smoothing, the gradient is the probability less what is
    wanted: 1/2 - 1 for the label, 1/2 for the other.
    """
    logits = torch.zeros(1, 1, 2, requires_grad=True)
    loss = label_smoothed_loss(logits, torch.tensor([[1]]), pad_id=-1, smoothing=0.0)
    (found,) = torch.autograd.grad(loss, logits, allow_unused=True)
    assert_matches(found, torch.tensor([[[0.5, -0.5]]]), "gradient of the logits")


def test_whatever_has_two_axes_or_more() -> None:
    """Parameters of all kinds are drawn, buffers are not.

    Frozen ones, those of three axes, and those that belong to no layer.
    """
    model = nn.Bilinear(5, 6, 7)
    model.register_parameter("alone", nn.Parameter(torch.zeros(4, 8), requires_grad=False))
    model.register_buffer("table", torch.zeros(3, 3))
    before = model.weight.detach().clone()
    initialise(model)
    assert not torch.equal(model.weight, before), (
        "initialise leaves a parameter of shape (7, 6, 5)."
    )
    alone = model.get_parameter("alone")
    assert alone.any(), "initialise leaves a parameter that takes no gradients."
    assert not alone.requires_grad, "initialise makes a frozen parameter take gradients."
    assert not model.get_buffer("table").any(), "initialise changes a buffer."
