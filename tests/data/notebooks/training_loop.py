# feed_forward: right
# A demonstration trains the module for a few steps.
# %%
import torch
from torch import nn
import torch.nn.functional as F
# %% feed_forward
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = getattr(F, activation)

    def forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))
# %%
from tqdm.auto import tqdm
import matplotlib.pyplot as plt
model = FeedForward(4, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for step in tqdm(range(20)):
    x = torch.randn(8, 4)
    loss = ((model(x) - x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(losses)
plt.show()
# %% feed_forward-points
