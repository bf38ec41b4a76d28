# Put your code where NotImplementedError is. Then: pytest exercises/test_language_model.py
"""Language model: every token predicts the next one, in the shape of Llama.

The Transformer of 2017 turns one sentence into another. A **language model** needs only half of it:
a single stack that reads a text and gives, at every position, a score for each token that may come
next. There is no encoder and no cross-attention, and the causal mask keeps each position from
seeing what it should predict. Because every text is its own training data, such a model can be
trained on anything that was ever written; GPT, Llama and most models you have talked to are of
this kind.

Llama's blocks differ from those of 2017 in four places, and you have written all of them: the norm
comes before each sublayer and is an RMSNorm, positions are rotations inside attention, key/value
heads are shared, and the feed-forward network has a gate. No map has a bias, and there is no
dropout.

To write a text, the model is called again and again. With caches, only the new tokens go in. Then
two things must continue where the last call stopped: the **positions**, which are counted from the
first token of the text and not of the call, and the **mask**, which must have columns for the past.

## Formula

    Block(x):      x = x + attn(attn_norm(x))
                   x = x + ffn(ffn_norm(x))

    logits(ids):   x = embedding(ids)
                   x = block(x, angles, mask, cache)      for each block, each with its own cache
                   logits = lm_head(norm(x))

    positions:     past, past + 1, …, past + L - 1        past = caches[0].length, 0 without caches

Rows of the embedding are not multiplied by √d_model, and nothing is added to them: positions come
in by the angles.

## Shapes

    ids                        (B, L)
    x                          (B, L, d_model)
    angles                     (L, d_head // 2)        d_head = d_model // n_heads
    mask                       (1, 1, L, past + L)
    logits                     (B, L, vocab_size)      position t scores the token at t + 1

## With a pencil

Count what a very small model can learn: 10 tokens, `d_model = 4`, 2 heads, 1 key/value head,
`d_ff = 6`, one block.

    embedding                  10 * 4                      =  40
    q_proj, out_proj           2 * 4 * 4                   =  32
    k_proj, v_proj             2 * 4 * 2                   =  16
    gate, up, down             3 * 4 * 6                   =  72
    norms of the block         2 * 4                       =   8
    last norm                  4                           =   4
    lm_head                    4 * 10                      =  40
    together                                               = 212

    >>> import torch
    >>> model = LanguageModel(10, d_model=4, n_heads=2, n_kv_heads=1, num_layers=1, d_ff=6).eval()
    >>> sum(parameter.numel() for parameter in model.parameters())
    212

With `tie_weights`, one matrix serves as embedding and as `lm_head`, and 40 fewer numbers are
learned:

    >>> tied = LanguageModel(10, 4, 2, 1, 1, 6, tie_weights=True)
    >>> sum(parameter.numel() for parameter in tied.parameters())
    172

All at once, or three tokens and then two through a cache: the logits are the same.

    >>> from exercises.kv_cache import KVCache
    >>> ids = torch.tensor([[3, 1, 4, 1, 5]])
    >>> caches = [KVCache() for _ in model.blocks]
    >>> pieces = [model(ids[:, :3], caches), model(ids[:, 3:], caches)]
    >>> torch.allclose(torch.cat(pieces, dim=1), model(ids), atol=1e-5)
    True

## What the exercise asks

- `Block` and `LanguageModel` have the parts and names given below; weights are loaded by name. The
  blocks share no parameter. With `tie_weights=True`, `lm_head.weight` *is* `embedding.weight`: one
  parameter under two names, so that whatever changes one changes the other, in training too. By
  default they are two.
- A `Block` uses the angles, the mask and the cache that it is given, each of which may be None, and
  makes none of its own.
- The model makes its angles and its mask itself, from the number of tokens and from
  `caches[0].length`. `base`, `eps` and `max_len` come from the arguments.
- `caches` is a list of one `KVCache` for each block, or None. A text passed in pieces of any length
  gives the same logits as the whole text at once.
- More than `max_len` tokens, those in the caches included, are a `ValueError`; exactly `max_len`
  are fine.
- The logits are any numbers, not probabilities. There is no padding and no dropout, so training
  mode makes no difference.
- Gradients flow to every parameter, as in torch. A token that does not occur has a gradient of zero
  in the embedding.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`F.scaled_dot_product_attention`, `F.multi_head_attention_forward`, `nn.MultiheadAttention`,
`nn.TransformerEncoderLayer`, `nn.TransformerDecoderLayer`, `nn.TransformerEncoder`,
`nn.TransformerDecoder`, `nn.Transformer`, `nn.LayerNorm`, `F.layer_norm`, `nn.RMSNorm`,
`F.rms_norm`, `nn.BatchNorm`, `F.batch_norm`, `nn.GroupNorm`, `F.group_norm`, `nn.InstanceNorm`,
`F.instance_norm`, `F.silu`, `nn.SiLU`, `F.glu` and `nn.GLU`. Build the model from your own
`GroupedQueryAttention`, `RMSNorm` and `SwiGLU`; `nn.Embedding` and `nn.Linear` are fine.

## Where to read

- Paper, "LLaMA: Open and Efficient Foundation Language Models" by Touvron and others (2023):
  section 2.2, what it changes in the Transformer.
- PyTorch has no such model; `nn.Embedding`, `nn.ModuleList` and `nn.Linear` hold its parts. The
  library transformers has it as `LlamaForCausalLM`. Its rotation pairs feature i with feature
  i + d_head / 2, where ours pairs 2i with 2i + 1; so its weights give the same numbers once the
  rows of `q_proj` and `k_proj` are put in the other order, head by head.
- "Using the Output Embedding to Improve Language Models" by Press and Wolf (2017): why the two
  matrices may be one.

## Questions to ask your code

- Change the last token. Which logits may change, and which do?
- Five tokens are cached and one more arrives. What is its position, and how many columns does its
  mask have?
- What is the length of the first cache while the second block runs?
- Do the blocks share a cache, or does each have its own?
- Which norm acts on the last block's output?
- With `tie_weights`, are the matrices equal, or are they one?
"""

