# Pads and marks with the operators as torch takes them apart in Python.
# exercise: tokens
import torch
from torch._decomp import decompositions


def tokenize(text):
    return text.lower().translate(str.maketrans("", "", ".,!?")).split()


def build_vocab(texts, specials=()):
    words = sorted({word for text in texts for word in tokenize(text)} - set(specials))
    return {word: number for number, word in enumerate(dict.fromkeys([*specials, *words]))}


def encode(text, vocab, unknown=None):
    return [vocab[word] if word in vocab or unknown is None else vocab[unknown] for word in tokenize(text)]


def pad_batch(sequences, pad_id=0):
    rows = [torch.tensor(one, dtype=torch.long) for one in sequences]
    return decompositions.pad_sequence(rows, True, pad_id)


def one_hot(ids, vocab_size):
    return decompositions.one_hot(ids, vocab_size).to(torch.get_default_dtype())
