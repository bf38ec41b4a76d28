# Put your code where NotImplementedError is. Then: pytest exercises/test_grouped_query.py
"""Grouped-query attention: several query heads share one key/value head.

While a language model writes, it reads the cached keys and values of all tokens again for each new
token, and that takes longer than the arithmetic. The fewer heads the cache holds, the faster the
model writes, and the longer a text fits into memory.

**Multi-query attention** keeps a single head of keys and values for all query heads, and loses some
quality. **Grouped-query attention** is in between: the query heads form `n_kv_heads` groups of
equal size, and each group shares one key/value head. Llama 2 has 64 query heads and 8 key/value
heads, so its cache is an eighth as large.

This layer is also where **rotary positions** belong: queries and keys are rotated by the angles of
their positions before they are compared. The keys are rotated before they are cached, so each key
is rotated once, by the angle of its own position. The values are not rotated: they are read, not
compared.

## Formula

    query head h reads key/value head  h // (n_heads // n_kv_heads)

    q = rotary(split(x W_q))   k = rotary(split(x W_k))   v = split(x W_v)
    keys, values = cache.append(k, v)
    output = merge(attention(q, keys of the group, values of the group, mask)) W_out

So with 4 query heads and 2 key/value heads, query heads 0 and 1 read key/value head 0, and 2 and 3
read key/value head 1. Head h takes the features `h * d_head` up to, but not including,
`(h + 1) * d_head`, as in `multi_head`.

## Shapes

    x, result                  (B, L, d_model)         d_head = d_model // n_heads
    queries                    (B, n_heads, L, d_head)
    keys, values               (B, n_kv_heads, L, d_head)
    in the cache               (B, n_kv_heads, cache.length, d_head)
    angles                     (L, d_head // 2)        of the positions of these L tokens
    mask                       broadcasts to (B, n_heads, L, L), with a cache to
                               (B, n_heads, L, cache.length), the new tokens counted

Parameters: `q_proj` and `out_proj` map `d_model` to `d_model`, `k_proj` and `v_proj` map `d_model`
to `n_kv_heads * d_head`.

## With a pencil

Two query heads share one key/value head; each head has one feature. All maps are set to copy:
`q_proj` and `out_proj` change nothing, `k_proj` and `v_proj` take the first feature. The two tokens
are (1, 0) and (0, 1), so their keys are 1 and 0, and their values too. In query head 0, token 0
has the scores 1 and 0, weights 0.7311 and 0.2689, output 0.7311. Token 1 has the scores 0 and 0 and
the output 0.5. Query head 1 holds the queries 0 and 1 and reads the same keys.

    >>> import torch
    >>> layer = GroupedQueryAttention(d_model=2, n_heads=2, n_kv_heads=1)
    >>> for linear in (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj):
    ...     _ = nn.init.eye_(linear.weight)
    >>> x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> layer(x).detach()
    tensor([[[0.7311, 0.5000],
             [0.5000, 0.7311]]])

How many numbers does the cache keep for each token? Two tensors of `n_kv_heads * d_head`. With 64
heads of 128 features that is 2 * 64 * 128 = 16384 for multi-head attention, and with 8 key/value
heads 2 * 8 * 128 = 2048, in every layer.

## What the exercise asks

- `bias=False` is the default: no map has a bias. With `bias=True` all four have one.
- `angles` may be None: then nothing is rotated. The angles given are used as they are; they belong
  to the tokens in `x`, from whatever position they start.
- With a `cache`, the new keys and values are appended, and the queries attend to everything the
  cache returns. The cache holds `n_kv_heads` heads, not repeated, and rotated keys. It is a
  `KVCache`; use its `append`, and don't write into what it returns. Without a cache, nothing is
  kept between two calls.
- `mask` is the only mask: the layer adds none. It may have any shape that broadcasts, for example
  `(L, L)`, `(B, 1, 1, L)` or `(B, n_heads, L, L)`. A query that may attend to nothing gets finite
  numbers, not NaN, and affects no other row. Scores of up to a thousand in size give no NaN.
- `d_model` must be divisible by `n_heads`, and `n_heads` by `n_kv_heads`: otherwise `ValueError`.
  One group (`n_kv_heads = 1`) and as many groups as heads (`n_kv_heads = n_heads`) are both fine.
- There is no dropout. Gradients flow back to x and to every parameter.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`F.scaled_dot_product_attention`, `F.multi_head_attention_forward`, `nn.MultiheadAttention`,
`nn.TransformerEncoderLayer`, `nn.TransformerDecoderLayer`, `nn.TransformerEncoder`,
`nn.TransformerDecoder` and `nn.Transformer`. Share the heads and attend yourself; your own
`attention`, `apply_rotary` and `nn.Linear` are fine.

## Where to read

- Paper, "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints" by
  Ainslie and others (2023): section 2.2 and figure 2.
- PyTorch: `torch.nn.functional.scaled_dot_product_attention` with `enable_gqa=True` gives the same
  for projected queries, keys and values; its documentation shows which head reads which.

## Questions to ask your code

- `repeat` and `repeat_interleave` both make 4 heads of 2. In what order are the heads?
- What does your cache hold after one call: how many heads, and are the keys rotated?
- Five tokens are cached and one arrives. How many rows do the angles have, and how many keys are
  there? Which keys does your code rotate?
- Would you notice a mix-up of heads and tokens if there were as many of the one as of the other?
- What does the layer do without a mask: is it causal?
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from exercises.attention import attention
from exercises.kv_cache import KVCache
from exercises.rope import apply_rotary


class GroupedQueryAttention(nn.Module):
    """Attention in which groups of query heads share a key/value head.

    Its parameters are in `q_proj` and `out_proj` (`d_model` to `d_model`), `k_proj` and `v_proj`
    (`d_model` to `n_kv_heads * d_head`).
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        """Create the four linear maps.

        To start: check the sizes first. How many features does `k_proj` return?

        Args:
            d_model: Features of a token, before and after.
            n_heads: How many query heads there are.
            n_kv_heads: How many key/value heads there are.
            bias: Whether the four linear maps have a bias.

        Raises:
            ValueError: `d_model` is not divisible by `n_heads`, or `n_heads` by `n_kv_heads`.
        """
        super().__init__()
        raise NotImplementedError(
            "grouped_query: GroupedQueryAttention.__init__ is not written yet"
        )

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        angles: Float[Tensor, "length d_head//2"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Project, rotate, cache, attend in groups, and project again.

        To start: follow the formula above, line by line. Every map's result is cut into heads in
        the same way; only their number differs.

        Args:
            x: `(B, L, d_model)`.
            angles: `(L, d_head // 2)`, the angles of these tokens; None means no rotation.
            mask: Booleans of any shape that broadcasts to `(B, n_heads, L, keys)`, True = may be
                attended to.
            cache: Holds the keys and values of earlier tokens; those of these tokens are appended.

        Returns:
            `(B, L, d_model)`. A query that may attend to nothing gets finite numbers.
        """
        raise NotImplementedError("grouped_query: GroupedQueryAttention.forward is not written yet")


# Made by grader stubs, 449be154f30b