from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from exercises.grouped_query import GroupedQueryAttention
from exercises.kv_cache import KVCache, causal_mask_with_past
from exercises.rms_norm import RMSNorm
from exercises.rope import rotary_angles
from exercises.swiglu import SwiGLU


class Block(nn.Module):
    """Attention, then the gated feed-forward network, each with a norm and a residual connection.

    Its parts are `attn_norm` and `ffn_norm` (each an `RMSNorm`), `attn` (a `GroupedQueryAttention`)
    and `ffn` (a `SwiGLU`).
    """

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int, d_ff: int, eps: float = 1e-6
    ) -> None:
        """Create the parts.

        To start: four of them. Which of them need `eps`?

        Args:
            d_model: Features of a token.
            n_heads: Query heads of the attention.
            n_kv_heads: Key/value heads of the attention.
            d_ff: Features inside the feed-forward network.
            eps: The eps of both norms.

        Raises:
            ValueError: the sizes don't divide evenly, as in `GroupedQueryAttention`.
        """
        super().__init__()
        raise NotImplementedError("language_model: Block.__init__ is not written yet")

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        angles: Float[Tensor, "length d_head//2"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Send the tokens through both sublayers.

        To start: the two lines of the formula.

        Args:
            x: `(B, L, d_model)`.
            angles: The angles of these tokens, `(L, d_head // 2)`.
            mask: Booleans that broadcast to `(B, n_heads, L, keys)`, True = may be attended to.
            cache: Holds this block's keys and values of earlier tokens.

        Returns:
            `(B, L, d_model)`.
        """
        raise NotImplementedError("language_model: Block.forward is not written yet")


class LanguageModel(nn.Module):
    """The whole model, from ids to the logits of each next token.

    Its parts are `embedding` (an `nn.Embedding`), `blocks` (a list of `Block`s), `norm` (an
    `RMSNorm`) and `lm_head` (an `nn.Linear` without bias).
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        num_layers: int,
        d_ff: int,
        max_len: int = 2048,
        base: float = 10000.0,
        eps: float = 1e-6,
        tie_weights: bool = False,
    ) -> None:
        """Create the parts.

        To start: create them in the order in which data passes them. What else will `forward` need?

        Args:
            vocab_size: How many tokens there are.
            d_model: Features of a token.
            n_heads: Query heads of every attention.
            n_kv_heads: Key/value heads of every attention.
            num_layers: How many blocks there are.
            d_ff: Features inside the feed-forward networks.
            max_len: The longest text there may be, cached tokens included.
            base: Base of the rotary angles.
            eps: The eps of every norm.
            tie_weights: Whether `lm_head` has the embedding's weight.

        Raises:
            ValueError: the sizes don't divide evenly.
        """
        super().__init__()
        raise NotImplementedError("language_model: LanguageModel.__init__ is not written yet")

    def forward(
        self, ids: Int[Tensor, "batch length"], caches: Sequence[KVCache] | None = None
    ) -> Float[Tensor, "batch length vocab_size"]:
        """Score every token of the vocabulary as the next one, at every position.

        To start: how many tokens are cached? That number is needed three times.

        Args:
            ids: The tokens, or with caches the new ones, `(B, L)`.
            caches: One for each block; None without caches.

        Returns:
            Logits `(B, L, vocab_size)` of the tokens given.

        Raises:
            ValueError: there are more than `max_len` tokens, the cached ones included.
        """
        raise NotImplementedError("language_model: LanguageModel.forward is not written yet")


# Made by grader stubs, a3ff1a19500f
