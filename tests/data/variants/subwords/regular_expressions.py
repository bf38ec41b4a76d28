"""Merges made by regular expressions on a text of separated tokens, as in the paper of 2016."""

import re
from collections import defaultdict

PIECES = re.compile(r" ?\S+|\s+")
# Two hexadecimal digits a byte, so that tokens are words of a text.


def hexed(piece):
    return " ".join(f"{b:02x}" for b in piece.encode("utf8"))


def join(pair, word):
    bigram = re.escape(" ".join(pair))
    return re.sub(r"(?<!\S)" + bigram + r"(?!\S)", "".join(pair), word)


def train_merges(text, count):
    vocab = defaultdict(int)
    for piece in PIECES.findall(text):
        vocab[hexed(piece)] += 1
    merges = []
    for _ in range(count):
        pairs = defaultdict(int)
        for word, freq in vocab.items():
            symbols = word.split()
            for i in range(len(symbols) - 1):
                pairs[symbols[i], symbols[i + 1]] += freq
        try:
            # Hexadecimal digits are in the order of the bytes.
            best = max(sorted(pairs, reverse=True), key=pairs.get)
        except ValueError:
            break
        vocab = {join(best, word): freq for word, freq in vocab.items()}
        merges.append((bytes.fromhex(best[0]), bytes.fromhex(best[1])))
    return merges


def encode(text, merges):
    numbers = {f"{i:02x}": i for i in range(256)}
    result = []
    for i, (left, right) in enumerate(merges):
        numbers[(left + right).hex()] = 256 + i
    for piece in PIECES.findall(text):
        word = hexed(piece)
        for left, right in merges:
            word = join((left.hex(), right.hex()), word)
        result.extend(numbers[token] for token in word.split())
    return result


def decode(ids, merges):
    table = {i: bytes([i]) for i in range(256)}
    table.update((256 + i, b"".join(pair)) for i, pair in enumerate(merges))
    return b"".join(map(table.__getitem__, ids)).decode("UTF-8", errors="replace")
