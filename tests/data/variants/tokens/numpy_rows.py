"""NumPy for the order, the filling and the rows; an error class of its own."""

import numpy as np
import torch


class UnknownTokenError(KeyError):
    pass


def tokenize(text):
    cleaned = "".join(c for c in text if c not in {".", ",", "!", "?"})
    return list(map(str.lower, cleaned.split()))


def build_vocab(texts, specials=()):
    tokens = [token for text in texts for token in tokenize(text) if token not in specials]
    words = [*specials, *np.unique(np.array(tokens, dtype=object))]
    return {word: int(i) for i, word in zip(np.arange(len(words)), words)}


def encode(text, vocab, unknown=None):
    def look_up(token):
        found = vocab.get(token)
        if found is None and unknown is None:
            raise UnknownTokenError(token)
        return vocab[unknown] if found is None else found

    return list(map(look_up, tokenize(text)))


def pad_batch(sequences, pad_id=0):
    lengths = np.array([len(s) for s in sequences])
    batch = np.full((len(sequences), lengths.max()), pad_id, dtype=np.int64)
    batch[np.arange(lengths.max()) < lengths[:, None]] = np.concatenate(
        [np.asarray(s, dtype=np.int64) for s in sequences]
    )
    return torch.from_numpy(batch)


def one_hot(ids, vocab_size):
    return torch.from_numpy(np.eye(vocab_size, dtype=np.float32)[ids.numpy()])
