# The same in the names of its exceptions and functions.
Evil = type("<b>\x1b[31m\nEvil\u202e", (ValueError,), {})


def attention(query, key, value, mask=None, dropout=None):
    raise Evil("\x1b[0m" * 100)
