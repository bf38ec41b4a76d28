# Put your code where NotImplementedError is. Then: pytest exercises/test_multi_head.py
# Not to be used here: F.scaled_dot_product_attention, F.multi_head_attention_forward,
# nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer,
# nn.TransformerEncoder, nn.TransformerDecoder, nn.Transformer. Here you split, attend and merge
# yourself; your own attention and nn.Linear are fine.
"""Multi-head attention: several soft look-ups side by side.

One attention gives each token one average. But a word may need several things at once: its verb,
the noun it stands for, the word before it. So the features are cut into `n_heads` equal pieces, and
each piece, called a head, does its own attention with its own weights. Linear maps in front let the
model learn what each head compares, and one behind mixes what the heads have found.

## Formula

    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O
    head_i = Attention(Q W_Q,i , K W_K,i , V W_V,i)

The paper writes a small matrix for every head. It is the same, and faster, to apply one large map
for all heads at once and to cut its result: head `h` takes the features `h * d_head` up to, but not
including, `(h + 1) * d_head`, where `d_head = d_model / n_heads`.

## Shapes

    query                      (B, Lq, d_model)
    after q_proj               (B, Lq, d_model)
    after split_heads          (B, n_heads, Lq, d_head)
    after attention            (B, n_heads, Lq, d_head)
    after merge_heads          (B, Lq, d_model)
    after out_proj             (B, Lq, d_model)

Key and value go the same way, with `Lk` in place of `Lq`. The axes for which attention works are
the last two, so the heads have to stand in front of the length, next to the batch.

## With a pencil

Two tokens of four features, cut for two heads. The first head gets the first two features *of both
tokens*, the second head the others.

    >>> import torch
    >>> x = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]])
    >>> heads = split_heads(x, n_heads=2)
    >>> heads[0, 0]
    tensor([[1., 2.],
            [5., 6.]])
    >>> heads[0, 1]
    tensor([[3., 4.],
            [7., 8.]])
    >>> merge_heads(heads)
    tensor([[[1., 2., 3., 4.],
             [5., 6., 7., 8.]]])

Now the whole thing, with two heads of one feature each, and maps that change nothing. In the first
head the two tokens are 1 and 0. Token 0 has the scores 1 * 1 and 1 * 0, so its weights are
e / (e + 1) = 0.7311 and 0.2689, and its output is 0.7311. Token 1 has the scores 0 and 0, weights
one half each, output 0.5. The second head sees 0 and 1; work it out yourself.

    >>> mha = MultiHeadAttention(d_model=2, n_heads=2)
    >>> for linear in (mha.q_proj, mha.k_proj, mha.v_proj, mha.out_proj):
    ...     _ = nn.init.eye_(linear.weight), nn.init.zeros_(linear.bias)
    >>> x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> mha(x, x, x).detach()
    tensor([[[0.7311, 0.5000],
             [0.5000, 0.7311]]])

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others.
- The mask may have any shape that broadcasts: `(batch, 1, 1, Lk)`, `(Lq, Lk)`, `(batch, n_heads,
  Lq, Lk)`. A query that may look at nothing gets finite numbers, not NaN, and changes no other row.
  Scores of up to a thousand in size make no NaN. That holds however you write the attention.
- Dropout acts on the attention weights, while training only, and on nothing else.
- Gradients flow back to query, key, value and all parameters.
- After `.to(dtype)` the module takes and returns that dtype: float32, float64 or bfloat16.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.2.2.
- PyTorch: `torch.nn.MultiheadAttention(batch_first=True)` gives the same with the same weights. It
  keeps our `q_proj`, `k_proj` and `v_proj` in one matrix, one below the other. Beware: True in its
  boolean masks means "must not be looked at", the opposite of ours.

## Questions to ask your code

- `(B, L, d_model)` and `(B, n_heads, L, d_head)` hold equally many numbers. Is a reshape from the
  one to the other what you want? Which numbers would the first head get?
- Is your scale the square root of the features of a head, or of the whole model?
- In cross-attention, query and key come from sentences of different lengths. Whose length does
  each of your shapes use?
- Does the mask arrive? Do query, key and value each pass through their own map?
- What should happen with 10 features and 3 heads?
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from exercises.attention import attention


def split_heads(
    x: Float[Tensor, "batch length d_model"], n_heads: int
) -> Float[Tensor, "batch heads length d_head"]:
    """Cuts the features into heads and moves the heads in front of the length.

    To start: two steps, one that gives the last axis two axes (`reshape`), and one that exchanges
    axes (`transpose`).

    Args:
        x: `(B, L, d_model)`.
        n_heads: Divides `d_model`.

    Returns:
        `(B, n_heads, L, d_model / n_heads)`.
    """
    raise NotImplementedError("multi_head: split_heads is not written yet")


def merge_heads(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch length d_model"]:
    """Puts the heads back together: the inverse of `split_heads`.

    To start: undo the two steps of `split_heads`, the last one first. `flatten` can help.

    Args:
        x: `(B, n_heads, L, d_head)`.

    Returns:
        `(B, L, n_heads * d_head)`.
    """
    raise NotImplementedError("multi_head: merge_heads is not written yet")


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own share of the features.

    Its parameters are four `nn.Linear(d_model, d_model)`: `q_proj`, `k_proj`, `v_proj` for query,
    key and value, and `out_proj` for the result. The names matter: weights are loaded by name.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """Makes the four linear maps.

        To start: check the sizes first, then make the maps. An `nn.Dropout` will be useful too.

        Args:
            d_model: Features of a token, before and after.
            n_heads: Into how many heads they are cut.
            dropout: Probability of dropping an attention weight while training.
            bias: Whether the four linear maps have a bias.

        Raises:
            ValueError: `d_model` is not divisible by `n_heads`.
        """
        super().__init__()
        raise NotImplementedError("multi_head: MultiHeadAttention.__init__ is not written yet")

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Projects, splits into heads, attends, merges and projects again.

        To start: follow the list under "Shapes" above, line by line.

        Args:
            query: `(B, Lq, d_model)`.
            key: `(B, Lk, d_model)`.
            value: `(B, Lk, d_model)`.
            mask: Booleans of any shape that broadcasts to `(B, n_heads, Lq, Lk)`, such as
                `(B, 1, 1, Lk)` or `(Lq, Lk)`; True = may be looked at. It has to hold for scores
                of up to a thousand in size.

        Returns:
            `(B, Lq, d_model)`. A query that may look at nothing gets finite numbers.
        """
        raise NotImplementedError("multi_head: MultiHeadAttention.forward is not written yet")


# Made by grader stubs, 39dea02dc0c6
