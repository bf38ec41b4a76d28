# attention: right
# Figures, tables and widgets in the cells of imports and answers.
# %%
%matplotlib inline
import matplotlib.pyplot as plt
import ipywidgets as widgets
from ipywidgets import interact
from tqdm.auto import tqdm
plt.rcParams['figure.figsize'] = (4, 3)
import math
import torch
# %% attention
fig, axes = plt.subplots(1, 2)
for axis in axes:
    axis.plot([1, 2])
plt.show()
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
@interact(x=(0, 3))
def draw(x):
    plt.imshow(attention(*torch.ones(3, 2, 2))[1])
for step in tqdm(range(2), desc='steps'):
    tqdm.write(str(step))
# %% attention-points
