"""Recursion instead of loops, and rows kept in a list."""

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence


def _grow(model, memory, src, ids, eos_id, max_len):
    if len(ids) == max_len or ids[1:].count(eos_id):
        return ids
    logits = model.generator(model.decode(torch.tensor([ids]), memory, src))
    return _grow(model, memory, src, ids + [int(logits[0][-1].argmax())], eos_id, max_len)


def _step(model, memory, src, beam, eos_id, left, size):
    if left == 0 or all(eos_id in ids[1:] for _, ids in beam):
        return max(beam, key=lambda one: one[0])[1]
    found = []
    for score, ids in beam:
        if eos_id in ids[1:]:
            found += [(score, ids)]
            continue
        logits = model.generator(model.decode(torch.tensor([ids]), memory, src)[0, -1])
        found += [(score + F.log_softmax(logits, 0)[w].item(), ids + [w]) for w in range(len(logits))]
    found = sorted(found, key=lambda one: one[0])[-size:]
    return _step(model, memory, src, found, eos_id, left - 1, size)


def _each(model, src, search):
    rows = [torch.tensor(search(model.encode(row), row)) for row in src[:, None]]
    return pad_sequence(rows, batch_first=True, padding_value=model.pad_id)


def greedy_decode(model, src, bos_id, eos_id, max_len):
    return _each(model, src, lambda m, row: _grow(model, m, row, [bos_id], eos_id, max_len))


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    start = [(0.0, [bos_id])]
    return _each(
        model, src, lambda m, row: _step(model, m, row, start, eos_id, max_len - 1, beam_size)
    )
