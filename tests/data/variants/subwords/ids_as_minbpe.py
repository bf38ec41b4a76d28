"""As minbpe: ids and not bytes, statistics in a dictionary, merges in the order of training."""

import re

PIECES = re.compile(r" ?\S+|\s+")


def get_stats(ids, counts):
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids, pair, idx):
    newids, i = [], 0
    while i < len(ids):
        if ids[i] == pair[0] and i < len(ids) - 1 and ids[i + 1] == pair[1]:
            newids.append(idx)
            i += 2
        else:
            newids.append(ids[i])
            i += 1
    return newids


def train_merges(text, count):
    chunks = [list(ch.encode("utf-8")) for ch in re.findall(PIECES, text)]
    vocab = {idx: bytes([idx]) for idx in range(256)}
    out = []
    for i in range(count):
        stats = {}
        for chunk in chunks:
            get_stats(chunk, stats)
        if not stats:
            break
        top = max(stats.values())
        ties = [p for p in stats if stats[p] == top]
        pair = sorted(ties, key=lambda p: (vocab[p[0]], vocab[p[1]]))[-1]
        idx = 256 + i
        chunks = [merge(chunk, pair, idx) for chunk in chunks]
        vocab[idx] = vocab[pair[0]] + vocab[pair[1]]
        out.append((vocab[pair[0]], vocab[pair[1]]))
    return out


def encode(text, merges):
    index = {bytes([i]): i for i in range(256)}
    table = {}
    for i, (a, b) in enumerate(merges):
        table[index[a], index[b]] = 256 + i
        index[a + b] = 256 + i
    ids = []
    for chunk in re.findall(PIECES, text):
        chunk_ids = list(chunk.encode("utf-8"))
        for pair, idx in table.items():  # each once, in the order learnt
            chunk_ids = merge(chunk_ids, pair, idx)
        ids += chunk_ids
    return ids


def decode(ids, merges):
    vocab = {i: bytes([i]) for i in range(256)}
    for i, (a, b) in enumerate(merges):
        vocab[256 + i] = a + b
    text_bytes = bytearray()
    for idx in ids:
        text_bytes += vocab[idx]
    return str(text_bytes, encoding="utf-8", errors="replace")
