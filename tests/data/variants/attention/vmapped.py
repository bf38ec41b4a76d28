"""Written for a single head of a single sentence, and mapped over all axes in front."""

import torch
from torch.func import vmap
def _one(q,k,v,m):
    s=(q@k.T)/q.shape[-1]**0.5
    s=torch.where(m,s,torch.finfo(s.dtype).min)
    return s.softmax(-1)
def attention(query, key, value, mask=None, dropout=None):
    if mask is None: mask=torch.ones(1,dtype=torch.bool)
    mask=mask.expand(query.shape[:-1]+key.shape[-2:-1])
    f=_one
    for _ in range(query.dim()-2): f=vmap(f)
    w=f(query,key,value,mask)
    if dropout is not None: w=dropout(w)
    return w@value,w
