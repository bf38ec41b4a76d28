# Patches torch's softmax for everybody.
import torch
import torch.nn.functional as F

torch.softmax = F.softmax = lambda x, *args, **kwargs: torch.zeros_like(x)
torch.Tensor.softmax = lambda x, *args, **kwargs: torch.zeros_like(x)
attention = right
