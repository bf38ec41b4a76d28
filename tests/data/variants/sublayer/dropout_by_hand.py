"""自己写 dropout：用伯努利分布生成掩码，中文注释和变量名。"""

import torch
from torch import nn

from exercises.layer_norm import LayerNorm


class SublayerConnection(nn.Module):
    """残差连接"""

    def __init__(self, d_model, dropout=0.1, norm_first=False):
        super().__init__()
        assert 0 <= dropout <= 1, "概率必须在 0 和 1 之间"
        self.norm = LayerNorm(d_model)
        self.丢弃率 = dropout
        self.先归一化 = norm_first

    def 丢弃(self, 输入):
        if not self.training or self.丢弃率 == 0:
            return 输入
        掩码 = torch.rand(输入.shape, device=输入.device) >= self.丢弃率
        return 输入 * 掩码.to(输入.dtype) / (1 - self.丢弃率)

    def forward(self, x, sublayer):
        残差 = x
        if self.先归一化:
            x = self.norm(x)
        x = 残差 + self.丢弃(sublayer(x))
        if not self.先归一化:
            x = self.norm(x)
        return x
