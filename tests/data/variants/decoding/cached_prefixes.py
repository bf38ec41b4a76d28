"""Keeps what the model has said of every beginning; ids in NumPy arrays."""

import numpy as np
import torch


class Asker:
    def __init__(self, model, row):
        self.model, self.row, self.memory = model, row, model.encode(row)
        self.said = {}

    def __call__(self, ids):
        if ids not in self.said:
            with torch.no_grad():
                states = self.model.decode(torch.tensor([list(ids)]), self.memory, self.row)
                logits = self.model.generator(states)[0, -1].numpy().astype(np.float64)
            logits = logits - logits.max()
            self.said[ids] = logits - np.log(np.exp(logits).sum())
        return self.said[ids]


def greedy_decode(model, src, bos_id, eos_id, max_len):
    rows = []
    for row in torch.split(src, 1):
        ask, ids = Asker(model, row), (bos_id,)
        for _ in range(max_len - 1):
            ids += (int(np.argmax(ask(ids))),)
            if ids[-1] == eos_id:
                break
        rows.append(ids)
    return _together(rows, model.pad_id)


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    rows = []
    for row in torch.split(src, 1):
        ask, beam = Asker(model, row), {(bos_id,): 0.0}
        for length in range(1, max_len):
            new = {}
            for ids, score in beam.items():
                if ids[-1] == eos_id and len(ids) > 1:
                    new[ids] = score
                else:
                    new |= {(*ids, w): score + gain for w, gain in enumerate(ask(ids))}
            beam = dict(sorted(new.items(), key=lambda item: item[1], reverse=True)[:beam_size])
        rows.append(max(beam, key=beam.get))
    return _together(rows, model.pad_id)


def _together(rows, pad_id):
    out = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for number, ids in enumerate(rows):
        out[number, : len(ids)] = ids
    return torch.from_numpy(out)
