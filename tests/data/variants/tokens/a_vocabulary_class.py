"""A class behind the functions, and a dictionary with a method of its own."""

import torch


class Vocabulary(dict):
    def __missing__(self, token):
        raise KeyError(f"the token '{token}' is not in the vocabulary of {len(self)} words")

    def add(self, token):
        return self.setdefault(token, len(self))


class Tokenizer:
    marks = (".", ",", "!", "?")

    def __call__(self, text):
        for mark in self.marks:
            text = "".join(text.split(mark))
        return text.lower().split()


tokenize = Tokenizer()


def build_vocab(texts, specials=(), min_count=1):
    vocab = Vocabulary()
    for special in specials:
        vocab.add(special)
    for token in sorted({token for text in list(texts) for token in tokenize(text)}):
        vocab.add(token)
    return vocab


def encode(text, vocab, unknown=None):
    own = Vocabulary(vocab)
    return [own[t if t in own or unknown is None else unknown] for t in tokenize(text)]


def pad_batch(sequences, pad_id=0):
    tensors = [torch.tensor(s, dtype=torch.long) for s in sequences]
    longest = max(t.numel() for t in tensors)
    fill = [torch.full((longest - t.numel(),), pad_id, dtype=torch.long) for t in tensors]
    return torch.stack([torch.cat(pair) for pair in zip(tensors, fill, strict=True)])


def one_hot(ids, vocab_size):
    rows = torch.zeros(ids.numel(), vocab_size)
    rows[torch.arange(ids.numel()), ids.flatten()] = 1
    return rows.view(ids.shape + (vocab_size,))
