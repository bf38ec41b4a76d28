"""自己写嵌入层：nn.Embedding 加正弦位置编码（numpy 计算），中文注释。"""

import math

import numpy as np
import torch
from torch import nn

from exercises.decoder import Decoder
from exercises.encoder import Encoder


def 正弦表(长度, 维度):
    位置 = np.arange(长度)[:, None].astype(np.float64)
    指数 = (np.arange(维度) // 2 * 2) / 维度
    角度 = 位置 / np.power(10000.0, 指数)
    表 = np.where(np.arange(维度) % 2 == 0, np.sin(角度), np.cos(角度))
    return torch.from_numpy(表.astype(np.float32))


class 词(nn.Module):
    def __init__(self, 词数, 维度):
        super().__init__()
        self.embedding = nn.Embedding(词数, 维度)
        self.倍数 = math.sqrt(维度)

    def forward(self, 编号):
        return self.倍数 * self.embedding(编号)


class 嵌入(nn.Module):
    def __init__(self, 词数, 维度, 丢弃, 长度):
        super().__init__()
        self.token = 词(词数, 维度)
        self.丢弃 = nn.Dropout(丢弃)
        self.register_buffer("表", 正弦表(长度, 维度))

    def forward(self, 编号):
        if 编号.shape[1] > len(self.表):
            raise ValueError("句子太长")
        return self.丢弃(self.token(编号) + self.表[: 编号.shape[1]])


class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        tgt_vocab_size,
        d_model=512,
        n_heads=8,
        num_layers=6,
        d_ff=2048,
        dropout=0.1,
        max_len=5000,
        pad_id=0,
        activation="relu",
        norm_first=False,
    ):
        super().__init__()
        self.src_embedding = 嵌入(src_vocab_size, d_model, dropout, max_len)
        self.tgt_embedding = 嵌入(tgt_vocab_size, d_model, dropout, max_len)
        options = (num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.encoder = Encoder(*options)
        self.decoder = Decoder(*options)
        self.generator = nn.Linear(d_model, tgt_vocab_size)
        self.pad_id = pad_id

    def 掩码(self, 编号):
        return (编号 != self.pad_id)[:, None, None, :]

    def encode(self, src):
        return self.encoder(self.src_embedding(src), self.掩码(src))

    def decode(self, tgt, memory, src):
        过去 = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool, device=tgt.device).tril()
        return self.decoder(self.tgt_embedding(tgt), memory, self.掩码(tgt) * 过去, self.掩码(src))

    def forward(self, src, tgt):
        logits = self.generator(self.decode(tgt, self.encode(src), src))
        assert logits.shape == (*tgt.shape, self.generator.out_features)
        return logits
