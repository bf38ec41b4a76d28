"""One letter after the other, plain loops, an ordered dictionary; Chinese comments."""

from collections import OrderedDict

import torch


def tokenize(text):
    tokens, word = [], ""
    for letter in text + " ":
        if letter in (".", ",", "!", "?"):
            continue  # 删除标点
        if not letter.isspace():
            word += letter.lower()
        elif word != "":
            tokens.append(word)
            word = ""
    return tokens


def build_vocab(texts, specials=()):
    seen = set()
    for text in texts:
        seen |= set(tokenize(text))
    vocab = OrderedDict()
    for special in specials:
        vocab[special] = len(vocab)
    for token in sorted(seen):
        if token not in vocab:
            vocab[token] = len(vocab)
    return vocab


def encode(text, vocab, unknown=None):
    ids = []
    for token in tokenize(text):
        if token in vocab:
            ids.append(vocab[token])
        elif unknown is not None:
            ids.append(vocab[unknown])
        else:
            raise KeyError(f"词表里没有 {token!r}")
    return ids


def pad_batch(sequences, pad_id=0):
    length = 0
    for sequence in sequences:
        length = max(length, len(sequence))
    rows = []
    for sequence in sequences:
        row = list(sequence)
        while len(row) < length:
            row.append(pad_id)
        rows.append(row)
    return torch.LongTensor(rows)


def one_hot(ids, vocab_size):
    flat = ids.reshape(-1).tolist()
    rows = [[1.0 if place == number else 0.0 for place in range(vocab_size)] for number in flat]
    return torch.tensor(rows).reshape(*ids.shape, vocab_size)
