"""Rows that ended go on with the end word, at no cost, and are filled afterwards."""

import torch


def _filled(ids, eos_id, pad_id):
    is_end = ids == eos_id
    is_end[:, 0] = False
    after = is_end.long().cumsum(1) - is_end.long() > 0
    return ids.masked_fill(after, pad_id)


def greedy_decode(model, src, bos_id, eos_id, max_len):
    was_training = model.training
    model.eval()
    memory = model.encode(src)
    ids = src.new_full((src.size(0), 1), bos_id)
    over = torch.zeros_like(ids, dtype=torch.bool)
    for _ in range(1, max_len):
        logits = model.generator(model.decode(ids, memory, src)[:, -1:])
        new = logits.argmax(-1)
        new[over] = eos_id
        ids = torch.cat((ids, new), 1)
        over = over | (new == eos_id)
        if bool(over.all()):
            break
    model.train(was_training)
    return _filled(ids, eos_id, model.pad_id)


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    best = []
    for row in src:
        memory = model.encode(row[None])
        ids, scores = torch.tensor([[bos_id]]), torch.zeros(1, dtype=torch.float64)
        over = torch.tensor([False])
        for _ in range(1, max_len):
            if over.all():
                break
            n = len(ids)
            states = model.decode(ids, memory.expand(n, -1, -1), row.expand(n, -1))
            gains = model.generator(states)[:, -1].double().log_softmax(-1)
            gains[over] = -torch.inf
            gains[over, eos_id] = 0.0
            totals = (scores[:, None] + gains).view(-1)
            kept = totals.topk(min(beam_size, int(totals.isfinite().sum()))).indices
            parent = torch.div(kept, gains.size(1), rounding_mode="floor")
            word = kept.remainder(gains.size(1))
            ids, scores = torch.cat((ids[parent], word[:, None]), 1), totals[kept]
            over = over[parent] | (word == eos_id)
        best.append(ids[scores.argmax()])
    longest = max(map(len, best))
    out = torch.stack([torch.cat((b, b.new_full((longest - len(b),), eos_id))) for b in best])
    return _filled(out, eos_id, model.pad_id)
