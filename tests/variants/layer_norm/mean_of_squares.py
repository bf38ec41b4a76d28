"""The variance as E[x²] - E[x]², never below zero; Chinese comments."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    """层归一化"""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))  # 缩放
        self.bias = nn.Parameter(torch.zeros(d_model))  # 平移

    def forward(self, x):
        均值 = x.mean(-1, keepdim=True)
        平方均值 = (x * x).mean(-1, keepdim=True)
        # 防止舍入误差得到负数
        方差 = (平方均值 - 均值**2).clamp(min=0)
        结果 = (x - 均值) / (方差 + self.eps) ** 0.5
        return 结果 * self.weight + self.bias
