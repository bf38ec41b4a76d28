# attention: wrong
# The cell of the answer was deleted.
# %%
import math
import torch
# %%
x = torch.ones(2, 3)
# %% attention-points
