# Returns a list in a list in a list, and so on.
# isolation: one
def attention(query, key, value, mask=None, dropout=None):
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return nested, nested
