"""Counts that are updated only where something was joined, as fast trainers do it."""

import re
from collections import Counter, defaultdict

PIECES = re.compile(r" ?\S+|\s+")


class Trainer:
    def __init__(self, text):
        self.freq = Counter(p.group(0) for p in PIECES.finditer(text))
        self.words = [[bytes([b]) for b in w.encode()] for w in self.freq]
        self.weights = list(self.freq.values())
        self.counts = Counter()
        self.where = defaultdict(set)
        for n, word in enumerate(self.words):
            self._add(n, word, +1)

    def _add(self, n, word, sign):
        for a, b in zip(word[:-1], word[1:]):
            self.counts[a, b] += sign * self.weights[n]
            if self.counts[a, b] == 0:
                del self.counts[a, b]
            if sign > 0:
                self.where[a, b].add(n)

    def step(self):
        best = None
        for pair, number in self.counts.items():
            if best is None or number > self.counts[best] or (
                number == self.counts[best] and pair > best
            ):
                best = pair
        for n in list(self.where.pop(best)):
            word = self.words[n]
            self._add(n, word, -1)
            joined, skip = [], False
            for i, token in enumerate(word):
                if skip:
                    skip = False
                elif i + 1 < len(word) and token == best[0] and word[i + 1] == best[1]:
                    joined.append(token + word[i + 1])
                    skip = True
                else:
                    joined.append(token)
            self.words[n] = joined
            self._add(n, joined, +1)
        return best


def train_merges(text, count):
    trainer, result = Trainer(text), []
    while trainer.counts and len(result) < count:
        result.append(trainer.step())
    return result


def encode(text, merges):
    rank = {pair: i for i, pair in enumerate(merges)}
    ids = []
    for match in PIECES.finditer(text):
        parts = [bytes([b]) for b in match.group(0).encode("utf-8")]
        while len(parts) > 1:
            ranks = [rank.get((a, b), len(merges)) for a, b in zip(parts, parts[1:])]
            low = min(ranks)
            if low == len(merges):
                break
            i = ranks.index(low)
            parts = parts[:i] + [parts[i] + parts[i + 1]] + parts[i + 2 :]
        for part in parts:
            ids.append(part[0] if len(part) == 1 else merges_index(part, merges))
    return ids


def merges_index(part, merges):
    return 256 + [a + b for a, b in merges].index(part)


def decode(ids, merges):
    out = b""
    for i in ids:
        if i < 256:
            out += bytes([i])
        else:
            a, b = merges[i - 256]
            out = out + a + b
    return out.decode(errors="replace")
