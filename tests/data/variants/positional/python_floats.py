"""Chinese comments; math.sin in two loops, no torch in the table until the end; own dropout."""

import math

import torch
import torch.nn as nn


def sinusoidal_table(max_len, d_model, base=10000.0):
    # 逐个计算每个位置和每一列
    行 = []
    for pos in range(max_len):
        值 = []
        for j in range(d_model):
            角度 = pos * math.exp(-(j - j % 2) / d_model * math.log(base))
            值.append(math.cos(角度) if j % 2 == 1 else math.sin(角度))
        行.append(值)
    return torch.tensor(行, dtype=torch.float32).view(max_len, d_model)


class PositionalEncoding(nn.Module):
    """位置编码"""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.p = dropout
        self.max_len = max_len
        # 常量: 不参与训练
        self.register_buffer("pe", sinusoidal_table(max_len, d_model))

    def forward(self, x):
        长度 = x.shape[1]
        if not 长度 <= self.max_len:
            raise ValueError("句子太长")
        y = x + self.pe[0:长度, :]
        if self.training and self.p > 0:
            # 随机丢弃
            保留 = torch.rand(y.shape, device=y.device) >= self.p
            y = y * 保留 / (1 - self.p)
        return y
