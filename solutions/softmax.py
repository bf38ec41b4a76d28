"""Softmax: from scores to probabilities.

A model computes scores: how well each word fits next, how well each key matches a query. Scores can
be any numbers, but what is needed are probabilities: numbers between 0 and 1 that sum to 1, larger
where the score is larger. Softmax turns scores into probabilities, in every attention and at the
end of every language model.

It does two things. `exp` makes every score positive, and turns a difference of 1 into a factor of e
≈ 2.718. Dividing by the sum makes the total 1. Only the differences between scores matter: adding
100 to all of them multiplies every exponential by the same factor, which cancels in the division.

That also makes it computable. The exponential of 1000 is infinite in every dtype, and infinity over
infinity is NaN. Since a common shift changes nothing, subtract the row's largest score first: the
largest exponential is then e⁰ = 1, and nothing can overflow. Nor can the sum be zero, since it
contains that 1.

Training needs the logarithms of the probabilities. Taking `log` of a softmax fails where a
probability is so small that it rounds to zero. The formula for the logarithm never computes the
probability itself, and stays accurate.

**Cross-entropy** is the loss that trains every model here. It looks at one probability of each row,
the one that the model gives to the right answer, the **label**: minus its logarithm is 0 if the
model is certain and right, and grows without bound as the probability goes to 0. The loss is the
mean over all rows. Scores that go into it are called **logits**.

## Formula

    softmax(x)_i     = e^(x_i - m) / (e^(x_1 - m) + … + e^(x_n - m))

    log_softmax(x)_i = x_i - m - log(e^(x_1 - m) + … + e^(x_n - m))

    m                = the largest of x_1, …, x_n

    cross_entropy    = the mean of -log_softmax(logits)_label over all rows

## Shapes

    x, result      any shape with at least one axis, both the same
    m, the sum     that shape with 1 in place of the size of the axis `dim`

    logits         (..., V)    V numbers for each label; one axis or more before them
    labels         (...)       ids from 0 to V - 1
    cross_entropy  ()          one number

## With a pencil

The scores log 1, log 2 and log 5 have the exponentials 1, 2 and 5, which sum to 8.

    >>> x = torch.tensor([1.0, 2.0, 5.0]).log()
    >>> softmax(x)
    tensor([0.1250, 0.2500, 0.6250])
    >>> log_softmax(x).exp()
    tensor([0.1250, 0.2500, 0.6250])

The same with 1000 added to each score, and the logarithm of a probability too small for float32.

    >>> softmax(x + 1000)
    tensor([0.1250, 0.2500, 0.6250])
    >>> log_softmax(torch.tensor([0.0, 1000.0]))
    tensor([-1000.,     0.])

Two rows with the probabilities 1/8, 1/4, 5/8. The labels have the probabilities 1/4 and 1/8, so the
loss is the mean of 2 log 2 and 3 log 2:

    >>> logits = torch.tensor([[1.0, 2.0, 5.0], [1.0, 2.0, 5.0]]).log()
    >>> loss = cross_entropy(logits, torch.tensor([1, 0]))
    >>> round((loss / torch.tensor(2.0).log()).item(), 4)
    2.5

## What the exercise asks

- `softmax` and `log_softmax` work along the axis `dim`, whichever it is, counted from the front or
  from the back. Without it they take the last.
- Rows along that axis are independent: one row doesn't change another, however much larger its
  scores are.
- All three are right for scores of up to 10,000 in size, with finite gradients. Beyond 100 a
  relative error of 0.001 is fine.
- A score of -inf gives a probability of exactly 0 if another score of its row is finite. (This is
  how masks work.) What a row of nothing but -inf gives is up to you.
- `cross_entropy` takes logits with any number of axes before the last, at least one. It is finite
  wherever the labels' own logits are, even if other logits are -inf. Labels outside the range don't
  occur.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- PyTorch: `torch.nn.functional.softmax` and `torch.nn.functional.log_softmax` are the same
  functions. `torch.nn.functional.cross_entropy` wants the V numbers on axis 1.
- "Dive into Deep Learning" by Zhang, Lipton, Li and Smola, sections 4.1.1.2 (softmax), 4.1.2
  (cross-entropy) and 4.5.2 (why the largest score is subtracted).

## Questions to ask your code

- Which sums are 1 for a tensor of shape (2, 3, 4) and `dim=1`? How many are there?
- From which scores do you subtract which maximum? What happens to a row of scores around -1000 next
  to a row around +1000?
- What is the smallest positive number that float32 can hold, and what is its logarithm?
- Do `amax` and `sum` keep an axis of size 1, so that they broadcast against x?
- Does the tensor that came in still hold its scores afterwards?
- What is the loss of a model that gives each of V tokens the same probability?
- What is 0 times minus infinity, and do you compute it anywhere?
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def softmax(x: Float[Tensor, "..."], dim: int = -1) -> Float[Tensor, "..."]:
    """Turn the scores along one axis into probabilities, which sum to one.

    To start: look up `amax`, and what its arguments `dim` and `keepdim` do.

    Args:
        x: Scores of any shape.
        dim: The axis along which the probabilities sum to one.

    Returns:
        The probabilities, with the shape and dtype of x.
    """
    ### BEGIN SOLUTION
    exponentials = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
    ### END SOLUTION


def log_softmax(x: Float[Tensor, "..."], dim: int = -1) -> Float[Tensor, "..."]:
    """Return the logarithms of the probabilities, without computing the probabilities.

    To start: subtract the largest score as in `softmax`, and give the result a name; the formula
    needs it twice.

    Args:
        x: Scores of any shape.
        dim: The axis along which the probabilities sum to one.

    Returns:
        The logarithms, all zero or below, with the shape and dtype of x.
    """
    ### BEGIN SOLUTION
    shifted = x - x.amax(dim=dim, keepdim=True)
    return shifted - shifted.exp().sum(dim=dim, keepdim=True).log()
    ### END SOLUTION


def cross_entropy(
    logits: Float[Tensor, "... vocab"], labels: Int[Tensor, "..."]
) -> Float[Tensor, ""]:
    """Return the mean of minus the logarithms of the labels' probabilities.

    To start: `gather` picks a number from each row by its index, if the index has as many axes as
    the rows.

    Args:
        logits: Scores `(..., V)`, with one axis or more before the last.
        labels: The ids of the right answers, `(...)`, from 0 to V - 1.

    Returns:
        The loss, a tensor without axes.
    """
    ### BEGIN SOLUTION
    log_p = log_softmax(logits)
    return -log_p.gather(-1, labels.unsqueeze(-1)).mean()
    ### END SOLUTION
