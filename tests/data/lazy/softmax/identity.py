"""The input is handed back."""


def softmax(x, dim=-1):
    return x


def log_softmax(x, dim=-1):
    return x


def cross_entropy(logits, labels):
    return logits
