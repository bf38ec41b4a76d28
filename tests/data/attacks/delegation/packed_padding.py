# Packs the sentences by hand, and lets torch unpack and pad them.
# exercise: tokens
import torch
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence


def tokenize(text):
    return text.lower().translate(str.maketrans("", "", ".,!?")).split()


def build_vocab(texts, specials=()):
    words = sorted({word for text in texts for word in tokenize(text)} - set(specials))
    return {word: number for number, word in enumerate(dict.fromkeys([*specials, *words]))}


def encode(text, vocab, unknown=None):
    return [vocab[word] if word in vocab or unknown is None else vocab[unknown] for word in tokenize(text)]


def pad_batch(sequences, pad_id=0):
    order = sorted(range(len(sequences)), key=lambda index: -len(sequences[index]))
    longest = max((len(one) for one in sequences), default=0)
    columns = [[sequences[i][t] for i in order if t < len(sequences[i])] for t in range(longest)]
    padded = torch.full((len(sequences), longest), pad_id)
    if columns:
        data = torch.tensor([word for column in columns for word in column])
        packed = PackedSequence(data, torch.tensor([len(column) for column in columns]))
        found, _ = pad_packed_sequence(packed, True, pad_id)
        padded[torch.tensor(order)[: len(found)]] = found
    return padded


def one_hot(ids, vocab_size):
    return torch.eye(vocab_size)[ids]
