"""A class that holds the tables; a heap chooses the pair to train, and the one to apply."""

import heapq
import re

PIECES = re.compile(r" ?\S+|\s+")


class Reversed:
    """Turns the order of a heap."""

    def __init__(self, key):
        self.key = key

    def __lt__(self, other):
        return self.key > other.key


class Tokenizer:
    def __init__(self, merges=()):
        self.vocab = dict(enumerate(bytes([i]) for i in range(256)))
        self.ranks = {}
        for a, b in merges:
            self.add(a, b)

    def add(self, a, b):
        self.ranks[a, b] = len(self.vocab)
        self.vocab[len(self.vocab)] = a + b

    @staticmethod
    def replace(tokens, a, b):
        out = list()
        position = 0
        while position < len(tokens):
            if tokens[position : position + 2] == [a, b]:
                out.append(a + b)
                position += 2
            else:
                out.append(tokens[position])
                position += 1
        return out

    def train(self, text, steps):
        chunks = [[bytes([c]) for c in p.encode("utf-8")] for p in PIECES.findall(text)]
        history = []
        for _ in range(steps):
            tally = {}
            for chunk in chunks:
                for i in range(1, len(chunk)):
                    key = chunk[i - 1], chunk[i]
                    tally[key] = tally.setdefault(key, 0) + 1
            heap = [Reversed((n, key)) for key, n in tally.items()]
            heapq.heapify(heap)
            if not heap:
                return history
            _, (a, b) = heapq.heappop(heap).key
            self.add(a, b)
            history.append((a, b))
            chunks = [self.replace(chunk, a, b) for chunk in chunks]
        return history

    def encode(self, text):
        inverse = {token: i for i, token in self.vocab.items()}
        ids = []
        for piece in PIECES.findall(text):
            tokens = [bytes([c]) for c in bytearray(piece, "utf-8")]
            while True:
                options = [(self.ranks[p], p) for p in zip(tokens, tokens[1:]) if p in self.ranks]
                if not options:
                    break
                heapq.heapify(options)
                tokens = self.replace(tokens, *options[0][1])
            ids += [inverse[t] for t in tokens]
        return ids

    def decode(self, ids):
        try:
            return b"".join(self.vocab[i] for i in ids).decode("utf-8", errors="replace")
        except KeyError as error:
            raise ValueError(f"unknown id {error}") from error


def train_merges(text, count):
    return Tokenizer().train(text, count)


def encode(text, merges):
    return Tokenizer(merges).encode(text)


def decode(ids, merges):
    return Tokenizer(merges).decode(ids)
