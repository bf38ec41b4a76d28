"""Training: how to begin, what to predict, how fast to go, and what to call wrong.

The model is there; now it has to learn. Four small pieces make the difference between a loss that
falls and one that does not: with which numbers the weights begin, which words are to be predicted
from which, how large a step the optimiser takes, and how wrong the model's answer is. An optimiser
such as `torch.optim.Adam` does the rest.

## Why initialise

Look at what the encoder is given: a word, times √d_model, plus its place. If the table of words is
drawn from N(0, 1), each row is about √d_model long, and after the factor d_model long. The row of a
place is always √(d_model / 2) long, because in each pair of columns sin² + cos² = 1. At 512
features, the word is 32 times as long as the place:

    >>> _ = torch.manual_seed(0)
    >>> words = torch.randn(1000, 512) * 512**0.5
    >>> round(words.norm(dim=-1).mean().item() / (512 / 2) ** 0.5)
    32

So the model hardly hears where a word stands, and such a model learns slowly. Xavier's distribution
makes the numbers smaller, the more of them there are, so that what goes through a matrix keeps its
size, forwards and backwards. With 10 000 words, the rows are then shorter than the places:

    >>> words = nn.init.xavier_uniform_(torch.empty(10000, 512)) * 512**0.5
    >>> round(words.norm(dim=-1).mean().item() / (512 / 2) ** 0.5, 2)
    0.44

## What to predict

The decoder reads the target up to a word and predicts the *next* word. While training, the target
is known, so all places are asked at once; this is called teacher forcing. What it reads and what it
should say are the same words, one place apart:

    target             <start>   the     cat     sat     <end>
    decoder's input    <start>   the     cat     sat
    labels             the       cat     sat     <end>

If the labels were not shifted, the answer would stand in the input: the model would learn to copy
the word it sees, the loss would fall to nothing, and it could not write a single sentence.

    >>> decoder_input, labels = teacher_forcing(torch.tensor([[1, 5, 6, 7, 2]]))
    >>> decoder_input
    tensor([[1, 5, 6, 7]])
    >>> labels
    tensor([[5, 6, 7, 2]])

## How fast to go

    rate = d_model^(-1/2) * min(step^(-1/2), step * warmup^(-3/2))

At the start the weights know nothing, and large steps in a direction that is half chance do harm.
So the rate grows in a straight line for `warmup` steps, then falls with the root of the step. At
`step = warmup` both are the same. With a pencil, for d_model = 64 and warmup = 4: the first factor
is 1/8, and 4^(-3/2) is 1/8 too. At step 1 the rate is 1/8 * 1/8; at step 4, the top, 1/8 * 1/2; at
step 16 it is 1/8 * 1/4.

    >>> [noam_rate(step, d_model=64, warmup=4) for step in (0, 1, 4, 16)]
    [0.0, 0.015625, 0.0625, 0.03125]

## What to call wrong

The usual loss is -log p(label), which wants p(label) to be 1, and pushes without end. Label
smoothing asks for a little less. Of the whole, ε is shared out evenly among *all* V words, the
label included; the label gets the rest as well:

    wanted(word) = ε / V                  for every word
    wanted(label) = ε / V + (1 - ε)

    loss = -Σ wanted(word) * log p(word)
         = (1 - ε) * -log p(label) + ε * (the mean over all words of -log p(word))

With a pencil: three words of probability 1/2, 1/4 and 1/4, so -log p is 1, 2 and 2 times log 2.
Their mean is 5/3 log 2. If the first is the label and ε = 0.3, the loss is 0.7 * 1 + 0.3 * 5/3 =
1.2 times log 2. A place whose label is padding is left out: the mean is over the other places only.

    >>> logits = torch.tensor([[[1/2, 1/4, 1/4], [0.9, 0.05, 0.05]]]).log()
    >>> labels = torch.tensor([[0, -1]])
    >>> loss = label_smoothed_loss(logits, labels, pad_id=-1, smoothing=0.3)
    >>> round((loss / torch.tensor(2.0).log()).item(), 4)
    1.2

## Shapes

    tgt                        (B, L)        ids, with a start and an end
    decoder's input, labels    (B, L - 1)    ids
    logits                     (B, L, V)
    loss                       ()            one number

## What else counts

The hidden checks look at all that is said here, and at this:

- The loss is a tensor of no axes, from which gradients flow back to the logits as through torch's
  own. Padding gets none.
- Logits may be a transposed view, on which `view` does not work and `reshape` does.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 5.3 has the schedule, section 5.4 label smoothing.
- "Understanding the difficulty of training deep feedforward neural networks" by Glorot and Bengio
  (2010), equation (16): Xavier's distribution. "Rethinking the Inception Architecture for Computer
  Vision" by Szegedy and others (2015), section 7: label smoothing.
- PyTorch: `nn.init.xavier_uniform_`, `torch.optim.lr_scheduler.LambdaLR`, and the arguments
  `label_smoothing` and `ignore_index` of `F.cross_entropy`.

## What may not be used

`F.cross_entropy` and `nn.CrossEntropyLoss` with `label_smoothing=...`: that is what you write.
Without that argument they are fine, and so are `F.log_softmax`, `F.nll_loss`, `F.kl_div` and all of
`nn.init`.

## Questions to ask your code

- Which parameters have two axes and are no `nn.Linear`? Does your loop meet the embedding?
- Do inputs and labels of one place stand for the same word, or for neighbours?
- What is 0 to the power of -1/2?
- Among how many words do you share ε: V, V - 1 or V - 2? What does PyTorch do?
- By what do you divide: by all places, or by those that are no padding?
- Which number does `gather` look for where the label is -100?
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


def initialise(model: nn.Module) -> None:
    """Draws the matrices of a model anew, from Xavier's uniform distribution.

    Every parameter of two or more axes is drawn: the weights of linear maps, but embeddings and
    parameters that stand alone too, and those that are frozen. Xavier's numbers lie evenly between
    -b and b, with b = √(6 / (fan_in + fan_out)). For a weight (out, in), that is √(6 / (in + out));
    for one of more axes, see `nn.init.xavier_uniform_`.

    All else stays as it is: parameters of one axis or none (biases, norms), buffers, and whether a
    parameter takes gradients. The parameters are changed in place, not replaced by others, so that
    what is shared stays shared and an optimiser that holds them already still does. Two models
    get different numbers: set no seed here.

    To start: `model.parameters()` gives every parameter once, and `dim()` counts axes.

    Args:
        model: Any module.
    """
    ### BEGIN SOLUTION
    for parameter in model.parameters():
        if parameter.dim() >= 2:
            nn.init.xavier_uniform_(parameter)
    ### END SOLUTION


def teacher_forcing(
    tgt: Int[Tensor, "batch length"],
) -> tuple[Int[Tensor, "batch length-1"], Int[Tensor, "batch length-1"]]:
    """What the decoder reads, and what it should say at each place: the next word.

    To start: two slices.

    Args:
        tgt: Target ids `(B, L)`, from the start to the end and any padding. Not to be edited.

    Returns:
        The decoder's input and the labels, each `(B, L - 1)`.
    """
    ### BEGIN SOLUTION
    return tgt[:, :-1], tgt[:, 1:]
    ### END SOLUTION


def noam_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """The paper's learning rate at a step: up in a straight line, then down with the root.

    To start: the formula, and what it says of step 0.

    Args:
        step: The number of the step. The first is 1; step 0, before it, has the rate 0.
        d_model: Features of a token.
        warmup: At which step the rate is highest.

    Returns:
        The rate, a Python float.
    """
    ### BEGIN SOLUTION
    if step == 0:
        return 0.0
    rate: float = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    return rate
    ### END SOLUTION


def label_smoothed_loss(
    logits: Float[Tensor, "batch length vocab"],
    labels: Int[Tensor, "batch length"],
    pad_id: int = 0,
    smoothing: float = 0.1,
) -> Float[Tensor, ""]:
    """How wrong the logits are, with the labels smoothed: one number, to be made smaller.

    It equals `F.cross_entropy` with `label_smoothing=smoothing` and `ignore_index=pad_id`, and so
    do its gradients. It is finite, right, and has a gradient for logits of a thousand too, where
    `softmax` gives zeros whose logarithm is infinite.

    To start: `F.log_softmax`, then `gather`, which picks a number from each row by its index.

    Args:
        logits: Unnormalised scores of all words, `(B, L, V)`. Not to be edited, as the labels.
        labels: The right words, `(B, L)`.
        pad_id: A place with this label has no say. It may be a word's id, or a negative number
            such as -100. At least one label is another.
        smoothing: ε, from 0 (none) to 1. The part of the whole that is shared out among all V
            words evenly.

    Returns:
        The mean over the places whose label is not padding.
    """
    ### BEGIN SOLUTION
    log_p = F.log_softmax(logits, dim=-1)
    is_word = labels != pad_id
    # Any index will do where there is padding, but a negative one is none.
    index = torch.where(is_word, labels, 0)
    of_label = log_p.gather(-1, index.unsqueeze(-1)).squeeze(-1)
    of_all = log_p.mean(dim=-1)
    loss = (1 - smoothing) * -of_label + smoothing * -of_all
    return loss[is_word].mean()
    ### END SOLUTION
