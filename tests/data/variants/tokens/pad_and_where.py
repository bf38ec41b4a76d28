"""F.pad for the rows, where for the ones; everything in one line."""

import torch
import torch.nn.functional as F


def tokenize(text):
    return "".join(" " if c.isspace() else c for c in text.lower() if c not in ".,!?").split()


def build_vocab(texts, specials=()):
    rest = {t for text in texts for t in tokenize(text)}.difference(specials)
    return {t: i for i, t in enumerate(list(specials) + sorted(rest))}


def encode(text, vocab, unknown=None):
    return [
        vocab[t] if unknown is None else vocab[t if t in vocab else unknown] for t in tokenize(text)
    ]


def pad_batch(sequences, pad_id=0):
    longest = max(len(s) for s in sequences)
    rows = [
        F.pad(torch.tensor(s, dtype=torch.int64), (0, longest - len(s)), value=pad_id)
        for s in sequences
    ]
    return torch.vstack(rows)


def one_hot(ids, vocab_size):
    return torch.where(ids.unsqueeze(-1) == torch.arange(vocab_size), 1.0, 0.0)
