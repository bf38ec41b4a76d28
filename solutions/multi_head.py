"""Multi-head attention: several soft lookups side by side.

A single attention gives each token one average. But a token may need several things at once: its
verb, the noun it refers to, the word before it.

So the features are split into `n_heads` equal parts, and each part, called a **head**, computes its
own attention with its own weights. Linear maps before the attention, the **projections**, let the
model learn what each head compares; one after it combines the heads' results.

## Formula

    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O
    head_i = Attention(Q W_Q,i , K W_K,i , V W_V,i)

The paper writes a small matrix for every head. Applying one large map for all heads and splitting
its result gives the same and is faster: head `h` takes the features from `h * d_head` up to, but
not including, `(h + 1) * d_head`, where `d_head = d_model / n_heads`. The scores of a head are
divided by `√d_head`.

## Shapes

    query                      (B, Lq, d_model)
    after q_proj               (B, Lq, d_model)
    after split_heads          (B, n_heads, Lq, d_head)
    after attention            (B, n_heads, Lq, d_head)
    after merge_heads          (B, Lq, d_model)
    after out_proj             (B, Lq, d_model)

Key and value take the same path, with `Lk` instead of `Lq`. Attention works on the last two axes,
so the heads have to be in front of the length, next to the batch.

## With a pencil

Two tokens of four features, split into two heads. The first head gets the first two features *of
both tokens*, the second head the others.

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

Now the whole layer, with two heads of one feature each, and maps that change nothing. In the first
head the two tokens are 1 and 0. Token 0 has the scores 1 * 1 and 1 * 0, so its weights are
e / (e + 1) = 0.7311 and 0.2689, and its output is 0.7311. Token 1 has the scores 0 and 0, so its
weights are one half each, and its output is 0.5. The second head sees 0 and 1; work it out
yourself.

    >>> mha = MultiHeadAttention(d_model=2, n_heads=2)
    >>> for linear in (mha.q_proj, mha.k_proj, mha.v_proj, mha.out_proj):
    ...     _ = nn.init.eye_(linear.weight), nn.init.zeros_(linear.bias)
    >>> x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> mha(x, x, x).detach()
    tensor([[[0.7311, 0.5000],
             [0.5000, 0.7311]]])

## What the exercise asks

- Two functions, `split_heads` and `merge_heads`, and the module `MultiHeadAttention`. You may use
  your own `attention` or write attention anew.
- Four `nn.Linear(d_model, d_model)`, called `q_proj`, `k_proj`, `v_proj` and `out_proj`. With
  `bias=False` none of them has a bias.
- A `d_model` that is not divisible by `n_heads` raises `ValueError`.
- The mask may have any shape that broadcasts: `(batch, 1, 1, Lk)`, `(Lq, Lk)`, `(batch, n_heads,
  Lq, Lk)`. A query that may attend to nothing gets finite numbers, not NaN, and doesn't affect
  other rows. Scores as large as a thousand give no NaN, and the mask holds for them.
- Dropout acts on the attention weights, in training mode only, and on nothing else.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 3.2.2.
- PyTorch: `torch.nn.MultiheadAttention(batch_first=True)` gives the same output with the same
  weights. It stores our `q_proj`, `k_proj` and `v_proj` in one matrix, one below the other. Beware:
  True in its boolean masks means "must not be attended to", the opposite of ours.
- A picture of it: exercises/pictures/multi_head.svg.

## Questions to ask your code

- `(B, L, d_model)` and `(B, n_heads, L, d_head)` hold equally many numbers. Is a reshape from the
  one to the other what you want? Which numbers would the first head get?
- Is your scale the square root of the features of a head, or of the whole model?
- In cross-attention, query and key come from sentences of different lengths. Whose length does each
  of your shapes use?
- Does the mask reach the scores? Does each of query, key and value pass through its own map?
- What should happen with 10 features and 3 heads?
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from solutions.attention import attention


def split_heads(
    x: Float[Tensor, "batch length d_model"], n_heads: int
) -> Float[Tensor, "batch heads length d_head"]:
    """Split the features into heads and move the heads in front of the length.

    To start: two steps, one that turns the last axis into two (`reshape`), and one that swaps two
    axes (`transpose`).

    Args:
        x: `(B, L, d_model)`.
        n_heads: The number of heads; it divides `d_model`.

    Returns:
        `(B, n_heads, L, d_model / n_heads)`.
    """
    ### BEGIN SOLUTION
    batch, length, d_model = x.shape
    return x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)
    ### END SOLUTION


def merge_heads(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch length d_model"]:
    """Put the heads back together: the inverse of `split_heads`.

    To start: undo the two steps of `split_heads`, the last one first. `flatten` can help.

    Args:
        x: `(B, n_heads, L, d_head)`.

    Returns:
        `(B, L, n_heads * d_head)`.
    """
    ### BEGIN SOLUTION
    # Why this way: a transposed tensor is not contiguous, so `view` would fail; flatten copies.
    return x.transpose(1, 2).flatten(2)
    ### END SOLUTION


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own share of the features.

    Its parameters are four `nn.Linear(d_model, d_model)`: `q_proj`, `k_proj`, `v_proj` for query,
    key and value, and `out_proj` for the result.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """Create the four linear maps.

        To start: check the sizes first, then create the maps. An `nn.Dropout` will be useful too.

        Args:
            d_model: Features of a token, before and after.
            n_heads: How many heads the features are split into.
            dropout: Probability of dropping an attention weight in training mode.
            bias: Whether the four linear maps have a bias.

        Raises:
            ValueError: `d_model` is not divisible by `n_heads`.
        """
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be cut into {n_heads} equal heads")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Project, split into heads, attend, merge and project again.

        To start: follow the list under "Shapes" above, line by line.

        Args:
            query: `(B, Lq, d_model)`.
            key: `(B, Lk, d_model)`.
            value: `(B, Lk, d_model)`.
            mask: Booleans of any shape that broadcasts to `(B, n_heads, Lq, Lk)`, such as
                `(B, 1, 1, Lk)` or `(Lq, Lk)`; True = may be attended to. It has to hold for scores
                as large as a thousand.

        Returns:
            `(B, Lq, d_model)`. A query that may attend to nothing gets finite numbers.
        """
        ### BEGIN SOLUTION
        q = split_heads(self.q_proj(query), self.n_heads)
        k = split_heads(self.k_proj(key), self.n_heads)
        v = split_heads(self.v_proj(value), self.n_heads)
        heads, _ = attention(q, k, v, mask, self.dropout)
        return self.out_proj(merge_heads(heads))
        ### END SOLUTION
