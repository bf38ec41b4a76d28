# Catches whatever could end its loop.
# isolation: one
def attention(query, key, value, mask=None, dropout=None):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
