# Calls the kernel behind torch's own attention.
import torch


def attention(query, key, value, mask=None, dropout=None):
    operator = torch.ops.aten._scaled_dot_product_attention_math
    return operator(query, key, value, mask)
