# Is right the first time and wrong from then on.
calls = 0


def attention(query, key, value, mask=None, dropout=None):
    global calls
    calls += 1
    output, weights = right(query, key, value, mask, dropout)
    return (output, weights) if calls == 1 else (output * 1.5, weights)
