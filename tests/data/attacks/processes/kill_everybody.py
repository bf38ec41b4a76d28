# Kills every process that it may kill.
# isolation: jail
import os

if os.getpid() == 1:
    for target in (-1, 0, os.getppid(), 2, 3, 4):
        try:
            os.kill(target, 9)
        except OSError:
            pass


def attention(query, key, value, mask=None, dropout=None):
    return query, value
