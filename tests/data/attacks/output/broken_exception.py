# Raises an exception that cannot be described.
class Meta(type):
    __name__ = property(lambda cls: 1 / 0)
    __mro__ = property(lambda cls: 1 / 0)


class Broken(Exception, metaclass=Meta):
    def __str__(self):
        raise KeyboardInterrupt

    __traceback__ = property(lambda self: 1 / 0)


def attention(query, key, value, mask=None, dropout=None):
    raise Broken
