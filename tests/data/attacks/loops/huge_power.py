# Computes a number of a billion digits in one instruction.
def attention(query, key, value, mask=None, dropout=None):
    return 7 ** (10**9)
