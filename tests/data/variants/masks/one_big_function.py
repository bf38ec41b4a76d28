"""Everything goes through one function; the causal mask is the target mask of no padding."""

import torch


def target_mask(ids, pad_id=0):
    batch, length = ids.shape
    return torch.ones((length, length), dtype=bool, device=ids.device).tril().repeat(
        batch, 1, 1, 1
    ) & ids.ne(pad_id)[:, None, None].expand(batch, 1, length, length)


def causal_mask(length, device=None):
    nothing_is_padding = torch.ones((1, length), dtype=torch.int64, device=device)
    return target_mask(nothing_is_padding, pad_id=0)


def padding_mask(ids, pad_id=0):
    rotated = torch.stack([ids == pad_id]).bitwise_not()
    return rotated.permute(1, 0, 2)[:, :, None]
