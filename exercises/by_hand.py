# Put your code where NotImplementedError is. Then: pytest exercises/test_by_hand.py
"""By hand: compute every step inside PyTorch's own encoder layer, from its raw weights.

You have built an encoder layer from pieces of your own. PyTorch has one ready-made,
`nn.TransformerEncoderLayer`. Here you open it and see that it does nothing you don't know: it holds
twelve tensors, multiplies, and adds.

Once you can compute each step from those tensors, you can check any model that others have made.
This is what the layer holds:

| name                                 | shape                | what it is                    |
|--------------------------------------|----------------------|-------------------------------|
| `self_attn.in_proj_weight`           | (3 d_model, d_model) | query, key and value, stacked |
| `self_attn.in_proj_bias`             | (3 d_model,)         | their biases                  |
| `self_attn.out_proj.weight`, `.bias` | (d_model, d_model)   | mixes the heads               |
| `linear1.weight`, `.bias`            | (d_ff, d_model)      | widens to d_ff features       |
| `linear2.weight`, `.bias`            | (d_model, d_ff)      | narrows to d_model features   |
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

All steps are those of evaluation mode: no dropout, hence no division by 1 - p. Compare with a layer
left in training mode and you will see zeros, and the rest divided by 0.9.

## Shapes

    x                                   (B, L, d_model), or (L, B, d_model) if not batch_first
    query, key, value                   (B, H, L, d_head)
    scores, weights                     (B, H, L, L)
    attention, norm1, feed_forward, output    as x

## With a pencil

Two tokens, two features, one head. The projection copies x, so query, key and value are all x. The
first token is (2, 0), the second (0, 0). All scores are 0 except that of the first token with
itself: 4, divided by √2. `out_proj` and the feed-forward network are zero, so only the residual
sums and norms remain: (2, 0) has mean 1 and standard deviation 1.

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

## What the exercise asks

- Every step is computed from the weights. Don't call the layer, nor any of its parts
  (`layer.linear1(x)`, `layer.norm1(x)`, `layer.self_attn(x, x, x)`).
- Each step is graded on its own: a mistake in the attention costs nothing in the feed-forward part.
- The weights are read in every call, since they may change between two calls.
- Scores may be as large as a thousand, and exp(1000) is infinite. The numbers in x may be around
  1000; there, in float32, the mean of the squares minus the square of the mean loses all its
  digits.
- x and the layer have the same dtype, float32 or float64. The layer stays as it is: no
  `layer.eval()`, no `layer.float()`.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`nn.LayerNorm`, `F.layer_norm`, `nn.RMSNorm`, `F.rms_norm`, `nn.BatchNorm`, `F.batch_norm`,
`nn.GroupNorm`, `F.group_norm`, `nn.InstanceNorm`, `F.instance_norm`,
`F.scaled_dot_product_attention`, `F.multi_head_attention_forward`,
`nn.TransformerEncoderLayer.forward`, `nn.TransformerDecoderLayer.forward`,
`nn.MultiheadAttention.forward`, `nn.Linear.forward` and `nn.Dropout.forward`. Compute every step
from the raw weights; `layer.activation`, `F.linear`, `F.softmax`, `F.relu` and `F.gelu` are fine.

## Where to read

- Paper, "Attention Is All You Need": sections 3.1 to 3.3.
- PyTorch: the documentation of `torch.nn.TransformerEncoderLayer`, and the source of its `forward`,
  `_sa_block` and `_ff_block`, which you can now read.

## Questions to ask your code

- Which rows of `in_proj_weight` make the keys? Is a weight used directly, or transposed?
- Which features belong to head 1, and in which order do you merge the heads?
- If the layer is not `batch_first`, which axis of x holds the tokens?
- Do you divide the scores by the square root of d_model, or of d_head?
- In pre-norm, which tensor goes through the norm, and which is added in the residual sum?
- Is the layer unchanged after the call: weights, dtype, mode? Is x?
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


def encoder_layer_by_hand(
    layer: nn.TransformerEncoderLayer, x: Float[Tensor, "first second d_model"]
) -> dict[str, Tensor]:
    """Return every step of PyTorch's encoder layer in evaluation mode, from its raw weights.

    The layer may be `batch_first` or not, `norm_first` or not, with the activation `F.relu` or
    `F.gelu`. It may be in training mode: the steps are still those of evaluation mode, without
    dropout. Neither the layer (its mode included) nor x is changed. Layer and x have the same
    dtype, and so have the results.

    To start: `weight.chunk(3)` cuts a tensor in three, and `F.linear(x, weight, bias)` is
    `x @ weight.T + bias`.

    Args:
        layer: Any `nn.TransformerEncoderLayer` with biases.
        x: `(B, L, d_model)` if the layer is `batch_first`, else `(L, B, d_model)`. There is no
            mask: every token may attend to every token.

    Returns:
        A dictionary with these keys. `query`, `key`, `value`: `(B, H, L, d_head)`, where head h has
        the features `h * d_head` up to `(h + 1) * d_head`. `scores` (scaled, before the softmax)
        and `weights`: `(B, H, L, L)`. `attention`: after `out_proj`, before the residual sum.
        `norm1`: the output of the layer's first norm, which normalises the residual sum in
        post-norm and x in pre-norm. `feed_forward`: after `linear2`, before the residual sum.
        `output`: what the layer returns. The last four have the layout of x.
    """
    raise NotImplementedError("by_hand: encoder_layer_by_hand is not written yet")


# Made by grader stubs, 35357ec9cf37
