"""One thing everywhere."""

import torch


def tokenize(text):
    return ["the"] * len(text.split())


def build_vocab(texts, specials=()):
    return dict.fromkeys(specials, 0) | {"the": 0}


def encode(text, vocab, unknown=None):
    return [7] * len(text.split())


def pad_batch(sequences, pad_id=0):
    return torch.full((len(sequences), max(map(len, sequences))), 7)


def one_hot(ids, vocab_size):
    return torch.full((*ids.shape, vocab_size), 1 / vocab_size)
