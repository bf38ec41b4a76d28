"""Regular expressions, Counter, torch.full and scatter."""

import re
from collections import Counter

import torch


def tokenize(text):
    text = re.sub(r"[.,!?]", "", text.lower())
    return [word for word in re.split(r"\s+", text) if word]


def build_vocab(texts, specials=()):
    counter = Counter()
    for text in texts:
        counter.update(tokenize(text))
    for special in specials:
        counter.pop(special, None)
    itos = list(specials) + sorted(counter)
    return {token: index for index, token in enumerate(itos)}


def encode(text, vocab, unknown=None):
    if unknown is None:
        return [vocab[token] for token in tokenize(text)]
    return [vocab[token] if token in vocab else vocab[unknown] for token in tokenize(text)]


def pad_batch(sequences, pad_id=0):
    longest = max(map(len, sequences))
    batch = torch.full((len(sequences), longest), pad_id)
    for i, sequence in enumerate(sequences):
        if sequence:
            batch[i, : len(sequence)] = torch.as_tensor(sequence)
    return batch


def one_hot(ids, vocab_size):
    rows = torch.zeros(*ids.shape, vocab_size)
    return rows.scatter_(-1, ids.unsqueeze(-1), 1.0)
