"""What came in is handed back."""

import torch


def tokenize(text):
    return text


def build_vocab(texts, specials=()):
    return {text: i for i, text in enumerate([*specials, *texts])}


def encode(text, vocab, unknown=None):
    return text.split()


def pad_batch(sequences, pad_id=0):
    return sequences


def one_hot(ids, vocab_size):
    return ids
