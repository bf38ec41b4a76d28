# Returns arrays of Python objects.
import numpy as np


def attention(query, key, value, mask=None, dropout=None):
    return np.array([object()] * 4), np.zeros((2, 2), dtype="datetime64[s]")
