"""Random numbers of the right shape."""

import torch


def tokenize(text):
    return list(text[::-1].split())


def build_vocab(texts, specials=()):
    return {str(torch.rand(()).item()): 0 for _ in specials}


def encode(text, vocab, unknown=None):
    return torch.randint(9, (len(text.split()),)).tolist()


def pad_batch(sequences, pad_id=0):
    return torch.randint(9, (len(sequences), max(map(len, sequences))))


def one_hot(ids, vocab_size):
    return torch.rand(*ids.shape, vocab_size)
