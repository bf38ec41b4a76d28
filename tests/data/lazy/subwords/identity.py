"""What was given comes back."""


def train_merges(text, count):
    return text


def encode(text, merges):
    return text


def decode(ids, merges):
    return ids
