# Returns a tuple that is another one each time it is looked at.
class Changing(tuple):
    def __iter__(self):
        raise RuntimeError("no")

    def __len__(self):
        return -1

    __class__ = property(lambda self: 1 / 0)


def attention(query, key, value, mask=None, dropout=None):
    return Changing(right(query, key, value, mask, dropout))
