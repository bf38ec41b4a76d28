# Raises a group of groups, in a circle of causes, with a megabyte of notes.
deep = ValueError("\x1b[2J")
for _ in range(500):
    deep = ExceptionGroup("g" * 1000, [deep, ValueError("\u202e")])
deep.add_note("n" * (1 << 20))
other = KeyError("other")
deep.__cause__, other.__context__ = other, deep


def attention(query, key, value, mask=None, dropout=None):
    raise deep
