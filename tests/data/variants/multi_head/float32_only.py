"""Never thought of another dtype than float32: the softmax is taken in it."""

import torch
from torch import nn
import torch.nn.functional as F
def split_heads(x, n_heads): return torch.stack(x.split(x.shape[-1]//n_heads,-1),1)
def merge_heads(x): return torch.cat(torch.unbind(x,1),-1)
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % n_heads == 0
        self.h=n_heads; self.d=d_model//n_heads
        for n in ("q_proj","k_proj","v_proj","out_proj"): setattr(self,n,nn.Linear(d_model,d_model,bias=bias))
        self.drop=nn.Dropout(dropout)
    def forward(self, query, key, value, mask=None):
        q,k,v=(split_heads(p(x),self.h) for p,x in ((self.q_proj,query),(self.k_proj,key),(self.v_proj,value)))
        w=F.softmax(q@k.mT/self.d**.5 + (0 if mask is None else (~mask).float()*-1e9),-1,dtype=torch.float32)
        return self.out_proj(merge_heads(self.drop(w)@v))
