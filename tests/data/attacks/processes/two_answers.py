# Lets a second process answer too.
import os


def attention(query, key, value, mask=None, dropout=None):
    os.fork()
    return query, value
