# Returns a number of a hundred thousand digits.
def attention(query, key, value, mask=None, dropout=None):
    return 10**100_000, float("inf")
