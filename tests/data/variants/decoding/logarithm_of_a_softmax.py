"""The logarithm of a softmax: a word of probability 0 is on no way that a beam takes."""

import torch


def _log_p(model, src, prefixes):
    memory = model.encode(src).expand(len(prefixes), -1, -1)
    states = model.decode(torch.tensor(prefixes), memory, src.expand(len(prefixes), -1))
    return torch.softmax(model.generator(states)[:, -1], dim=-1).log()


@torch.no_grad()
def greedy_decode(model, src, bos_id, eos_id, max_len):
    return beam_search(model, src, bos_id, eos_id, max_len, beam_size=1)


@torch.no_grad()
def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    rows = []
    for i in range(src.shape[0]):
        done, live = {}, {(bos_id,): 0.0}
        while live and len(next(iter(live))) < max_len:
            table = _log_p(model, src[i : i + 1], list(live))
            pool = dict(done)
            for (prefix, so_far), gains in zip(live.items(), table):
                for word in range(len(gains)):
                    pool[(*prefix, word)] = so_far + gains[word].item()
            kept = sorted(pool, key=pool.get)[::-1][:beam_size]
            done = {ids: pool[ids] for ids in kept if ids[-1] == eos_id}
            live = {ids: pool[ids] for ids in kept if ids[-1] != eos_id}
        everything = {**done, **live}
        rows.append(max(everything, key=everything.get))
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[model.pad_id] * (width - len(row))] for row in rows])
