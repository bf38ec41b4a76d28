import torch
from torch import einsum

def attention(query, key, value, mask=None, dropout=None):
    sim = einsum('... i d, ... j d -> ... i j', query, key)
    sim = sim * key.shape[-2] ** -0.5
    if mask is not None:
        sim = torch.where(mask, sim, torch.full_like(sim, -torch.finfo(sim.dtype).max))
    attn = sim - sim.amax(dim=-1, keepdim=True).detach()
    attn = attn.softmax(dim=-1)
    if dropout is not None:
        attn = dropout(attn)
    return einsum('... i j, ... j d -> ... i d', attn, value), attn
