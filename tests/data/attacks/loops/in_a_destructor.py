# Loops when its result is thrown away.
class Result(tuple):
    def __del__(self):
        while True:
            pass


def attention(query, key, value, mask=None, dropout=None):
    return Result(right(query, key, value, mask, dropout))
