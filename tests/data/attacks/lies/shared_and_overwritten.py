# Returns the same tensors in every call, which a thread overwrites until they are read.
import threading

import torch

kept = torch.zeros(64, 64)


def overwrite():
    while True:
        kept.random_()


threading.Thread(target=overwrite, daemon=True).start()


def attention(query, key, value, mask=None, dropout=None):
    return kept, kept
