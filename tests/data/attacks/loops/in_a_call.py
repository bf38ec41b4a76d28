# Never returns.
def attention(query, key, value, mask=None, dropout=None):
    while True:
        pass
