"""Goes through the keys two by two, with the largest score so far, as flash attention does."""

import torch
def attention(query, key, value, mask=None, dropout=None):
    # online softmax over blocks of two keys
    n=key.size(-2); blocks=[]; m=query.new_full(query.shape[:-1]+(1,), -1e30)
    full=None if mask is None else mask.expand(query.shape[:-1]+(n,))
    for i in range(0,n,2):
        s=torch.einsum("...id,...jd->...ij",query,key[...,i:i+2,:])*query.size(-1)**-.5
        if full is not None: s=s.masked_fill(full[...,i:i+2].logical_not(),-1e30)
        blocks.append(s); m=torch.maximum(m,s.amax(-1,keepdim=True))
    e=torch.cat([torch.exp(b-m) for b in blocks],-1)
    w=e/e.sum(-1,keepdim=True)
    wd=w if dropout is None else dropout(w)
    return sum(wd[...,i:i+1]*value[...,i:i+1,:] for i in range(n)), wd
