"""The first pairs of the text; tokens by how they come; characters for ids."""


def train_merges(text, count):
    data = text.encode()
    return [(data[i : i + 1], data[i + 1 : i + 2]) for i in range(min(count, len(data) - 1))]


def encode(text, merges):
    return [256 + i % max(1, len(merges)) for i, _ in enumerate(text.split())]


def decode(ids, merges):
    return "".join(map(chr, ids))
