# Writes to address 0.
import ctypes


def attention(query, key, value, mask=None, dropout=None):
    ctypes.memset(0, 1, 1)
