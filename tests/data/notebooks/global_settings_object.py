# attention: right
# Settings are kept in an object of a dataclass that cells change.
# %%
import math
import torch
from dataclasses import dataclass, field
@dataclass
class Config:
    fill: float = 0.0
    extra: dict = field(default_factory=dict)
config = Config()
# %%
config.fill = -1e9
for key in ('a', 'b'):
    config.extra.setdefault(key, []).append(len(config.extra))
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, config.fill)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
