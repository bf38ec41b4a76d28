"""Training: how to start, what to predict, how fast to learn, and how to measure the error.

The model is complete; now it has to learn. Four small pieces decide whether its loss falls: the
numbers its weights start with, the tokens it learns to predict, the size of the optimiser's steps,
and the loss itself. An optimiser such as `torch.optim.Adam` does the rest.

**Initialisation.** The encoder receives a token's row times √d_model, plus its position. If the
table is drawn from N(0, 1), each row is about √d_model long, so d_model after the factor. A
position's row is always √(d_model / 2) long, because sin² + cos² = 1 in each pair of columns. At
512 features, the token is 32 times as long as the position, the model can hardly tell positions
apart, and it learns slowly. **Xavier's** distribution draws smaller numbers the more of them a
matrix has, so that signals keep their size forwards and backwards.

**Teacher forcing.** The decoder reads the target up to a token and predicts the *next* one. During
training the target is known, so all positions are trained at once: the decoder reads the true
tokens, not its own predictions.

**Warm-up.** At the start the weights are random, so their gradients point in no useful direction
yet, and large steps do harm. So the learning rate rises linearly for `warmup` steps, then falls
with the square root of the step.

**Label smoothing.** The usual loss, -log p(label), is lowest at p(label) = 1, which pushes the
logits apart without end. Smoothing the labels asks for a little less certainty.

## Formula

Xavier's uniform distribution, for a weight of shape (out, in), where fan_in = in and fan_out = out:

    uniform between -b and b, with b = √(6 / (fan_in + fan_out))

Teacher forcing: input and labels are the same tokens, one position apart.

    target             <start>   the     cat     sat     <end>
    decoder's input    <start>   the     cat     sat
    labels             the       cat     sat     <end>

The learning rate; at step = warmup both numbers in the minimum are the same:

    rate = d_model^(-1/2) * min(step^(-1/2), step * warmup^(-3/2))

Label smoothing shares a part ε evenly among *all* V tokens, the label included; the label gets the
rest as well. With p = softmax(logits):

    wanted(token) = ε / V                  for every token
    wanted(label) = ε / V + (1 - ε)

    loss = -Σ wanted(token) * log p(token)
         = (1 - ε) * -log p(label) + ε * (the mean over all tokens of -log p(token))

Positions whose label is padding are left out, and the loss is the mean over the others.

## Shapes

    tgt                        (B, L)        ids, with a start and an end
    decoder's input, labels    (B, L - 1)    ids
    logits                     (B, L, V)
    loss                       ()            one number

## With a pencil

**Initialisation.** Compare the length of a token's row, times √d_model, with that of a position:
first for N(0, 1), then for Xavier's distribution with 10 000 tokens.

    >>> _ = torch.manual_seed(0)
    >>> tokens = torch.randn(1000, 512) * 512**0.5
    >>> round(tokens.norm(dim=-1).mean().item() / (512 / 2) ** 0.5)
    32
    >>> tokens = nn.init.xavier_uniform_(torch.empty(10000, 512)) * 512**0.5
    >>> round(tokens.norm(dim=-1).mean().item() / (512 / 2) ** 0.5, 2)
    0.44

**Teacher forcing.** If the labels were not shifted, the input would contain the answer: the model
would learn to copy the token it reads, the loss would fall to zero, and it could not write a single
sentence.

    >>> decoder_input, labels = teacher_forcing(torch.tensor([[1, 5, 6, 7, 2]]))
    >>> decoder_input
    tensor([[1, 5, 6, 7]])
    >>> labels
    tensor([[5, 6, 7, 2]])

**Warm-up.** For d_model = 64 and warmup = 4, the first factor is 1/8, and 4^(-3/2) is 1/8 too. The
rate is 1/8 * 1/8 at step 1, 1/8 * 1/2 at step 4, where it is highest, and 1/8 * 1/4 at step 16.

    >>> [noam_rate(step, d_model=64, warmup=4) for step in (0, 1, 4, 16)]
    [0.0, 0.015625, 0.0625, 0.03125]

**Label smoothing.** Three tokens have the probabilities 1/2, 1/4 and 1/4, so -log p is 1, 2 and 2
times log 2, with mean 5/3 log 2. If the first token is the label and ε = 0.3, the loss is 0.7 * 1 +
0.3 * 5/3 = 1.2 times log 2. The second position is padding and changes nothing.

    >>> logits = torch.tensor([[[1/2, 1/4, 1/4], [0.9, 0.05, 0.05]]]).log()
    >>> labels = torch.tensor([[0, -1]])
    >>> loss = label_smoothed_loss(logits, labels, pad_id=-1, smoothing=0.3)
    >>> round((loss / torch.tensor(2.0).log()).item(), 4)
    1.2

## What the exercise asks

- `initialise` draws every parameter of two or more axes, whatever it belongs to, and leaves the
  rest unchanged.
- `noam_rate` returns a Python float, and 0 at step 0.
- `label_smoothed_loss` returns a tensor without axes, which is finite for logits of a thousand. Its
  gradients are those of torch's own loss; padding contributes none.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 5.3 has the schedule, section 5.4 label smoothing.
- "Understanding the difficulty of training deep feedforward neural networks" by Glorot and Bengio
  (2010), equation (16): Xavier's distribution. "Rethinking the Inception Architecture for Computer
  Vision" by Szegedy and others (2015), section 7: label smoothing.
- PyTorch: `nn.init.xavier_uniform_`, `torch.optim.lr_scheduler.LambdaLR`, and the arguments
  `label_smoothing` and `ignore_index` of `F.cross_entropy`.
- A picture of it: exercises/pictures/training.svg.

## Questions to ask your code

- Which parameters have two axes but don't belong to an `nn.Linear`? Does your loop reach the
  embedding?
- Do input and label of one position stand for the same token, or for neighbours?
- What is 0 to the power of -1/2?
- Among how many tokens do you share ε: V, V - 1 or V - 2? What does PyTorch do?
- What do you divide by: the number of all positions, or of those that are not padding?
- Which index does `gather` receive where the label is -100?
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


def initialise(model: nn.Module) -> None:
    """Redraw the matrices of a model from Xavier's uniform distribution.

    Every parameter of two or more axes is drawn: the weights of linear maps, embeddings, parameters
    that belong to no layer, and frozen ones. For parameters of more than two axes, see
    `nn.init.xavier_uniform_` for what the fans are.

    Everything else stays as it is: parameters of one axis or none (biases, norms), buffers, and
    every `requires_grad`. Parameters are changed in place, not replaced, so that shared weights
    stay shared and an optimiser made before still holds the model's parameters. Two models receive
    different numbers: don't set a seed.

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
    """Return what the decoder reads, and what it should predict at each position: the next token.

    To start: two slices.

    Args:
        tgt: Target ids `(B, L)`: start, tokens, end, and any padding.

    Returns:
        The decoder's input and the labels, each `(B, L - 1)`.
    """
    ### BEGIN SOLUTION
    return tgt[:, :-1], tgt[:, 1:]
    ### END SOLUTION


