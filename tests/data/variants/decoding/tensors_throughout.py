"""All rows and hypotheses at once, as tensors; what has ended is continued by padding, for free."""

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    with torch.inference_mode():
        out = torch.full((len(src), max_len), model.pad_id, dtype=torch.int64)
        out[:, 0] = bos_id
        alive = torch.ones(len(src), dtype=torch.bool)
        memory = model.encode(src)
        for t in range(1, max_len):
            step = model.generator(model.decode(out[:, :t], memory, src))[:, -1].log_softmax(-1)
            out[alive, t] = step.max(-1).indices[alive]
            alive &= out[:, t] != eos_id
            if not alive.any():
                break
    return out.clone()


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    with torch.inference_mode():
        rows, k, pad = src.size(0), beam_size, model.pad_id
        wide = src.repeat_interleave(k, 0)
        memory = model.encode(src).repeat_interleave(k, 0)
        ids = torch.full((rows, k, 1), bos_id)
        scores = torch.full((rows, k), -torch.inf)
        scores[:, 0] = 0.0
        ended = torch.zeros(rows, k, dtype=torch.bool)
        for _ in range(max_len - 1):
            if ended.all():
                break
            states = model.decode(ids.flatten(0, 1), memory, wide)
            log_p = model.generator(states[:, -1]).log_softmax(-1).view(rows, k, -1)
            free = torch.full_like(log_p, -torch.inf)
            free[..., pad] = 0.0
            log_p = torch.where(ended[..., None], free, log_p)
            scores, found = (scores[..., None] + log_p).flatten(1).topk(k)
            parent, word = found // log_p.size(-1), found % log_p.size(-1)
            ids = ids.gather(1, parent[..., None].expand(-1, -1, ids.size(2)))
            ids = torch.cat([ids, word[..., None]], -1)
            before = ended.gather(1, parent)
            ended = before | (word == eos_id)
        return ids[torch.arange(rows), scores.argmax(1)].clone()
