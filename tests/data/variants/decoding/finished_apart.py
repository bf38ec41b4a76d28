"""Finished hypotheses in a list of their own, which is cut together with the others."""

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    memory = model.encode(src)
    columns = [torch.full_like(src[:, 0], bos_id)]
    open_rows = torch.ones_like(columns[0], dtype=torch.bool)
    while len(columns) < max_len and open_rows.any():
        tgt = torch.stack(columns, dim=1)
        logits = model.generator(model.decode(tgt, memory, src))[:, len(columns) - 1]
        word = torch.where(open_rows, logits.sort(descending=True).indices[:, 0], model.pad_id)
        columns.append(word)
        open_rows = open_rows & (word != eos_id)
    return torch.stack(columns, dim=1)


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    results = torch.full((src.size(0), max_len), model.pad_id)
    for number, one in enumerate(src):
        memory = model.encode(one[None])
        tgt, scores, finished = torch.tensor([[bos_id]]), torch.zeros(1), []
        while tgt.size(0) and tgt.size(1) < max_len:
            n = tgt.size(0)
            x = model.decode(tgt, memory.repeat(n, 1, 1), one.repeat(n, 1))
            totals = scores[:, None] + model.generator(x[:, -1]).log_softmax(-1)
            order = totals.flatten().argsort(descending=True)[:beam_size]
            rows, words = order // totals.size(1), order % totals.size(1)
            pool = finished + [
                (totals[r, w], torch.cat([tgt[r], w[None]]), bool(w == eos_id))
                for r, w in zip(rows, words)
            ]
            pool.sort(key=lambda entry: entry[0].item(), reverse=True)
            pool = pool[:beam_size]
            finished = [entry for entry in pool if entry[2]]
            growing = [entry for entry in pool if not entry[2]]
            tgt = torch.stack([ids for _, ids, _ in growing]) if growing else tgt[:0]
            scores = torch.stack([score for score, _, _ in growing]) if growing else scores[:0]
        pool = finished + list(zip(scores, tgt, [False] * len(tgt)))
        best = max(pool, key=lambda entry: entry[0].item())[1]
        results[number, : len(best)] = best
    return results
