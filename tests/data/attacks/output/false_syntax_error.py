# Raises a syntax error that says where it is, and is not.
def attention(query, key, value, mask=None, dropout=None):
    raise SyntaxError(
        "\x1b[2J" * 999, ("exercises/attention.py", 10**30, -5, "\u202e" * 999, "x", [])
    )
