"""Computes in float32 whatever it is given, and casts back at the end."""

import torch
from torch import nn
import torch.nn.functional as F
from exercises.attention import attention
def split_heads(x, n_heads): return torch.stack(x.split(x.shape[-1]//n_heads,-1),1)
def merge_heads(x): return torch.cat(torch.unbind(x,1),-1)
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % n_heads == 0
        self.h=n_heads
        for n in ("q_proj","k_proj","v_proj","out_proj"): setattr(self,n,nn.Linear(d_model,d_model,bias=bias))
        self.drop=nn.Dropout(dropout)
    def lin(self,l,x): return F.linear(x.float(), l.weight.float(), None if l.bias is None else l.bias.float())
    def forward(self, query, key, value, mask=None):
        q,k,v=(split_heads(self.lin(p,x),self.h) for p,x in ((self.q_proj,query),(self.k_proj,key),(self.v_proj,value)))
        o,_=attention(q,k,v,mask,self.drop)
        return self.lin(self.out_proj,merge_heads(o)).to(query.dtype)
