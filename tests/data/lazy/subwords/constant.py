"""The same answer always."""


def train_merges(text, count):
    return [(b"t", b"h")] * count


def encode(text, merges):
    return [256] * len(text)


def decode(ids, merges):
    return "the " * len(ids)
