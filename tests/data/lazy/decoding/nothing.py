"""Nothing."""

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    return None


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    return None
