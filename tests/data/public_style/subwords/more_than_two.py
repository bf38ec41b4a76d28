import re
from collections import Counter

PIECES = re.compile(r" ?\S+|\s+")


def _pairs(parts):
    return list(zip(parts, parts[1:]))


def _join(parts, pair):
    out, i = [], 0
    while i < len(parts):
        if tuple(parts[i : i + 2]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


def train_merges(text, count):
    words = [[bytes([b]) for b in piece.encode("utf-8")] for piece in PIECES.findall(text)]
    merges = []
    while len(merges) < count:
        stats = Counter(pair for word in words for pair in _pairs(word))
        if not stats:
            break
        best = max(stats.items(), key=lambda item: (item[1], item[0]))[0]
        merges.append(best)
        words = [_join(word, best) for word in words]
    return merges


def encode(text, merges):
    rank = {pair: i for i, pair in enumerate(merges)}
    vocab = {bytes([i]): i for i in range(256)}
    vocab.update({a + b: 256 + i for i, (a, b) in enumerate(merges)})
    ids = []
    for piece in PIECES.findall(text):
        parts = [bytes([b]) for b in piece.encode("utf-8")]
        while len(parts) > 2:
            pair = min(_pairs(parts), key=lambda p: rank.get(p, float("inf")))
            if pair not in rank:
                break
            parts = _join(parts, pair)
        ids.extend(vocab[part] for part in parts)
    return ids


def decode(ids, merges):
    vocab = {i: bytes([i]) for i in range(256)}
    for i, (a, b) in enumerate(merges):
        vocab[256 + i] = a + b
    return b"".join(vocab[i] for i in ids).decode("utf-8", errors="replace")
