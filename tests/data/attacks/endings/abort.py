# Ends its process with an abort.
import os


def attention(query, key, value, mask=None, dropout=None):
    os.abort()
