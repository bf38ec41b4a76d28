# Recurses past the end of the stack.
import sys

sys.setrecursionlimit(10**9)


def attention(query, key, value, mask=None, dropout=None):
    return attention(query, key, value, mask, [dropout])
