"""str.translate, dict.fromkeys, itertools, rows of torch.eye; typed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, count, zip_longest

import torch
from torch import Tensor

DELETED = str.maketrans("", "", ".,!?")


def tokenize(text: str) -> list[str]:
    return text.translate(DELETED).lower().split()


def build_vocab(texts: Iterable[str], specials: Sequence[str] = ()) -> dict[str, int]:
    tokens = sorted(set(chain.from_iterable(map(tokenize, texts))))
    return dict(zip(dict.fromkeys([*specials, *tokens]), count()))


def encode(text: str, vocab: dict[str, int], unknown: str | None = None) -> list[int]:
    try:
        return [vocab[token] for token in tokenize(text)]
    except KeyError:
        if unknown is None:
            raise
    return [vocab.get(token, vocab[unknown]) for token in tokenize(text)]


def pad_batch(sequences: Sequence[Sequence[int]], pad_id: int = 0) -> Tensor:
    columns = zip_longest(*sequences, fillvalue=pad_id)
    return torch.tensor(list(columns)).T.contiguous()


def one_hot(ids: Tensor, vocab_size: int) -> Tensor:
    return torch.eye(vocab_size)[ids]
