# Raises an exception with a thousand ancestors.
kind = Exception
for number in range(1000):
    kind = type("N" * 10_000 + str(number), (kind,), {})


def attention(query, key, value, mask=None, dropout=None):
    raise kind
