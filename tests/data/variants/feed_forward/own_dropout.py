"""A dropout of its own, with bernoulli; nn.ModuleDict; Chinese names; keyword-only helper."""

import copy

import torch
from torch import nn


class 随机失活(nn.Module):
    def __init__(self, 概率):
        super().__init__()
        self.概率 = 概率

    def forward(self, x):
        if not self.training or self.概率 == 0:
            return x
        保留 = 1.0 - self.概率
        掩码 = torch.bernoulli(torch.full_like(x, 保留))
        return x * 掩码 / 保留


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        表 = nn.ModuleDict({"relu": nn.ReLU(), "gelu": nn.GELU()})
        if activation not in 表:
            raise ValueError("只支持 relu 和 gelu")
        self.linear1 = nn.Linear(d_model, d_ff, bias=True)
        self.linear2 = nn.Linear(d_ff, d_model, bias=True)
        # 截断的正态初始化
        nn.init.trunc_normal_(self.linear1.weight, std=0.02)
        nn.init.trunc_normal_(self.linear2.weight, std=0.02)
        nn.init.zeros_(self.linear2.bias)
        self.act = copy.deepcopy(表[activation])
        self.drop = 随机失活(dropout)
        self.last = None

    def forward(self, x):
        self.last = self.act(self.linear1(x)).detach()
        return self.linear2(self.drop(self.act(self.linear1(x))))
