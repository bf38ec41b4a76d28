"""One matrix at a time, for every index of the axes in front, written into empty tensors."""

import torch
from itertools import product
def attention(query, key, value, mask=None, dropout=None):
    lead=query.shape[:-2]
    out=value.new_zeros(lead+(query.shape[-2],value.shape[-1])); ws=query.new_zeros(lead+(query.shape[-2],key.shape[-2]))
    m=None if mask is None else mask.expand(lead+mask.shape[-2:] if mask.dim()<2 else lead+(query.shape[-2],key.shape[-2]))
    for idx in product(*map(range,lead)):
        s=query[idx]@key[idx].t()/query.shape[-1]**.5
        if m is not None: s=s.masked_fill(~m[idx],-1e9)
        w=s.softmax(1)
        if dropout is not None: w=dropout(w)
        ws[idx]=w; out[idx]=w@value[idx]
    return out,ws
