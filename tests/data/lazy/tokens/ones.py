"""Ones everywhere."""

import torch


def tokenize(text):
    return ["a"]


def build_vocab(texts, specials=()):
    return {"a": 1}


def encode(text, vocab, unknown=None):
    return [1] * len(text.split())


def pad_batch(sequences, pad_id=0):
    return torch.ones(len(sequences), max(map(len, sequences)), dtype=torch.int64)


def one_hot(ids, vocab_size):
    return torch.ones(*ids.shape, vocab_size)
