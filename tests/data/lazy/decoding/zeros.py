"""Zeros."""

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    return torch.zeros(src.size(0), max_len, dtype=torch.long)


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    return torch.zeros(src.size(0), max_len, dtype=torch.long)
