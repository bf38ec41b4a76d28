"""By hand: every number inside one of PyTorch's own encoder layers.

You have built an encoder layer from pieces of your own. PyTorch has one ready-made,
`nn.TransformerEncoderLayer`, and it is no magic: it holds twelve tensors, and multiplies. Here you
open it and compute each step from those raw weights, without calling the layer or any of its parts.
Afterwards you can check any model that others have made.

## What the layer holds

| name                                 | shape                | what it is                    |
|--------------------------------------|----------------------|-------------------------------|
| `self_attn.in_proj_weight`           | (3 d_model, d_model) | query, key, value, in a stack |
| `self_attn.in_proj_bias`             | (3 d_model,)         | their biases                  |
| `self_attn.out_proj.weight`, `.bias` | (d_model, d_model)   | mixes the heads               |
| `linear1.weight`, `.bias`            | (d_ff, d_model)      | the way out to d_ff features  |
| `linear2.weight`, `.bias`            | (d_model, d_ff)      | the way back                  |
| `norm1`, `norm2`: `weight`, `bias`   | (d_model,)           | scale and shift               |

And some plain values: `self_attn.num_heads`, `self_attn.batch_first`, `norm_first`, `activation` (a
function), `norm1.eps`, `norm2.eps`.

## Formula

    (query, key, value) = x in_proj_weightᵀ + in_proj_bias, cut in three, then into heads
    scores              = query keyᵀ / √d_head
    weights             = softmax(scores), over the keys
    attention           = merged(weights value) out_proj.weightᵀ + out_proj.bias
    ffn(y)              = hidden linear2.weightᵀ + linear2.bias
                          with hidden = activation(y linear1.weightᵀ + linear1.bias)

    norm_first=False:   norm1        = norm₁(x + attention)
                        feed_forward = ffn(norm1)
                        output       = norm₂(norm1 + feed_forward)

    norm_first=True:    norm1        = norm₁(x)           and the attention is that of norm1
                        middle       = x + attention
                        feed_forward = ffn(norm₂(middle))
                        output       = middle + feed_forward

Evaluation mode is meant: nothing is dropped, and so nothing is divided by 1 - p either. Whoever
checks a layer that is in training mode finds numbers divided by 0.9, and others that are zero.

## Shapes

    x                                   (B, L, d_model), or (L, B, d_model) if not batch_first
    query, key, value                   (B, H, L, d_head)
    scores, weights                     (B, H, L, L)
    attention, norm1, feed_forward, output    as x

## With a pencil

Two tokens, two features, one head. The map in front makes query, key and value all x itself. The
first token is (2, 0), the second (0, 0). All products are 0 but that of the first token with
itself: 4, divided by √2. The maps at the end and in the feed-forward network are zero, so that only
the residual sums and norms are left: (2, 0) has the mean 1 and the deviation 1.

    >>> layer = nn.TransformerEncoderLayer(2, nhead=1, dim_feedforward=3, batch_first=True)
    >>> for parameter in layer.parameters():
    ...     _ = parameter.data.zero_()
    >>> layer.self_attn.in_proj_weight.data = torch.eye(2).repeat(3, 1)
    >>> layer.norm1.weight.data = layer.norm2.weight.data = torch.ones(2)
    >>> steps = encoder_layer_by_hand(layer, torch.tensor([[[2.0, 0.0], [0.0, 0.0]]]))
    >>> steps["scores"].detach()
    tensor([[[[2.8284, 0.0000],
              [0.0000, 0.0000]]]])
    >>> steps["weights"].detach()
    tensor([[[[0.9442, 0.0558],
              [0.5000, 0.5000]]]])
    >>> steps["output"][0, 0].detach()
    tensor([ 1.0000, -1.0000])

## What else counts

The hidden checks look at all that is said here, and at this:

- Steps are judged one by one, so a mistake in the attention costs nothing in the feed-forward part.
- The weights are read anew in every call.
- Scores may be as large as a thousand, whose `exp` is infinite, and an x may lie around 1000, where
  in float32 the mean of the squares less the square of the mean has lost all its digits.
- x may be in float32 or float64, and has any batch and any length.
- x and the layer stay as they were: no edits in place, no `layer.eval()`, no `layer.float()`. So
  do the settings that all code shares, such as torch's default dtype.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": sections 3.1 to 3.3.
- PyTorch: the documentation of `torch.nn.TransformerEncoderLayer`, and the source of its `forward`,
  `_sa_block` and `_ff_block`, which you can now read.

## What may not be used

Calling the layer, or a `forward` of any of its parts (`layer.linear1(x)`, `layer.norm1(x)`,
`layer.self_attn(x, x, x)`); `F.layer_norm`, `nn.LayerNorm` and the other norms; attention functions
such as `F.scaled_dot_product_attention`. Fine are `layer.activation`, `F.linear`, `F.softmax`,
`F.relu` and `F.gelu`.

## Questions to ask your code

- Which rows of `in_proj_weight` make the keys? Is a weight used as it is, or transposed?
- Which features belong to head 1, and in which order do you merge the heads?
- If the layer is not `batch_first`, along which axis of x do the tokens lie?
- By the root of which number are the scores divided: d_model or d_head?
- In pre-norm, what goes round the norm, and what through it?
- Is the layer after the call as it was: weights, mode, and what `x` holds?
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


def encoder_layer_by_hand(
    layer: nn.TransformerEncoderLayer, x: Float[Tensor, "first second d_model"]
) -> dict[str, Tensor]:
    """Every step of PyTorch's encoder layer in evaluation mode, from its raw weights.

    The layer may be `batch_first` or not, `norm_first` or not, with the activation `F.relu` or
    `F.gelu`. It may be in training mode: then too the steps are those of evaluation, nothing is
    dropped. Neither the layer, its mode included, nor x is changed. Layer and x have one dtype,
    which the results have too.

    To start: `weight.chunk(3)` cuts a tensor in three, and `F.linear(x, weight, bias)` is
    `x @ weight.T + bias`.

    Args:
        layer: Any layer of PyTorch's with biases.
        x: `(B, L, d_model)` if the layer is `batch_first`, else `(L, B, d_model)`. There is no
            mask: every token may look at every token.

    Returns:
        A dictionary with exactly these keys. `query`, `key`, `value`: `(B, H, L, d_head)`, head h
        with the features `h * d_head` up to `(h + 1) * d_head`. `scores` (scaled, before the
        softmax) and `weights`: `(B, H, L, L)`. `attention`: after `out_proj`, before the residual
        sum. `norm1`: what the layer's first norm gives, of the residual sum in post-norm, of x in
        pre-norm. `feed_forward`: after `linear2`, before the residual sum. `output`: what the layer
        returns. The last four are laid out as x is.
    """
    ### BEGIN SOLUTION
    part = layer.self_attn

    def normalised(y: Tensor, norm: nn.LayerNorm) -> Tensor:
        mean = y.mean(dim=-1, keepdim=True)
        variance = y.var(dim=-1, keepdim=True, correction=0)
        return norm.weight * (y - mean) / torch.sqrt(variance + norm.eps) + norm.bias

    def attend(y: Tensor) -> dict[str, Tensor]:
        if not part.batch_first:
            y = y.transpose(0, 1)
        batch, length, d_model = y.shape
        projected = F.linear(y, part.in_proj_weight, part.in_proj_bias)
        query, key, value = (
            third.reshape(batch, length, part.num_heads, -1).transpose(1, 2)
            for third in projected.chunk(3, dim=-1)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        weights = scores.softmax(dim=-1)
        merged = (weights @ value).transpose(1, 2).reshape(batch, length, d_model)
        attention = F.linear(merged, part.out_proj.weight, part.out_proj.bias)
        if not part.batch_first:
            attention = attention.transpose(0, 1)
        return {
            "query": query,
            "key": key,
            "value": value,
            "scores": scores,
            "weights": weights,
            "attention": attention,
        }

    def feed_forward(y: Tensor) -> Tensor:
        hidden = layer.activation(F.linear(y, layer.linear1.weight, layer.linear1.bias))
        return F.linear(hidden, layer.linear2.weight, layer.linear2.bias)

    if layer.norm_first:
        norm1 = normalised(x, layer.norm1)
        steps = attend(norm1)
        middle = x + steps["attention"]
        forwarded = feed_forward(normalised(middle, layer.norm2))
        output = middle + forwarded
    else:
        steps = attend(x)
        norm1 = normalised(x + steps["attention"], layer.norm1)
        forwarded = feed_forward(norm1)
        output = normalised(norm1 + forwarded, layer.norm2)
    return steps | {"norm1": norm1, "feed_forward": forwarded, "output": output}
    ### END SOLUTION
