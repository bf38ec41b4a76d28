"""The start word in every place."""

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    return torch.full((src.size(0), max_len), bos_id)


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    return torch.full((src.size(0), max_len), bos_id)