def noam_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """Return the paper's learning rate at a step.

    To start: the formula, and what it says about step 0.

    Args:
        step: The number of the step. The first is 1; step 0, before it, has rate 0.
        d_model: Number of features of a token.
        warmup: The step at which the rate is highest.

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
    """Return the cross-entropy of the logits, with smoothed labels.

    Value and gradients equal those of `F.cross_entropy` with `label_smoothing=smoothing` and
    `ignore_index=pad_id`. Both are finite and right even for logits of a thousand, where `softmax`
    gives zeros, whose logarithm is infinite.

    To start: `F.log_softmax`, then `gather`, which picks a number from each row by its index.

    Args:
        logits: Unnormalised scores of all tokens, `(B, L, V)`.
        labels: The ids of the right tokens, `(B, L)`.
        pad_id: Positions with this label are ignored. It may be the id of a token, or a negative
            number such as -100. At least one label is not `pad_id`.
        smoothing: ε, from 0 (no smoothing) to 1: the part that is shared evenly among all V tokens.

    Returns:
        The mean over the positions whose label is not `pad_id`.
    """
    ### BEGIN SOLUTION
    # Why this way: the softmax of a token far behind is 0, and log 0 is infinite.
    log_p = F.log_softmax(logits, dim=-1)
    is_word = labels != pad_id
    # Any index will do where there is padding, but a negative one is none.
    index = torch.where(is_word, labels, 0)
    of_label = log_p.gather(-1, index.unsqueeze(-1)).squeeze(-1)
    of_all = log_p.mean(dim=-1)
    loss = (1 - smoothing) * -of_label + smoothing * -of_all
    return loss[is_word].mean()
    ### END SOLUTION
