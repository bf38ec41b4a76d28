"""Calls the whole model for every word; stops early when the best hypothesis has ended."""

import heapq

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    model.eval()
    batch = src.shape[0]
    ys = torch.ones(batch, 1).fill_(bos_id).type_as(src)
    done = [False] * batch
    for _ in range(max_len - 1):
        logits = model(src, ys)[:, -1, :]
        _, words = torch.max(logits, dim=1)
        for b in range(batch):
            if done[b]:
                words[b] = model.pad_id
            elif words[b] == eos_id:
                done[b] = True
        ys = torch.cat([ys, words.view(-1, 1)], dim=1)
        if all(done):
            break
    return ys


def _search(model, row, bos_id, eos_id, max_len, beam_size):
    beam = [(0.0, (bos_id,), False)]
    while True:
        best = max(beam)
        # Every further word makes a score smaller, so that nothing can overtake it.
        if best[2] or len(best[1]) == max_len and all(len(one[1]) == max_len or one[2] for one in beam):
            return best[1]
        new = []
        for score, ids, ended in beam:
            if ended:
                new.append((score, ids, True))
                continue
            log_p = torch.log_softmax(model(row, torch.tensor([ids]))[0, -1].double(), -1)
            top = log_p.topk(min(beam_size, len(log_p)))
            for gain, word in zip(top.values.tolist(), top.indices.tolist()):
                new.append((score + gain, ids + (word,), word == eos_id))
        beam = heapq.nlargest(beam_size, new)


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    found = [_search(model, src[i : i + 1], bos_id, eos_id, max_len, beam_size) for i in range(len(src))]
    out = src.new_full((len(found), max(map(len, found))), model.pad_id)
    for i, ids in enumerate(found):
        out[i, : len(ids)] = torch.tensor(ids)
    return out
