"""Empty lists, and zeros."""

import torch


def tokenize(text):
    return []


def build_vocab(texts, specials=()):
    return {}


def encode(text, vocab, unknown=None):
    return []


def pad_batch(sequences, pad_id=0):
    return torch.zeros(len(sequences), max(map(len, sequences)), dtype=torch.int64)


def one_hot(ids, vocab_size):
    return torch.zeros(*ids.shape, vocab_size)
