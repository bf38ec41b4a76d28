# Keeps what each call made, as full tensors, until there is no memory left.
kept = []


def attention(query, key, value, mask=None, dropout=None):
    kept.append(bytearray(8 << 20))
    return query, value
