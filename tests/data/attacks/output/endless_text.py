# Raises an exception with ten million characters.
def attention(query, key, value, mask=None, dropout=None):
    raise ValueError("A" * 10_000_000)
