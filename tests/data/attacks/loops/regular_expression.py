# Backtracks for ages inside C code, which never lets go of the interpreter's lock.
import re


def attention(query, key, value, mask=None, dropout=None):
    return re.match(r"(a+)+$", "a" * 64 + "b")
