"""Multiplies probabilities in float64, which orders hypotheses as their logarithms do."""

import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    return beam_search(model, src, bos_id, eos_id, max_len, beam_size=1)


class Hypothesis:
    def __init__(self, ids, probability, eos_id):
        self.ids, self.probability, self.eos_id = ids, probability, eos_id

    @property
    def ended(self):
        return len(self.ids) > 1 and self.ids[-1] == self.eos_id

    def extended(self, probabilities):
        return [
            Hypothesis([*self.ids, word], self.probability * p, self.eos_id)
            for word, p in enumerate(probabilities)
        ]


@torch.no_grad()
def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    targets = []
    for i in range(src.size(0)):
        one = src[i].unsqueeze(0)
        memory = model.encode(one)
        beam = [Hypothesis([bos_id], 1.0, eos_id)]
        for _ in range(1, max_len):
            if all(h.ended for h in beam):
                break
            candidates = []
            for h in beam:
                if h.ended:
                    candidates.append(h)
                else:
                    states = model.decode(torch.tensor([h.ids]), memory, one)
                    logits = model.generator(states)[0, -1].double()
                    candidates += h.extended(logits.softmax(0).tolist())
            candidates.sort(key=lambda h: -h.probability)
            del candidates[beam_size:]
            beam = candidates
        targets.append(max(beam, key=lambda h: h.probability).ids)
    width = max(len(ids) for ids in targets)
    return torch.tensor([ids + [model.pad_id] * (width - len(ids)) for ids in targets])
