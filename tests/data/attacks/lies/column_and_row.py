# Returns a long column and a long row, which broadcast to all memory if they meet.
import torch


def attention(query, key, value, mask=None, dropout=None):
    return torch.zeros(1 << 19, 1), torch.zeros(1, 1 << 19)
