"""自己写的线性层和自己写的注意力，连 dropout 也是自己写的。"""

import math

import torch
from torch import nn


class 线性(nn.Module):
    def __init__(self, 输入, 输出, 偏置=True):
        super().__init__()
        界 = 1 / math.sqrt(输入)
        self.weight = nn.Parameter(torch.empty(输出, 输入).uniform_(-界, 界))
        if 偏置:
            self.bias = nn.Parameter(torch.zeros(输出))
        else:
            self.register_parameter("bias", None)

    def forward(self, x):
        y = x @ self.weight.t()
        return y if self.bias is None else y + self.bias


def split_heads(x, n_heads):
    批, 长, 维 = x.shape
    return x.reshape(批, 长, n_heads, 维 // n_heads).movedim(2, 1)


def merge_heads(x):
    return x.movedim(1, 2).reshape(x.size(0), x.size(2), x.size(1) * x.size(3))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        头维, 余 = divmod(d_model, n_heads)
        assert 余 == 0
        self.头数, self.头维, self.概率 = n_heads, 头维, dropout
        self.q_proj = 线性(d_model, d_model, bias)
        self.k_proj = 线性(d_model, d_model, bias)
        self.v_proj = 线性(d_model, d_model, bias)
        self.out_proj = 线性(d_model, d_model, bias)

    def 丢(self, 权重):
        if not self.training or self.概率 == 0:
            return 权重
        保留 = torch.rand_like(权重) >= self.概率
        return 权重 * 保留 / (1 - self.概率)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q_proj(query), self.头数)
        k = split_heads(self.k_proj(key), self.头数)
        v = split_heads(self.v_proj(value), self.头数)
        分数 = torch.einsum("bhqd,bhkd->bhqk", q, k) / self.头维**0.5
        if mask is not None:
            分数 = torch.where(mask, 分数, torch.full_like(分数, -1e9))
        e = torch.exp(分数 - 分数.amax(-1, keepdim=True))
        权重 = self.丢(e / e.sum(-1, keepdim=True))
        return self.out_proj(merge_heads(torch.einsum("bhqk,bhkd->bhqd", 权重, v)))
