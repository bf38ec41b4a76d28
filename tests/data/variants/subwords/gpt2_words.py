"""As GPT-2's encoder: words as tuples that are rebuilt, best pair by rank, with a cache."""

import collections
import functools
import re

PIECES = re.compile(r" ?\S+|\s+")


def get_pairs(word):
    pairs = set()
    prev = word[0]
    for ch in word[1:]:
        pairs.add((prev, ch))
        prev = ch
    return pairs


def merge_word(word, first, second):
    new_word = []
    i = 0
    while i < len(word):
        try:
            j = word.index(first, i)
            new_word.extend(word[i:j])
            i = j
        except ValueError:
            new_word.extend(word[i:])
            break
        if word[i] == first and i < len(word) - 1 and word[i + 1] == second:
            new_word.append(first + second)
            i += 2
        else:
            new_word.append(word[i])
            i += 1
    return tuple(new_word)


def train_merges(text, count):
    vocab = collections.Counter(
        tuple(bytes((b,)) for b in m.group().encode("utf-8")) for m in PIECES.finditer(text)
    )
    merges = []
    while len(merges) < count:
        stats = collections.defaultdict(int)
        for word, freq in vocab.items():
            for pair in zip(word, word[1:]):
                stats[pair] += freq
        if len(stats) == 0:
            return merges
        best, _ = max(stats.items(), key=lambda item: (item[1], item[0]))
        merges.append(best)
        new_vocab = collections.Counter()
        for word, freq in vocab.items():
            new_vocab[merge_word(word, *best)] += freq
        vocab = new_vocab
    return merges


def encode(text, merges):
    bpe_ranks = dict(zip(merges, range(len(merges))))
    encoder = {bytes([i]): i for i in range(256)}
    for i, (a, b) in enumerate(merges):
        encoder[a + b] = 256 + i

    @functools.lru_cache(maxsize=None)
    def bpe(token):
        word = tuple(bytes((b,)) for b in token.encode("utf-8"))
        if len(word) == 1:
            return [encoder[word[0]]]
        pairs = get_pairs(word)
        while pairs:
            bigram = min(pairs, key=lambda pair: bpe_ranks.get(pair, float("inf")))
            if bigram not in bpe_ranks:
                break
            word = merge_word(word, *bigram)
            if len(word) == 1:
                break
            pairs = get_pairs(word)
        return [encoder[t] for t in word]

    ids = []
    for token in PIECES.findall(text):
        ids.extend(bpe(token))
    return ids


def decode(ids, merges):
    decoder = [bytes([i]) for i in range(256)] + [a + b for a, b in merges]
    return b"".join([decoder[i] for i in ids]).decode("utf-8", "replace")
