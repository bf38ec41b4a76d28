"""As older tutorials have it: the upper triangle of ones is zero where a query may look."""

from typing import Optional

import torch
from torch import BoolTensor, LongTensor, Tensor


def subsequent_mask(size: int) -> Tensor:
    "Mask out subsequent positions."
    attn_shape = (1, size, size)
    return torch.triu(torch.ones(attn_shape), diagonal=1).type(torch.uint8) == 0


def padding_mask(ids: LongTensor, pad_id: int = 0) -> BoolTensor:
    batch_size, seq_len = ids.size()
    not_pad = 1 - (ids == pad_id).long()
    return not_pad.view(batch_size, 1, 1, seq_len).bool()


def causal_mask(length: int, device: Optional[torch.device] = None) -> BoolTensor:
    return subsequent_mask(length).unsqueeze(0).to(device=device)


def target_mask(ids: LongTensor, pad_id: int = 0) -> BoolTensor:
    tgt_mask = padding_mask(ids, pad_id)
    tgt_mask = tgt_mask & subsequent_mask(ids.size(-1)).type_as(tgt_mask.data)
    return tgt_mask
