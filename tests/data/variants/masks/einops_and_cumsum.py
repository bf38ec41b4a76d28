"""einops for the axes; the causal mask as a running count of ones along each column."""

import torch
from einops import rearrange, repeat
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(ids: Int[Tensor, "b l"], pad_id: int = 0) -> Bool[Tensor, "b 1 1 l"]:
    is_word = torch.logical_not(torch.eq(ids, pad_id))
    return rearrange(is_word, "b l -> b 1 1 l")


def causal_mask(length: int, device=None) -> Bool[Tensor, "1 1 l l"]:
    diagonal = torch.eye(length, device=device)
    started = diagonal.cumsum(dim=0) > 0.5  # from its own row on, a key is visible
    return rearrange(started, "q k -> 1 1 q k")


def target_mask(ids: Int[Tensor, "b l"], pad_id: int = 0) -> Bool[Tensor, "b 1 l l"]:
    words = repeat(ids != pad_id, "b k -> b 1 q k", q=ids.shape[1])
    causal = repeat(causal_mask(ids.shape[1], ids.device), "1 1 q k -> b 1 q k", b=ids.shape[0])
    both = torch.minimum(words.int(), causal.int())
    print("target mask", tuple(both.shape))
    return both == 1
