# attention: right
# Types are jaxtyping's, some of them as texts.
# %%
import math
import torch
from jaxtyping import Bool, Float
from torch import Tensor
# %% attention
def attention(query: Float[Tensor, '... q d'], key: "Float[Tensor, '... k d']", value: 'Nowhere[Tensor]', mask: Bool[Tensor, '...'] | None = None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
